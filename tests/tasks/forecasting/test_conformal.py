import math
from unittest import mock

import numpy as np
import pytest
import torch
from scipy import stats

from multiway.data import Scaler
from multiway.errors import ConfigError
from multiway.ops import naive, student_radii
from multiway.tasks.forecasting.bands import NARROW, PRIOR, Bands
from multiway.tasks.forecasting.held_out import Stretch, errors_of
from multiway.tasks.forecasting.intervals import fit_bands
from multiway.tasks.forecasting.scores import Around, coverage_rows, measure
from tasks.forecasting.panels import make_windows
from tolerances import ROUNDING32, SUMS64


def forecast(past, observed=None):
    return {"multiway": naive(past, 5)}


def error(batch):
    return forecast(batch["past"])["multiway"] - batch["future"]


def fit(*windows, levels, forecast=forecast):
    """Bands on some windows, and half of their width at each level, `(levels, horizon, variates)`."""
    with mock.patch("multiway.tasks.forecasting.intervals.FEWEST", 10**9):  # symmetric, however many
        bands = fit_bands([Stretch(each, forecast) for each in windows], levels)["multiway"]
    edges = bands.edges(levels)
    assert torch.equal(edges[:, 0], -edges[:, 1])
    return bands, edges[:, 1]


def coverage_of(windows, forecast, edges, levels):
    around = {"multiway": Around(torch.zeros(0, *edges.shape[2:]), edges)}
    errors = measure(windows, forecast, Scaler(np.zeros(2), np.ones(2)), around)
    return coverage_rows(errors["multiway"], edges, levels)


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
    errors = error(batch).abs().sort(0).values
    _, radii = fit(windows, levels=(50.0, 80.0, 95.0))
    for radius, level in zip(radii, (0.5, 0.8, 0.95), strict=True):
        assert torch.equal(radius, errors[rank(80, level)])


def test_radii_leave_missing_cells_out():
    windows = make_windows(90, 2, 6, 5, missing=0.4)
    batch = windows.gather(torch.arange(80))
    _, [radius] = fit(windows, levels=(80.0,))
    for step in range(5):
        for variate in range(2):
            keep = batch["future_observed"][:, step, variate]
            errors = error(batch)[keep, step, variate].abs().sort().values
            assert radius[step, variate] == errors[rank(len(errors), 0.8)]


def test_too_few_windows_give_a_student_t_tail_and_leave_the_levels_that_have_enough():
    windows = make_windows(20, 2, 6, 5)
    batch = windows.gather(torch.arange(len(windows)))
    errors = error(batch).abs().permute(1, 2, 0).numpy()
    bands, radii = fit(windows, levels=(80.0, 97.0))
    ranks = np.sort(errors, -1)[..., rank(10, 0.8)]
    np.testing.assert_array_equal(radii[0], ranks)
    np.testing.assert_array_equal(radii[1], student_radii(errors, [0.97])[0])
    assert bands.by_student((80.0, 97.0), np.ones(2, bool)) == [0.0, 1.0]
    assert (radii[1].numpy() > errors.max(-1)).all()


def test_a_tail_is_over_earlier_errors_as_well_and_no_narrower_than_a_lower_level():
    windows = make_windows(20, 2, 6, 5)
    earlier = make_windows(50, 2, 6, 5, seed=4)
    _, radii = fit(earlier, windows, levels=(98.0, 99.0))
    every = np.abs(errors_of([Stretch(earlier, forecast), Stretch(windows, forecast)])["multiway"])
    tail = student_radii(every, [0.99])[0]
    np.testing.assert_array_equal(radii[1], np.maximum(tail, radii[0].numpy()))
    assert not torch.equal(radii, fit(windows, levels=(98.0, 99.0))[1])


def test_windows_are_thinned_where_they_do_not_fit(monkeypatch):
    windows = make_windows(90, 2, 6, 5)
    monkeypatch.setattr("multiway.tasks.forecasting.intervals.MAX_CELLS", 400)  # every second window
    batch = windows.gather(torch.arange(0, 80, 2))
    errors = error(batch).abs().sort(0).values
    assert torch.equal(fit(windows, levels=(80.0,))[1][0], errors[rank(40, 0.8, 3)])


def test_coverage_is_the_share_inside_by_step():
    windows = make_windows(90, 2, 6, 5, missing=0.2)
    edges = torch.tensor([-0.2, 0.4])[None, :, None, None].expand(1, 2, 5, 2)
    [row] = coverage_of(windows, forecast, edges, (70.0,))
    batch = windows.gather(torch.arange(80))
    hits = (error(batch) <= 0.2) & (error(batch) >= -0.4) & batch["future_observed"]
    expected = hits.sum((0, 2)) / batch["future_observed"].sum((0, 2))
    np.testing.assert_allclose(row["by_step"], 100 * expected.numpy(), rtol=ROUNDING32)
    assert row["actual"] == pytest.approx(np.mean(row["by_step"])) and row["width"] == pytest.approx(0.6)


def zero(past, observed=None):
    return {"multiway": torch.zeros(len(past), 1, 2)}


def test_independent_errors_are_covered_as_claimed():
    _, radii = fit(noise(4000, 1), levels=(80.0, 95.0), forecast=zero)
    low, high = coverage_of(noise(4000, 2), zero, torch.stack([-radii, radii], 1), (80.0, 95.0))
    assert abs(low["actual"] - 80) < 2 and abs(high["actual"] - 95) < 1.2


def test_each_tail_of_lopsided_errors_is_covered_as_claimed_at_any_level():
    """Errors of a series are exponential, those of the other normal, which stay symmetric."""

    def lopsided(rows, seed):
        windows = noise(rows, seed)
        windows.rows[:, 0] = torch.empty(rows).exponential_(generator=torch.Generator().manual_seed(seed))
        return windows

    bands = fit_bands([Stretch(lopsided(4000, 1), zero)], (80.0,))["multiway"]
    shares = (0.05, 0.33, 0.5, 0.9, 0.985)
    offsets, truth = bands.at(shares), lopsided(4000, 2).rows
    below = (truth[:, None, None] <= offsets).double().mean(0)[:, 0]
    np.testing.assert_allclose(below, np.repeat(np.array(shares)[:, None], 2, 1), atol=0.025)
    assert torch.equal(bands.offsets[:, :, 1], -bands.offsets.flip(0)[:, :, 1])
    assert not torch.equal(bands.offsets[:, :, 0], -bands.offsets.flip(0)[:, :, 0])


@pytest.mark.parametrize("rows", [12, 40, 300])
def test_quantiles_never_cross(rows):
    bands = fit_bands([Stretch(make_windows(rows, 2, 6, 5, seed=rows), forecast)], (33.0, 71.0))["multiway"]
    shares = np.linspace(0.001, 0.999, 57)
    assert (bands.at(shares).diff(dim=0) >= 0).all()


def test_a_level_beyond_the_bands_is_refused():
    bands, _ = fit(make_windows(90, 2, 6, 5), levels=(80.0,))
    with pytest.raises(
        ConfigError, match=r"bands end at the level 99.9, from quantile 0.0005 to 0.9995. Got .* 0.0001"
    ):
        bands.at((0.5, 0.0001))


@pytest.mark.parametrize("blocks", [0.5, 30.0])
def test_bands_lie_between_errors_out_of_time_and_what_models_expect(blocks):
    """Level by level and cell by cell, around an offset of the median; a model that expects nothing changes nothing."""
    shares, middle = [0.1, 0.25, 0.5, 0.75, 0.9], 0.3
    offsets = torch.tensor([-2.0, -0.8, 0.0, 0.9, 4.0], dtype=torch.float64)[:, None, None] + middle
    offsets = offsets * torch.tensor([[1.0, 1.0, 1.0], [1.5, 1.0, 1.0]], dtype=torch.float64)
    offsets[:, 1, 1] = middle  # no error has been seen
    spread = torch.tensor([[0.7, 1.1, 0.0], [2.3, 5.0, 0.0]], dtype=torch.float64)
    found = Bands(torch.tensor(shares, dtype=torch.float64), offsets).with_spread(spread, blocks).offsets
    weight = PRIOR / (blocks + PRIOR)
    for step, series in np.ndindex(2, 3):
        centre = float(offsets[2, step, series])
        for place, share in enumerate(shares):
            own, z = (
                float(offsets[place, step, series]) - centre,
                stats.t.ppf(share, 5) * stats.norm.ppf(0.9) / stats.t.ppf(0.9, 5),
            )
            expected = z * spread[step, series]
            size = abs(own) ** (1 - weight) * abs(expected) ** weight
            size = max(size, NARROW * weight * abs(expected))
            changed = centre + np.sign(share - 0.5) * float(size)
            truth = changed if spread[step, series] > 0 else float(offsets[place, step, series])
            assert float(found[place, step, series]) == pytest.approx(truth, rel=SUMS64, abs=SUMS64)
    assert (found.diff(dim=0) >= 0).all() and bool((found[0, 1, 1] < found[2, 1, 1]).all())
