"""Forecasts below zero and with a fraction where no training value is so: held and rounded, or left by option."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from multiway.tasks.forecasting.network import all_forecasts
from tasks.forecasting.panels import fitted, forecast

ROWS = 240


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
    past = batch["past"] - 3.0  # far below what was ever there
    lowest = -run.state.scaler.mean / run.state.scaler.std
    for forecasts in all_forecasts(run, past).values():
        assert (forecasts[..., 0] >= lowest[0] - 1e-6).all() and (forecasts[..., 2] >= lowest[2] - 1e-6).all()
        assert (forecasts[..., 1] < lowest[1]).any()


def test_series_that_are_mostly_none_have_a_candidate_of_their_own(run, counts):
    assert "intermittent" in run.state.candidates
    assert "intermittent" not in fitted(counts[["date", "degrees"]], network=False).state.candidates
