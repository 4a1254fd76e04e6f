import math

import numpy as np
import pytest
import torch

from multiway.data import Scaler
from multiway.ops import naive, student_radii
from multiway.tasks.forecasting.choice import errors_of, fit_radii
from multiway.tasks.forecasting.scores import coverage_rows, measure
from tasks.forecasting.panels import make_windows
from tolerances import ROUNDING32


def forecast(past, observed=None):
    return naive(past, 5)


def coverage_of(windows, forecast, radii, levels):
    predict = lambda past, observed: {"multiway": forecast(past, observed)}  # noqa: E731
    errors = measure(windows, predict, Scaler(np.zeros(2), np.ones(2)), radii)
    return coverage_rows(errors["multiway"], radii, levels)


def rank(count, level, steps=5):
    """Position of the radius among sorted errors, of which a horizon of windows is worth two."""
    alone = min(count, 2 * math.ceil(count / steps))
    return min(math.ceil((alone + 1) * level * count / alone), count) - 1


def noise(rows: int, seed: int):
    windows = make_windows(rows, 2, 1, 1, seed=seed)
    windows.rows.normal_(generator=torch.Generator().manual_seed(seed))
    return windows


def test_radii_are_the_finite_sample_quantiles():
    windows = make_windows(90, 2, 6, 5)
    batch = windows.gather(torch.arange(80))
    errors = (forecast(batch["past"]) - batch["future"]).abs().sort(0).values
    radii = fit_radii([(windows, forecast)], (50.0, 80.0, 95.0)).values
    for radius, level in zip(radii, (0.5, 0.8, 0.95), strict=True):
        assert torch.equal(radius, errors[rank(80, level)])


def test_radii_leave_missing_cells_out():
    windows = make_windows(90, 2, 6, 5, missing=0.4)
    batch = windows.gather(torch.arange(80))
    radius = fit_radii([(windows, forecast)], (80.0,)).values[0]
    for step in range(5):
        for variate in range(2):
            keep = batch["future_observed"][:, step, variate]
            errors = (forecast(batch["past"]) - batch["future"])[keep, step, variate].abs().sort().values
            assert radius[step, variate] == errors[rank(len(errors), 0.8)]


def test_too_few_windows_give_a_student_t_tail_and_leave_the_levels_that_have_enough():
    windows = make_windows(20, 2, 6, 5)
    batch = windows.gather(torch.arange(len(windows)))
    errors = (forecast(batch["past"]) - batch["future"]).abs().permute(1, 2, 0).numpy()
    radii = fit_radii([(windows, forecast)], (80.0, 99.0))
    ranks = np.sort(errors, -1)[..., rank(10, 0.8)]
    np.testing.assert_array_equal(radii.values[0], ranks)
    np.testing.assert_array_equal(radii.values[1], student_radii(errors, [0.99])[0])
    assert (
        radii.by_student.double().mean((1, 2)).tolist() == [0.0, 1.0]
        and (radii.values[1].numpy() > errors.max(-1)).all()
    )


def test_a_tail_is_over_earlier_errors_as_well_and_no_narrower_than_a_lower_level():
    windows = make_windows(20, 2, 6, 5)
    earlier = make_windows(50, 2, 6, 5, seed=4)
    radii = fit_radii([(earlier, forecast), (windows, forecast)], (80.0, 99.0)).values.numpy()
    every = np.concatenate([errors_of(earlier, forecast), errors_of(windows, forecast)], -1)
    tail = student_radii(every, [0.99])[0]
    np.testing.assert_array_equal(radii[1], np.maximum(tail, radii[0]))
    assert not np.array_equal(radii, fit_radii([(windows, forecast)], (80.0, 99.0)).values.numpy())


def test_no_levels_no_radii():
    assert fit_radii([(make_windows(30, 2, 6, 5), forecast)], ()).values.shape == (0, 5, 2)


def test_windows_are_thinned_where_they_do_not_fit(monkeypatch):
    windows = make_windows(90, 2, 6, 5)
    monkeypatch.setattr("multiway.tasks.forecasting.choice.MAX_CELLS", 400)  # every second window
    batch = windows.gather(torch.arange(0, 80, 2))
    errors = (forecast(batch["past"]) - batch["future"]).abs().sort(0).values
    assert torch.equal(fit_radii([(windows, forecast)], (80.0,)).values[0], errors[rank(40, 0.8, 3)])


def test_coverage_is_the_share_inside_by_step():
    windows = make_windows(90, 2, 6, 5, missing=0.2)
    radii = torch.full((1, 5, 2), 0.4)
    [row] = coverage_of(windows, forecast, radii, (70.0,))
    batch = windows.gather(torch.arange(80))
    hits = ((forecast(batch["past"]) - batch["future"]).abs() <= 0.4) & batch["future_observed"]
    expected = hits.sum((0, 2)) / batch["future_observed"].sum((0, 2))
    np.testing.assert_allclose(row["by_step"], 100 * expected.numpy(), rtol=ROUNDING32)
    assert row["actual"] == pytest.approx(np.mean(row["by_step"])) and row["width"] == pytest.approx(0.8)


def test_independent_errors_are_covered_as_claimed():
    forecast_zero = lambda past, observed=None: torch.zeros(len(past), 1, 2)  # noqa: E731
    radii = fit_radii([(noise(4000, 1), forecast_zero)], (80.0, 95.0)).values
    low, high = coverage_of(noise(4000, 2), forecast_zero, radii, (80.0, 95.0))
    assert abs(low["actual"] - 80) < 2 and abs(high["actual"] - 95) < 1.2
