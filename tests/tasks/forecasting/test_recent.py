"""Bands that follow the size of recent errors, where validation gains by it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.data import Scaler
from multiway.ops import naive
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import bands as widths
from multiway.tasks.forecasting.bands import USUAL, Bands, RecentErrors, half_life, mean_sizes
from multiway.tasks.forecasting.encode import read_later
from multiway.tasks.forecasting.forecasts import (
    backtest_frame,
    bands_for,
    factors_at,
    forecast_columns,
    score_backtest,
)
from multiway.tasks.forecasting.held_out import Stretch
from multiway.tasks.forecasting.intervals import fit_bands
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.forecasting.scores import Around, Following, measure
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import Windows, inputs_of
from tasks.forecasting.panels import make_config
from tolerances import ROUNDING32, ROUNDING64, SUMS32

HORIZON, LOOKBACK = 5, 7


def sizes_by_sums(starts, errors, usual, horizon, rate):
    """Every weight written out: the share of an ended window, and what the later ones leave of it."""
    sizes = []
    for start in starts:
        ended = [error for each, error in zip(starts, errors, strict=True) if each + horizon <= start]
        seen = [error for error in ended if not np.isnan(error)]
        weights = [rate * (1 - rate) ** (len(seen) - 1 - place) for place in range(len(seen))]
        size = (1 - rate) ** len(seen) * usual + sum(map(np.multiply, weights, seen))
        sizes.append(max(size, widths.FLOOR * usual))
    return sizes


def test_sizes_are_weighted_means_of_the_errors_that_had_ended():
    draw = np.random.default_rng(3)
    starts = np.cumsum(draw.integers(1, 4, 41)).tolist()  # with gaps between stretches
    errors = draw.exponential(size=(41, 3))
    errors[draw.random(errors.shape) < 0.2] = np.nan
    usual, rate = np.array([1.0, 0.5, 30.0]), 1 - 0.5 ** (1 / 11)
    found = RecentErrors(usual, HORIZON, 11).along(starts, errors)
    expected = [
        sizes_by_sums(starts, column, size, HORIZON, rate) for column, size in zip(errors.T, usual, strict=True)
    ]
    np.testing.assert_allclose(found, np.stack(expected, 1), rtol=ROUNDING64)
    assert (found[-1, 2] == widths.FLOOR * 30) and (found[:, :2] > widths.FLOOR * usual[:2]).all()


def test_no_size_depends_on_a_window_that_has_not_ended():
    errors = np.random.default_rng(4).exponential(size=(30, 2))
    changed = errors.copy()
    changed[12] += 100
    before, after = (RecentErrors(np.ones(2), HORIZON, 24).along(range(30), each) for each in (errors, changed))
    np.testing.assert_array_equal(before[: 12 + HORIZON], after[: 12 + HORIZON])
    assert (after[12 + HORIZON :] > before[12 + HORIZON :]).all()


def test_an_error_counts_half_after_as_many_rows_whatever_lies_between_windows():
    assert half_life(30, range(100)) == 60 and half_life(30, range(0, 300, 3)) == 20
    assert half_life(2, range(100)) == half_life(2, [0]) == widths.LEAST


def test_means_leave_missing_cells_out():
    errors = np.array([[[1.0, np.nan]], [[-3.0, np.nan]], [[np.nan, np.nan]]])
    np.testing.assert_array_equal(mean_sizes(errors), [[2.0, np.nan]])


def restless(rows=1500, seed=5):
    """Two series of noise: one is ten times as large in every other stretch of 150 rows, the other never."""
    values = torch.randn(rows, 2, generator=torch.Generator().manual_seed(seed))
    values[:, 0] *= torch.where(torch.arange(rows) // 150 % 2 == 0, 1.0, 10.0)
    return values


def windows_of(values, start, stop):
    return Windows(values, None, start=start, stop=stop, lookback=LOOKBACK, horizon=HORIZON)


def zero(past, *_):
    return {"multiway": naive(past, HORIZON) * 0}


def test_bands_follow_where_the_size_of_errors_changes_and_not_where_it_does_not():
    bands = fit_bands([Stretch(windows_of(restless(), LOOKBACK, 1000), zero)], (80.0,))["multiway"]
    assert bands.causes["following"].tolist() == [True, False]
    apart = fit_bands([Stretch(windows_of(restless()[:, 1:], LOOKBACK, 1000), zero)], (80.0,))["multiway"]
    assert torch.equal(apart.offsets[..., 0], bands.offsets[..., 1])  # a series depends on itself alone


def scored(bands, windows, *, follows):
    around = Around(bands.at([share / 10 for share in range(1, 10)]).float(), bands.edges((80.0,)).float())
    following = Following(bands, windows) if follows else None
    scaler = Scaler(np.zeros(2), np.ones(2))
    return measure(windows, zero, scaler, {"multiway": around._replace(bands=following)})["multiway"], following


def test_following_loses_less_on_later_rows_and_nothing_where_it_was_not_chosen():
    values = restless()
    bands = fit_bands([Stretch(windows_of(values, LOOKBACK, 1000), zero)], (80.0,))["multiway"]
    later = windows_of(values, 1000, 1500)
    (fixed, _), (follow, _) = (scored(bands, later, follows=each) for each in (False, True))
    lost = [each.lost.sum((0, 1)) for each in (fixed, follow)]
    assert lost[1][0] < 0.98 * lost[0][0]
    torch.testing.assert_close(lost[1][1], lost[0][1], rtol=SUMS32, atol=0)
    assert torch.equal(follow.inside[..., 1], fixed.inside[..., 1])


@pytest.mark.parametrize("missing", [False, True])
def test_scores_of_following_bands_agree_with_loops(missing, monkeypatch):
    monkeypatch.setattr("multiway.tasks.forecasting.windows.BATCH_CELLS", 1000)  # several batches
    values, draw = restless(), torch.Generator().manual_seed(1)
    bands = fit_bands([Stretch(windows_of(values, LOOKBACK, 1000), zero)], (80.0,))["multiway"]
    seen = torch.rand(500, 2, generator=draw) > 0.3 if missing else None
    later = Windows(values[1000:], seen, start=LOOKBACK, stop=500, lookback=LOOKBACK, horizon=HORIZON)
    found, following = scored(bands, later, follows=True)
    batch = later.gather(torch.arange(len(later)))
    errors = batch["future"].double().numpy()
    errors[~batch["future_observed"].numpy() if missing else np.zeros(errors.shape, bool)] = np.nan
    usual = float(bands.usual[0])
    rate = 1 - 0.5 ** (1 / widths.LEAST)
    sizes = sizes_by_sums(range(len(later)), mean_sizes(errors.swapaxes(0, 1))[:, 0], usual, HORIZON, rate)
    factors = np.sqrt(np.array(sizes) / usual)
    low, high = (edge[:, 0].double().numpy() for edge in bands.edges((80.0,))[0])
    inside = [(low * f <= e) & (e <= high * f) for f, e in zip(factors, errors[..., 0], strict=True)]
    np.testing.assert_array_equal(found.inside[0, :, 0], np.sum(inside, 0))
    for place, share in enumerate(np.arange(1, 10) / 10):
        apart = errors[..., 0] - bands.at([share])[0, :, 0].double().numpy() * factors[:, None]
        lost = np.nansum(np.maximum(share * apart, (share - 1) * apart), 0)
        np.testing.assert_allclose(found.lost[place, :, 0], lost, rtol=SUMS32)
    np.testing.assert_allclose(following.mean[:, 0], [[factors.mean(), 1.0]] * 2, rtol=ROUNDING32)


def after(run, panel, bands):
    return factors_at(run, panel, bands, [panel.num_rows])[0]


@pytest.fixture(scope="module")
def run():
    values = restless(1400).numpy()
    frame = pd.DataFrame(values, columns=["restless", "even"])
    frame["date"] = pd.date_range("2024-01-01", periods=len(frame), freq="h")
    sizes = {"lookback": LOOKBACK, "horizon": HORIZON, "season": 1}
    return lifecycle.fit_in_memory(TASK, make_config(**sizes, network=False, answer="auto"), frame)


def test_a_run_says_whose_bands_follow(run):
    assert Bands.read(run.calibration).causes["following"].tolist() == [True, False]
    assert any("The bands of 1 of 2 series widen and narrow" in note for note in run.facts["notes"])


def test_a_forecast_has_bands_by_the_errors_of_the_last_rows(run):
    panel, bands = run.prepared.panel, Bands.read(run.calibration)
    windows, fitted = run.prepared.windows["test"], model_of(run).fitted_for("test")
    batch = windows.gather(torch.arange(len(windows)))
    past, seen, *rest = inputs_of(batch)
    with torch.no_grad():
        errors = (batch["future"] - fitted.mix(fitted.forecasts(past, seen, fitted.used(), *rest))).double().numpy()
    sizes = np.abs(errors).mean(1)[:, 0]
    last = [*range(len(sizes)), len(sizes) - 1 + HORIZON]
    rate, usual = 1 - 0.5 ** (1 / widths.LEAST), float(bands.usual[0])
    expected = sizes_by_sums(last, [*sizes, np.nan], usual, HORIZON, rate)[-1]
    factor = after(run, panel, bands)
    np.testing.assert_allclose(factor, [np.sqrt(expected / usual), 1.0], rtol=ROUNDING32)
    columns = forecast_columns(run, panel, (80.0,), (0.1,))
    width = (columns["multiway-hi-80"] - columns["multiway-lo-80"]) / run.state.target_scaler.std
    edges = bands_for(run, "future").edges((80.0,))[0].double().numpy()
    np.testing.assert_allclose(width, (edges[1] - edges[0]) * factor, rtol=ROUNDING32)
    np.testing.assert_allclose(columns["multiway-q-10"], columns["multiway-lo-80"], rtol=ROUNDING32)


def test_calm_rows_after_the_training_make_the_bands_narrow(run):
    frame = pd.DataFrame(restless(1600).numpy(), columns=["restless", "even"])
    frame["date"] = pd.date_range("2024-01-01", periods=len(frame), freq="h")
    calm = frame.assign(restless=frame["restless"].where(frame.index < 1400, 0.1 * frame["even"]))
    longer = read_later(run.config, run.state, calm)
    stored = Bands.read(run.calibration)
    factors = [after(run, each, stored)[0] for each in (run.prepared.panel, longer)]
    assert factors[1] < 0.6 * factors[0]


def test_a_panel_without_later_rows_and_a_run_of_before_have_bands_as_they_are(run):
    stored, panel = Bands.read(run.calibration), run.prepared.panel
    assert after(run, panel.slice(0, LOOKBACK), stored).tolist() == [1.0, 1.0]
    older = dataclasses.replace(run, calibration={k: v for k, v in run.calibration.items() if k != USUAL})
    bands = Bands.read(older.calibration)
    assert bands.causes["following"].tolist() == [False, False] and after(older, panel, bands).tolist() == [1.0, 1.0]
    TASK.check_stored(older)


def test_a_backtest_has_the_bands_of_forecasts_from_its_cutoffs(run):
    panel = run.prepared.panel
    table = backtest_frame(run, panel, cutoffs=[panel.times[row] for row in (1385, 1200, 1100)], levels=(80.0, 95.0))
    assert list(table["cutoff"].unique()) == [panel.times[row] for row in (1100, 1200, 1385)]
    std, edges = run.state.target_scaler.std, bands_for(run, "test").edges((80.0,))[0].double().numpy()
    usual = {(name, row): (edges[1] - edges[0])[:, place] * std[place]
             for place, name in enumerate(run.state.targets) for row in (1100, 1200, 1385)}  # fmt: skip
    for (name, row), width in usual.items():
        part = table[(table["unique_id"] == name) & (table["cutoff"] == panel.times[row])]
        bands = Bands.read(run.calibration)
        factor = after(run, panel.slice(0, row + 1), bands)[run.state.targets.index(name)]
        np.testing.assert_allclose(part["multiway-hi-80"] - part["multiway-lo-80"], width * factor, rtol=ROUNDING32)
        assert (part["multiway-lo-95"] < part["multiway-lo-80"]).all()
        assert ((part["multiway-lo-80"] < part["multiway"]) & (part["multiway"] < part["multiway-hi-80"])).all()
    plain = backtest_frame(run, panel, cutoffs=[panel.times[row] for row in (1100, 1200, 1385)])
    pd.testing.assert_frame_equal(table[plain.columns], plain)
    assert score_backtest(table) == score_backtest(plain)


def test_a_later_file_without_the_time_zone_of_the_training_has_the_same_bands(run):
    panel, stored = run.prepared.panel, Bands.read(run.calibration)
    zoned = dataclasses.replace(run, facts={**run.facts, "intervals": {**run.facts["intervals"]}})
    first = pd.Timestamp(run.facts["intervals"]["first"])
    zoned.facts["intervals"]["first"] = str(first.tz_localize("Asia/Tokyo"))
    np.testing.assert_array_equal(after(zoned, panel, stored), after(run, panel, stored))
