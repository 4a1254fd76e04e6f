import math

import numpy as np
import torch

from multiway.ops import naive
from multiway.tasks.forecasting.conformal import fit_radii, measure_coverage
from tasks.forecasting.panels import make_windows
from tolerances import ROUNDING32


def forecast(past, observed=None):
    return naive(past, 5)


def noise(rows: int, seed: int):
    windows = make_windows(rows, 2, 1, 1, seed=seed)
    windows._rows.normal_(generator=torch.Generator().manual_seed(seed))
    return windows


def test_radii_are_the_finite_sample_quantiles():
    windows = make_windows(90, 2, 6, 5)
    batch = windows.gather(torch.arange(80))
    errors = (forecast(batch["past"]) - batch["future"]).abs().sort(0).values
    radii = fit_radii(windows, forecast, (50.0, 80.0, 95.0))
    for radius, level in zip(radii, (0.5, 0.8, 0.95), strict=True):
        assert torch.equal(radius, errors[math.ceil(81 * level) - 1])


def test_radii_leave_missing_cells_out():
    windows = make_windows(90, 2, 6, 5, missing=0.4)
    batch = windows.gather(torch.arange(80))
    radius = fit_radii(windows, forecast, (80.0,))[0]
    for step in range(5):
        for variate in range(2):
            keep = batch["future_observed"][:, step, variate]
            errors = (forecast(batch["past"]) - batch["future"])[keep, step, variate].abs().sort().values
            assert radius[step, variate] == errors[math.ceil((len(errors) + 1) * 0.8) - 1]


def test_too_few_windows_give_the_largest_error():
    windows = make_windows(20, 2, 6, 5)
    batch = windows.gather(torch.arange(len(windows)))
    largest = (forecast(batch["past"]) - batch["future"]).abs().amax(0)
    assert torch.equal(fit_radii(windows, forecast, (99.0,))[0], largest)


def test_no_levels_no_radii():
    assert fit_radii(make_windows(30, 2, 6, 5), forecast, ()).shape == (0, 5, 2)


def test_windows_are_thinned_where_they_do_not_fit(monkeypatch):
    windows = make_windows(90, 2, 6, 5)
    monkeypatch.setattr("multiway.tasks.forecasting.conformal.MAX_CELLS", 400)  # every second window
    batch = windows.gather(torch.arange(0, 80, 2))
    errors = (forecast(batch["past"]) - batch["future"]).abs().sort(0).values
    assert torch.equal(fit_radii(windows, forecast, (80.0,))[0], errors[math.ceil(41 * 0.8) - 1])


def test_coverage_is_the_share_inside_by_step():
    windows = make_windows(90, 2, 6, 5, missing=0.2)
    radii = torch.full((1, 5, 2), 0.4)
    inside, width = measure_coverage(windows, forecast, radii)
    batch = windows.gather(torch.arange(80))
    hits = ((forecast(batch["past"]) - batch["future"]).abs() <= 0.4) & batch["future_observed"]
    expected = hits.sum((0, 2)) / batch["future_observed"].sum((0, 2))
    np.testing.assert_allclose(inside[0].numpy(), expected.numpy(), rtol=ROUNDING32)
    assert abs(float(width[0]) - 0.8) < 1e-6


def test_independent_errors_are_covered_as_claimed():
    forecast_zero = lambda past, observed=None: torch.zeros(len(past), 1, 2)  # noqa: E731
    radii = fit_radii(noise(4000, 1), forecast_zero, (80.0, 95.0))
    inside, _ = measure_coverage(noise(4000, 2), forecast_zero, radii)
    assert abs(float(inside[0, 0]) - 0.80) < 0.02 and abs(float(inside[1, 0]) - 0.95) < 0.012
