"""Forecasts below zero and with a fraction where no training value is so: held and rounded, or left by option."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.models.regression import Regressors
from multiway.tasks.forecasting.forecasts import all_forecasts, backtest_frame, lowest_of
from multiway.tasks.forecasting.refit import take_in
from multiway.tasks.forecasting.windows import history_of, last_window
from multiway.tasks.run import load, save_run
from tasks.forecasting.panels import fitted, forecast, read

ROWS = 240
pytestmark = pytest.mark.filterwarnings("ignore:The .* interval held")


@pytest.fixture(scope="module")
def counts():
    """Customers, numbers with a fraction and below zero, and demands that are mostly none."""
    chance = np.random.default_rng(3)
    level = 3 + 3 * np.sin(np.arange(ROWS) / 7)
    return pd.DataFrame({
        "date": pd.date_range("2024-01-01", periods=ROWS, freq="D"), "customers": chance.poisson(level).astype(float),
        "degrees": chance.standard_normal(ROWS), "parts": chance.poisson(0.25, ROWS) * 3.0,
    })  # fmt: skip


@pytest.fixture(scope="module")
def run(counts):
    return fitted(counts, network=False, answer="auto")


def columns_of(table, name):
    return table[[column for column in table.columns if column == name or column.startswith(f"{name}-")]].to_numpy()


def test_counts_are_whole_and_not_below_zero_by_themselves(run, counts):
    table = forecast(run, counts, layout="wide", levels=(50, 95))
    for name in ("customers", "parts"):
        assert (columns_of(table, name) >= 0).all()
    assert (columns_of(table, "degrees").min() < 0) and (table["degrees"] % 1 != 0).all()
    assert (columns_of(table, "customers") % 1 == 0).all() and (columns_of(table, "parts")[:, 1:] % 1 == 0).all()
    assert (table["parts"] % 1 != 0).any()  # the mean of what is mostly none is no whole number
    edges = table[["customers-lo-95", "customers-lo-50", "customers", "customers-hi-50", "customers-hi-95"]]
    assert (np.diff(edges, axis=1) >= 0).all()


def test_options_say_otherwise(run, counts):
    free = changed(run, output={"nonnegative": False, "whole": False})
    table = forecast(free, counts, layout="wide", levels=(95,))
    assert (table["parts-lo-95"] < 0).any() and (columns_of(table, "customers") % 1 != 0).all()
    strict = changed(run, output={"nonnegative": True, "whole": True})
    table = forecast(strict, counts, layout="wide", levels=(95,))
    for name in ("customers", "degrees", "parts"):
        assert (columns_of(table, name) >= 0).all() and (columns_of(table, name) % 1 == 0).all()


def changed(run, **changes):
    return dataclasses.replace(run, config=run.config.parse({**run.config.plain(), **changes}))


def test_no_scored_forecast_of_counts_is_below_zero(run):
    batch = run.prepared.windows["test"].spread(50)
    lowest = torch.from_numpy(-run.state.scaler.mean / run.state.scaler.std).float()
    past = batch["past"] - 3.0 * torch.linspace(0, 1, batch["past"].shape[1])[:, None]  # falls as it never did
    past[..., ::2] = past[..., ::2].maximum(lowest[::2])
    every = all_forecasts(run, past)
    for forecasts in every.values():
        assert (forecasts[..., 0] >= lowest[0] - 1e-6).all() and (forecasts[..., 2] >= lowest[2] - 1e-6).all()
    assert all((every[name][..., 1] < lowest[1]).any() for name in ("multiway", "ridge", "naive"))


def test_series_that_are_mostly_none_have_a_candidate_of_their_own(run, counts):
    assert "intermittent" in run.state.candidates
    assert "intermittent" not in fitted(counts[["date", "degrees"]], network=False).state.candidates


FALLEN = -1.41
"""The last margin."""


@pytest.fixture(scope="module")
def margins():
    """A margin that is positive in the training rows, falls through zero in the test rows and ends below."""
    week = 0.2 * np.sin(2 * np.pi * np.arange(ROWS) / 7)
    level = np.concatenate([np.full(180, 8.0), np.linspace(8.0, FALLEN, 50), np.full(10, FALLEN)])
    noise = 0.1 * np.random.default_rng(2).standard_normal(ROWS)
    days = pd.date_range("2024-01-01", periods=ROWS, freq="D")
    return pd.DataFrame({"date": days, "margin": level + week + noise})


@pytest.fixture(scope="module")
def falling(margins):
    """A run of all candidates on that series."""
    return fitted(margins, network=False, answer="auto", season=7, lookback=21)


def fallen(table):
    """Whether forecast and band lie where the series ends."""
    low, middle, high = (table[name].to_numpy() for name in ("margin-lo-95", "margin", "margin-hi-95"))
    return (low < middle).all() and (np.abs(middle - FALLEN) < 1.0).all() and (low < 0).all() and (high < 2).all()


@pytest.mark.parametrize("refit", ["closed", "none"])
def test_a_series_that_fell_below_zero_after_the_training_rows_is_forecast_there(margins, refit, tmp_path):
    """Models of the training rows, which saw no fall, follow it slowly."""
    run = fitted(margins, network=False, answer="auto", refit=refit, season=7)
    assert run.prepared.borders.train[1] < np.flatnonzero(margins["margin"] < 0)[0]
    assert {"ridge_log", "ridge_root"} < set(run.state.candidates)
    table = forecast(run, margins, layout="wide")
    assert fallen(table) if refit == "closed" else (table["margin"] < margins["margin"][:180].min() / 2).all()
    assert any("margin: values below zero come after the training rows" in note for note in run.facts["notes"])
    save_run(run, tmp_path / "run")
    reloaded = forecast(load(tmp_path / "run"), margins, layout="wide")
    pd.testing.assert_frame_equal(reloaded, forecast(run, margins, layout="wide"))


@pytest.mark.parametrize("name", ["ridge_log", "ridge_root", "flair", "theta", "ets", "arima", "autoregression"])
def test_no_candidate_holds_a_fallen_series_above_zero(falling, name):
    past, observed = last_window(falling.prepared.panel, falling.state.scaler, 21)
    for use in ("train", "test", "future"):
        scaled = falling.model.fitted_for(use).forecasts(past, observed, [name])[name].double().numpy()
        assert np.abs(falling.state.scaler.inverse(scaled) - FALLEN).max() < 3.0, use


def test_a_fall_that_the_window_has_forgotten_still_counts(margins):
    """The fit on all rows has seen values below zero, so it takes no logarithm of the series."""
    risen = margins.assign(margin=margins["margin"].to_numpy() * np.where(np.arange(ROWS) < 226, 1.0, -3.0))
    run = fitted(risen, network=False, answer="ridge_log", season=7)
    future = run.model.fitted_for("future").candidates["ridge_log"]
    assert not future.transformed.any() and run.model.candidates["ridge_log"].transformed.all()
    assert np.isneginf(
        lowest_of(
            last_window(run.prepared.panel, run.state.scaler, 12)[0], run.config, run.state, run.state.low_for("future")
        )
    ).all()


def test_a_fraction_that_comes_after_the_training_rows_is_forecast_with_one(margins):
    """Whole numbers are those of all rows of a fit: the forecast before the test rows has them, the last one not."""
    counts = margins.assign(
        margin=np.rint(20 + 10 * np.sin(np.arange(ROWS))) + np.where(np.arange(ROWS) < 226, 0, 0.25)
    )
    run = fitted(counts, network=False, answer="ridge", season=7)
    assert run.state.whole == (True,) and not run.state.whole_for("future")[0].any()
    later = columns_of(forecast(run, counts, layout="wide"), "margin")
    assert (later != np.rint(later)).any()
    whole = fitted(counts[:220], network=False, answer="ridge", season=7)
    assert (columns_of(forecast(whole, counts[:220], layout="wide"), "margin") % 1 == 0).all()
    longer = columns_of(forecast(take_in(whole, counts), counts, layout="wide"), "margin")
    assert (longer != np.rint(longer)).any()


@pytest.mark.parametrize("name", ["theta", "ets", "ridge_log"])
def test_a_range_that_is_left_after_the_training_rows_holds_no_forecast(margins, name):
    """Another unit from row 200 on: what is forecast is held within the range of the rows of its own fit."""
    level = np.where(np.arange(ROWS) < 200, 1.0, 1000.0)
    risen = margins.assign(margin=(20 + np.sin(np.arange(ROWS))) * level)
    run = fitted(risen, network=False, answer=name, season=7)
    assert run.state.high_for("future")[0] > 900 * run.state.high[0]
    panel = read(run, risen)
    past, observed = last_window(panel, run.state.scaler, run.config.lookback)
    history = Regressors(torch.empty(1, 1, 1, 0), torch.empty(1, 1, 1, 0), past, history_of(panel, run.state.scaler))
    scaled = run.model.fitted_for("future").forecasts(past, observed, [name], history)[name]
    assert (run.state.scaler.inverse(scaled[0].double().numpy()) > 5000).all()


def test_zeros_of_the_training_rows_hold_no_later_series_below_zero(margins):
    """Zeros alone have no side; a series that begins to sell after them is not forecast below zero."""
    begun = margins.assign(margin=np.where(np.arange(ROWS) < 200, 0.0, np.arange(ROWS) % 3 * 1.0))
    run = fitted(begun, network=False, answer="ridge", season=7)
    past = last_window(run.prepared.panel, run.state.scaler, 12)[0]
    bounds = [lowest_of(each, run.config, run.state, run.state.low_for("future")) for each in (past, 0 * past)]
    assert (bounds[0] == 0).all() and np.isneginf(bounds[1]).all()


def test_an_option_still_holds_a_fallen_series_at_zero(margins):
    run = fitted(margins, network=False, season=7, output={"nonnegative": True})
    assert (columns_of(forecast(run, margins, layout="wide"), "margin") >= 0).all()


def test_rows_below_zero_that_come_later_are_heeded(margins):
    run = fitted(margins[:190], network=False, answer="ridge_log", season=7)
    assert (run.state.low_for("future") > 0).all()
    longer = take_in(run, margins)
    assert fallen(forecast(longer, margins, layout="wide"))
    assert (longer.state.low_for("future") < 0).all() and (longer.state.low > 0).all()
    table = backtest_frame(run, run.prepared.panel, cutoffs=1, refit_every=1, levels=(95,))
    assert (table["multiway"] > 0).all()


def test_bands_of_past_moments_follow_a_series_below_zero(margins):
    run = fitted(margins, network=False, answer="ridge", season=7)
    table = backtest_frame(run, read(run, margins), cutoffs=[margins["date"].iloc[-6]], levels=(95,))
    assert (table["multiway"] < 0).all() and (table["multiway-lo-95"] < FALLEN).all()
