"""ARIMA: forecasts against a loop and against statsforecast, orders that are those of the series."""

import numpy as np
import pytest
import torch

from multiway_papers.stocks.arima import FEWEST, TERMS, Arima
from tolerances import SUMS64

ORDERS = [(0, 1, 0), (1, 0, 0), (0, 1, 1), (2, 1, 2), (1, 2, 1), (5, 0, 5), (0, 2, 0)]


@pytest.fixture(scope="module")
def statsforecast():
    return pytest.importorskip("statsforecast.arima", reason="statsforecast is not installed")


def drawn(orders, seed=0):
    """A model with parameters of these orders, small enough to be stable."""
    chance, model = np.random.default_rng(seed), Arima(len(orders))
    for series, (p, d, q) in enumerate(orders):
        model.differences[series] = d
        model.constant[series], model.deviation[series] = 0.01 * chance.standard_normal(), 0.02
        model.ar[series, :p] = torch.from_numpy(chance.uniform(-0.3, 0.3, p))
        model.ma[series, :q] = torch.from_numpy(chance.uniform(-0.3, 0.3, q))
    return model


def alternating(count, seed=0):
    """A series that takes back most of each change with the next one."""
    change, changes = 0.0, []
    for noise in 0.02 * np.random.default_rng(seed).standard_normal(count):
        change = -0.9 * change + noise
        changes.append(change)
    return np.cumsum(changes) + 3


def slow_change(model, series, values):
    """The forecast of the next row, less the last one, term by term."""
    d, constant = int(model.differences[series]), float(model.constant[series])
    ar, ma = model.ar[series].tolist(), model.ma[series].tolist()
    known, errors = [float(value) - constant for value in np.diff(values, d)], []
    for step in range(len(known) + 1):
        forecast = sum(ar[i] * known[step - 1 - i] for i in range(TERMS) if step > i)
        forecast += sum(ma[i] * errors[step - 1 - i] for i in range(TERMS) if step > i)
        if step < len(known):
            errors.append(known[step] - forecast)
    forecast += constant
    last_change = values[-1] - values[-2]
    return {0: forecast - values[-1], 1: forecast, 2: forecast + last_change}[d]


@pytest.mark.parametrize("series", range(len(ORDERS)), ids=[str(order) for order in ORDERS])
def test_forecasts_are_the_recursion_term_by_term(series):
    model = drawn(ORDERS)
    values = np.cumsum(0.02 * np.random.default_rng(series).standard_normal(40)) + 3
    found = model.changes(series, values)
    assert len(found) == len(values) + 1
    first = max(int(model.differences[series]), 1)
    assert (found[:first] == 0).all()
    expected = [slow_change(model, series, values[:count]) for count in range(max(first, 2), len(values) + 1)]
    np.testing.assert_allclose(found[max(first, 2) :], expected, rtol=SUMS64, atol=SUMS64)


def test_an_autoregression_of_changes_by_hand():
    model = Arima(1)
    model.ar[0, 0], model.constant[0] = 0.5, 0.01
    values = np.array([1.0, 1.03, 1.04])
    expected = [0.0, 0.01, 0.01 + 0.5 * (0.03 - 0.01), 0.01]
    np.testing.assert_allclose(model.changes(0, values), expected, rtol=SUMS64)


@pytest.mark.parametrize("d", [0, 1, 2])
def test_a_series_without_values_is_not_forecast(d):
    model = drawn([(1, d, 1)])
    assert model.changes(0, np.empty(0)).tolist() == [0.0]


@pytest.mark.usefixtures("statsforecast")
def test_every_series_has_the_order_of_its_own_values_and_a_short_one_is_a_random_walk():
    model = Arima(2)
    model.fit_series([alternating(150), alternating(FEWEST - 1)])
    assert int(model.differences[0]) == 1 and -1 < model.ar[0, 0] < -0.6
    assert int(model.differences[1]) == 1 and not model.ar[1].any() and not model.ma[1].any()
    assert sum(model.orders().values()) == 2 and model.orders()["(0, 1, 0)"] == 1


def test_forecasts_are_those_of_the_library(statsforecast):
    """Its filter knows how unsure the first rows are; after some days the two agree."""
    values = alternating(150)
    fitted = statsforecast.auto_arima_f(values[:100], seasonal=False)
    model = Arima(1)
    model.keep(0, fitted)
    repeated = statsforecast.forward_arima(fitted, y=values)
    expected = values - repeated["residuals"] - np.append(0, values[:-1])
    np.testing.assert_allclose(model.changes(0, values)[50:-1], expected[50:], atol=1e-6)
