"""ARIMA and the coin: forecasts beside a loop, blind to the day asked about, the same in a stored run."""

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from data.stocks.stock_panels import make_panel, weekdays
from multiway.data.stocks import StockProtocol, build_samples
from multiway.errors import ConfigError
from multiway.tasks import lifecycle
from multiway.tasks.run import load
from multiway.tasks.stocks.arima import ADJUSTED, TERMS, Arima
from multiway.tasks.stocks.baselines import Random, share_of_rises
from multiway.tasks.stocks.task import TASK as task
from tasks.stocks.quotes import make_config, write_stocks
from tolerances import SUMS64

ORDERS = [(0, 1, 0), (1, 0, 0), (0, 1, 1), (2, 1, 2), (1, 2, 1), (5, 0, 5), (0, 2, 0)]
BORDERS = ("2015-08-24", "2015-09-21")


@pytest.fixture(scope="module")
def statsforecast():
    return pytest.importorskip("statsforecast.arima", reason="statsforecast is not installed")


def prepared_of(panel):
    return SimpleNamespace(panel=panel, samples=build_samples(panel, None, StockProtocol(borders=BORDERS)))


def drawn(orders, seed=0):
    """A model with parameters of these orders, small enough to be stable."""
    chance, model = np.random.default_rng(seed), Arima(len(orders))
    for stock, (p, d, q) in enumerate(orders):
        model.differences[stock] = d
        model.constant[stock], model.deviation[stock] = 0.01 * chance.standard_normal(), 0.02
        model.ar[stock, :p] = torch.from_numpy(chance.uniform(-0.3, 0.3, p))
        model.ma[stock, :q] = torch.from_numpy(chance.uniform(-0.3, 0.3, q))
    model.share.fill_(0.625)
    return model


def slow_change(model, stock, prices):
    """The forecast of the next row, less the last one, term by term."""
    d, constant = int(model.differences[stock]), float(model.constant[stock])
    ar, ma = model.ar[stock].tolist(), model.ma[stock].tolist()
    values, errors = [float(value) - constant for value in np.diff(prices, d)], []
    for step in range(len(values) + 1):
        forecast = sum(ar[i] * values[step - 1 - i] for i in range(TERMS) if step > i)
        forecast += sum(ma[i] * errors[step - 1 - i] for i in range(TERMS) if step > i)
        if step < len(values):
            errors.append(values[step] - forecast)
    forecast += constant
    last_change = prices[-1] - prices[-2]
    return {0: forecast - prices[-1], 1: forecast, 2: forecast + last_change}[d]


@pytest.mark.parametrize("stock", range(len(ORDERS)), ids=[str(order) for order in ORDERS])
def test_forecasts_are_the_recursion_term_by_term(stock):
    model = drawn(ORDERS)
    prices = np.cumsum(0.02 * np.random.default_rng(stock).standard_normal(40)) + 3
    found = model.changes(stock, prices)
    assert len(found) == len(prices) + 1
    first = max(int(model.differences[stock]), 1)
    assert (found[:first] == 0).all()
    expected = [slow_change(model, stock, prices[:count]) for count in range(max(first, 2), len(prices) + 1)]
    np.testing.assert_allclose(found[max(first, 2) :], expected, rtol=SUMS64, atol=SUMS64)


def test_an_autoregression_of_changes_by_hand():
    model = Arima(1)
    model.ar[0, 0], model.constant[0] = 0.5, 0.01
    prices = np.array([1.0, 1.03, 1.04])
    expected = [0.0, 0.01, 0.01 + 0.5 * (0.03 - 0.01), 0.01]
    np.testing.assert_allclose(model.changes(0, prices), expected, rtol=SUMS64)


@pytest.mark.parametrize("d", [0, 1, 2])
def test_a_stock_without_rows_is_not_forecast(d):
    model = drawn([(1, d, 1)])
    assert model.changes(0, np.empty(0)).tolist() == [0.0]


def test_the_random_walk_says_the_share_of_rises():
    prepared = prepared_of(make_panel())
    model = Arima(len(prepared.panel.tickers))
    model.share.fill_(0.625)
    assert np.unique(model.says(prepared, prepared.samples.splits["test"])).tolist() == [0.625]


def test_the_chance_of_a_rise_is_the_share_of_the_forecast_above_the_last_price():
    prepared = prepared_of(make_panel())
    model = drawn([(0, 1, 0)] * 5)
    model.constant[:], model.deviation[:] = 0.02, 0.01
    found = model.says(prepared, prepared.samples.splits["test"])
    np.testing.assert_allclose(found, 0.97724986805182, rtol=1e-12)  # of a normal number below two deviations


def test_only_what_the_stock_did_before_the_day_is_read():
    panel = make_panel()
    model = drawn([(2, 1, 2)] * 5)
    prepared = prepared_of(panel)
    rows = np.arange(len(prepared.samples.targets))
    first = model.says(prepared, rows)
    day = prepared.samples.target_days[len(rows) // 2]
    later = panel.prices.copy()
    later[:, panel.days >= day] *= 1.5
    later[0, :, ADJUSTED] *= np.random.default_rng(1).uniform(0.5, 1.5, len(panel.days))
    again = model.says(SimpleNamespace(panel=dataclasses.replace(panel, prices=later), samples=prepared.samples), rows)
    known = prepared.samples.target_days <= day
    np.testing.assert_array_equal(again[known, 1:], first[known, 1:])
    assert (again[~known, 1:] != first[~known, 1:]).any() and (again[known, 0] != first[known, 0]).any()
    np.testing.assert_array_equal(model.says(prepared, rows[7:8]), first[7:8])


def alternating(seed=0):
    """A panel whose first stock takes back most of each change on the next day, and whose last has few rows."""
    panel = make_panel(seed, weekdays("2015-03-02"), holes=0.0)
    chance, prices, traded = np.random.default_rng(seed), panel.prices.copy(), panel.traded.copy()
    change, changes = 0.0, []
    for noise in 0.02 * chance.standard_normal(len(panel.days)):
        change = -0.9 * change + noise
        changes.append(change)
    prices[0, :, ADJUSTED] = 20 * np.exp(np.cumsum(changes))
    traded[4, 10:-10] = False
    prices[4, 10:-10] = np.nan
    return dataclasses.replace(panel, prices=prices, traded=traded)


@pytest.mark.usefixtures("statsforecast")
def test_orders_and_parameters_are_learnt_from_training_days():
    panel = alternating()
    prepared = prepared_of(panel)
    model = Arima(len(panel.tickers))
    facts = model.fit(prepared)
    assert sum(facts["orders"].values()) == len(panel.tickers) and facts["orders"]["(0, 1, 0)"] >= 1
    assert -1 < model.ar[0, 0] < -0.6 and int(model.differences[0]) == 1
    assert int(model.differences[4]) == 1 and not model.ar[4].any()
    assert float(model.share) == share_of_rises(prepared.samples)
    test = prepared.samples.splits["test"]
    rises = np.diff(np.log(panel.prices[0, :, ADJUSTED]))[prepared.samples.targets[test] - 1] > 0
    assert ((model.says(prepared, test)[:, 0] > 0.5) == rises).mean() > 0.75
    later = panel.prices.copy()
    later[:, panel.days > prepared.samples.target_days[prepared.samples.splits["train"]].max()] *= 2
    other = Arima(len(panel.tickers))
    other.fit(SimpleNamespace(panel=dataclasses.replace(panel, prices=later), samples=prepared.samples))
    for name, values in model.state_dict().items():
        assert torch.equal(values, other.state_dict()[name]), name


def test_forecasts_are_those_of_the_library(statsforecast):
    """Its filter knows how unsure the first rows are; after some days the two agree."""
    prices = np.log(alternating().prices[0, :, ADJUSTED])
    fitted = statsforecast.auto_arima_f(prices[:100], seasonal=False)
    model = Arima(1)
    model._keep(0, fitted)
    again = statsforecast.forward_arima(fitted, y=prices)
    expected = prices - again["residuals"] - np.append(0, prices[:-1])
    np.testing.assert_allclose(model.changes(0, prices)[50:-1], expected[50:], atol=1e-6)


def test_a_missing_library_is_said_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "statsforecast.models", None)
    config = make_config(write_stocks(tmp_path / "data"), baselines=("arima",))
    fix = r"the baseline arima needs statsforecast, which is not installed. Run `pip install 'multiway\[arima\]'`."
    with pytest.raises(ConfigError, match=fix):
        lifecycle.start(task, config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("statsforecast")
def test_a_stored_run_says_the_same_without_the_library(tmp_path, monkeypatch):
    data = write_stocks(tmp_path / "data")
    config = make_config(data, baselines=("random", "arima"), training={"epochs": 1})
    run = lifecycle.start(task, config, tmp_path / "run")
    monkeypatch.setitem(sys.modules, "statsforecast.models", None)
    again = load(tmp_path / "run")
    assert task.evaluate(again, str(data), "test") == [row for row in run.scores if row["split"] == "test"]
    named = {(row["model"], row["metric"]): row for row in run.scores if row["split"] == "test"}
    for model in ("random", "arima"):
        assert named[model, "acc"]["low"] <= named[model, "acc"]["value"] <= named[model, "acc"]["high"]


def test_a_coin_falls_by_seed_ticker_and_day_alone():
    panel = make_panel()
    prepared = prepared_of(panel)
    rows = np.arange(len(prepared.samples.targets))
    found = Random(0).says(prepared, rows)
    assert set(np.unique(found)) == {0.0, 1.0} and 0.4 < found.mean() < 0.6
    np.testing.assert_array_equal(Random(0).says(prepared, rows[9:12]), found[9:12])
    assert Random(0).says(prepared, rows[:0]).shape == (0, len(panel.tickers))
    assert 0.4 < (Random(1).says(prepared, rows) == found).mean() < 0.6
    turned = prepared_of(make_panel(tickers=panel.tickers[::-1]))
    shared, here, there = np.intersect1d(prepared.samples.target_days, turned.samples.target_days, return_indices=True)
    assert len(shared) > 50
    np.testing.assert_array_equal(Random(0).says(turned, rows)[there][:, ::-1], found[here])
