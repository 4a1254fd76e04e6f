"""A change of level or unit is found where there is one, and earlier rows are joined to later ones."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from multiway import Forecaster
from multiway.tasks.forecasting.bands import Bands
from multiway.tasks.forecasting.breaks import find_breaks, join_breaks
from multiway.tasks.forecasting.check import PANELS
from multiway.tasks.forecasting.choice import _unless_plain
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.refit import bands_for

ROWS = 97


def panel_of(*series):
    """Days of some series."""
    values = np.column_stack(series)
    names = tuple("abcd"[: len(series)])
    times = pd.date_range("2024-01-01", periods=len(values), freq="D")
    return Panel(values=values, times=times, names=names, frequency="D", layout="wide", source="made")


def noise(seed=0, rows=ROWS):
    return np.random.default_rng(seed).standard_normal(rows)


def first_after(values, season=1):
    """The row by brute force: each is tried, and all that defines a break is asked of it."""
    lag = -(-10 // season) * season
    for row in range(lag, len(values) - lag + 1):
        before, after = values[:row], values[row:]
        step = abs(after[0] - before[-1])
        others = [abs(b - a) for place, (a, b) in enumerate(itertools.pairwise(values)) if place != row - 1]
        is_apart = all(x < y for x in before for y in after) or all(x > y for x in before for y in after)
        across = [after[i] - before[len(before) - lag + i] for i in range(lag)]
        if is_apart and step >= 2 * max(others) and abs(np.median(across)) >= 6 * np.std(across):
            return row
    return None


@pytest.mark.parametrize("row", [10, 11, 43, 86, 87])
@pytest.mark.parametrize("size", [-30.0, 25.0])
def test_a_change_of_level_is_where_brute_force_finds_it(row, size):
    values = noise(row) + np.where(np.arange(ROWS) < row, 0, size)
    [found] = find_breaks(panel_of(values), 1)
    assert pd.Timestamp(found.first) == pd.Timestamp("2024-01-01") + pd.Timedelta(days=first_after(values))
    assert found.times == 1
    assert found.plus == pytest.approx(size, abs=1.5)


@pytest.mark.parametrize("times", [0.001, 0.2, 5.0, 1000.0])
def test_a_change_of_unit_gives_the_series_back_in_the_later_one(times):
    plain = 50 + noise() + 5 * np.sin(2 * np.pi * np.arange(ROWS) / 7)
    panel = panel_of(plain * np.where(np.arange(ROWS) < 61, 1, times))
    breaks = find_breaks(panel, 7)
    joined = join_breaks(panel, breaks).values[:, 0] / times
    assert breaks[0].plus == 0
    assert np.abs(joined / plain - 1).max() < 0.02
    np.testing.assert_allclose(joined[61:], plain[61:], rtol=1e-12)


def test_a_trend_is_no_part_of_the_change():
    slope = 0.75 * np.arange(ROWS)
    [found] = find_breaks(panel_of(slope + 0.01 * noise() + np.where(np.arange(ROWS) < 50, 0, -200)), 1)
    assert found.plus == pytest.approx(-200, abs=0.05)


def test_of_several_series_each_has_its_own():
    shift = np.where(np.arange(ROWS) < 40, 0, 50)
    panel = panel_of(noise(1), noise(2) + shift, 90 + noise(3) - shift)
    panel.values[37:45:3, 1] = np.nan
    assert [each.series for each in find_breaks(panel, 1)] == ["b", "c"]
    joined = join_breaks(panel, find_breaks(panel, 1)).values
    assert np.array_equal(np.isnan(joined), np.isnan(panel.values))
    assert np.array_equal(joined[:, 0], panel.values[:, 0])
    assert abs(np.nanmean(joined[:40, 1]) - np.nanmean(joined[40:, 1])) < 1


ROW = np.arange(ROWS)
NO_BREAKS = {
    "noise": noise(),
    "a trend": 3.0 * ROW + noise(),
    "growth": np.exp(0.1 * ROW),
    "a random walk": np.cumsum(noise(5)),
    "a season": 20 * np.sin(ROW) + noise(),
    "a peak": noise() + 50 * (ROW == 60),
    "a dip that ends": noise() + np.where(abs(ROW - 50) < 12, -40, 0),
    "stairs": np.floor(ROW / 24) * 10 + 0.1 * noise(),
    "one that stands still after": np.where(ROW < 60, noise(), 40.0),
    "too few rows after": noise() + np.where(ROW < 88, 0, 50),
    "a slow change": noise() + 5 * np.clip(ROW - 50, 0, 10),
    "a constant": np.full(ROWS, 3.0),
    "zeros and ones": (ROW > 50).astype(float),
    "one value": np.where(ROW == 3, 1.0, np.nan),
    "none": np.full(ROWS, np.nan),
}


@pytest.mark.parametrize("name", NO_BREAKS)
def test_there_is_none_in(name):
    assert find_breaks(panel_of(NO_BREAKS[name]), 1) == ()


def frame_of(values):
    return pd.DataFrame({"day": pd.date_range("2024-01-01", periods=len(values), freq="D"), "y": values})


LEVEL = 20 + noise(7, 160) + 3 * np.sin(2 * np.pi * np.arange(160) / 7) + np.where(np.arange(160) < 120, 0, -300)


def fitted_to(values, **options):
    """A fit, and what was said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = Forecaster(horizon=7, network=False, **options).fit(frame_of(values))
    return fitted, " ".join(str(each.message) for each in caught)


@pytest.fixture(scope="module")
def joined():
    fitted, told = fitted_to(LEVEL)
    assert "A forecast joins rows before to it" in told
    return fitted


def test_a_later_table_is_joined_as_the_first_one(joined, tmp_path):
    expected = joined.predict()
    assert expected["y"].between(-300, -260).all()
    pd.testing.assert_frame_equal(joined.predict(frame_of(LEVEL)), expected)
    joined.save(tmp_path / "run")
    pd.testing.assert_frame_equal(Forecaster.load(tmp_path / "run").predict(frame_of(LEVEL)), expected)


def test_rows_that_come_later_leave_the_break_where_it_was(joined):
    later = frame_of(np.concatenate([LEVEL, LEVEL[-7:]]))
    before = joined.run_.state.breaks
    joined.update(later.tail(7))
    assert joined.run_.state.breaks == before
    assert joined.predict()["y"].between(-300, -260).all()


def test_rows_stay_as_they_are_where_settings_say_so():
    kept, told = fitted_to(LEVEL, settings={"breaks": "keep"})
    assert kept.run_.state.breaks == ()
    assert "joined" not in told


def test_rows_of_a_series_that_stands_still_are_left_out_where_others_are_enough():
    values = np.where(np.arange(160) < 100, 0, 40 + noise(3, 160))
    fitted, told = fitted_to(values)
    assert "y stands still until 2024-04-10" in told
    assert fitted.run_.facts["rows"] == 160  # scores have all of them
    panel = fitted.run_.prepared.panel_for("future")
    assert np.isnan(panel.values[:100]).all() and (panel.values[100:, 0] == values[100:]).all()
    assert fitted.predict()["y"].between(36, 44).all()
    assert fitted_to(values[:112])[0].run_.state.breaks == ()


def test_a_check_says_what_becomes_of_a_break():
    report = PANELS.check(ForecastConfig(), frame_of(LEVEL))
    [found] = [each for each in report.findings if each.kind == "break"]
    assert "from 2024-04-30 00:00:00 on, y is -30" in found.rule
    priced = frame_of(LEVEL).assign(price=1.0)
    quiet = PANELS.check(ForecastConfig(future=("price",)), priced)
    assert not [each for each in quiet.findings if each.kind == "break"]


def test_bands_that_missed_the_test_rows_by_far_are_wider_in_the_future():
    wide, narrow = (fitted_to(values)[0] for values in (50 * np.maximum(0, ROW - 75.0) + noise(2), noise(2)))
    factor = wide.run_.facts["intervals"]["wider"]["y"]
    assert "wider" not in narrow.run_.facts["intervals"]
    assert 1 < factor <= 20
    usual, wider = (bands_for(wide.run_, use).edges([80])[0] for use in ("test", "future"))
    spread = wide.run_.models["multiway"].fitted_for("future").own_spread()
    plain = Bands.read(wide.run_.calibration).with_spread(spread, wide.run_.facts["intervals"]["windows"] / 7)
    torch.testing.assert_close(wider, factor * plain.edges([80])[0], rtol=1e-5, atol=0)
    assert usual.shape == wider.shape


@pytest.mark.parametrize(("plain", "expected"), [(0.24, [0.0, 0.0, 1.0]), (0.26, [0.5, 0.5, 0.0])])
def test_a_plain_forecast_answers_where_the_answer_errs_by_far_more(plain, expected):
    names, weights = ("ridge", "ets", "seasonal_naive"), np.array([[0.5], [0.5], [0.0]])
    products = np.diag([2.0, 2.0, plain])[None]  # the answer's squared error is 1
    assert _unless_plain(names, weights, products)[:, 0].tolist() == expected
