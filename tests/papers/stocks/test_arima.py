"""ARIMA of prices and the coin: blind to the target day, the same in a stored run."""

import dataclasses
import sys

import numpy as np
import pytest
import torch

from multiway.errors import ConfigError
from multiway.tasks import lifecycle
from multiway.tasks.run import load
from multiway_papers.stocks.baselines import PriceArima, Random
from multiway_papers.stocks.panel import ADJUSTED
from multiway_papers.stocks.protocols import StockProtocol
from multiway_papers.stocks.regressions import share_of_rises
from multiway_papers.stocks.task import TASK as task
from papers.stocks.quotes import make_config, write_stocks
from papers.stocks.stock_panels import build_samples, inputs_of, make_panel, weekdays

BORDERS = ("2015-08-24", "2015-09-21")


@pytest.fixture(scope="module")
def statsforecast():
    return pytest.importorskip("statsforecast.arima", reason="statsforecast is not installed")


def prepared_of(panel):
    return inputs_of(build_samples(panel, None, StockProtocol(borders=BORDERS)))


def with_prices(inputs, prices):
    """The same samples of other prices."""
    panel = dataclasses.replace(inputs.windows.panel, prices=prices)
    return dataclasses.replace(inputs, windows=dataclasses.replace(inputs.windows, panel=panel))


def of_changes(p, q, seed=0):
    """A model of the changes of five stocks, with parameters of this order, small enough to be stable."""
    chance, model = np.random.default_rng(seed), PriceArima(5)
    model.deviation.fill_(0.02)
    for stock in range(5):
        model.ar[stock, :p] = torch.from_numpy(chance.uniform(-0.3, 0.3, p))
        model.ma[stock, :q] = torch.from_numpy(chance.uniform(-0.3, 0.3, q))
    return model


def test_the_random_walk_says_the_share_of_rises():
    prepared = prepared_of(make_panel())
    model = PriceArima(len(prepared.windows.tickers))
    model.share.fill_(0.625)
    assert np.unique(model.says(prepared[prepared.windows.splits["test"]])).tolist() == [0.625]


def test_the_chance_of_a_rise_is_the_share_of_the_forecast_above_the_last_price():
    prepared = prepared_of(make_panel())
    model = of_changes(0, 0)
    model.constant[:], model.deviation[:] = 0.02, 0.01
    found = model.says(prepared[prepared.windows.splits["test"]])
    np.testing.assert_allclose(found, 0.97724986805182, rtol=1e-12)  # of a normal number below two deviations


def test_only_what_the_stock_did_before_the_day_is_read():
    panel = make_panel()
    model = of_changes(2, 2)
    prepared = prepared_of(panel)
    days = prepared.windows.target_days
    first, day = model.says(prepared), days[len(days) // 2]
    later = panel.prices.copy()
    later[:, panel.days >= day] *= 1.5
    later[0, :, ADJUSTED] *= np.random.default_rng(1).uniform(0.5, 1.5, len(panel.days))
    repeated = model.says(with_prices(prepared, later))
    known = days <= day
    np.testing.assert_array_equal(repeated[known, 1:], first[known, 1:])
    assert (repeated[~known, 1:] != first[~known, 1:]).any() and (repeated[known, 0] != first[known, 0]).any()
    np.testing.assert_array_equal(model.says(prepared[np.arange(7, 8)]), first[7:8])


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
    model = PriceArima(len(panel.tickers))
    training, held, test = (prepared[prepared.windows.splits[name]] for name in ("train", "validation", "test"))
    facts = model.fit(training, held)
    assert sum(facts["orders"].values()) == len(panel.tickers) and facts["orders"]["(0, 1, 0)"] >= 1
    assert -1 < model.ar[0, 0] < -0.6 and int(model.differences[0]) == 1
    assert int(model.differences[4]) == 1 and not model.ar[4].any()
    assert float(model.share) == share_of_rises(training.windows)
    rises = np.diff(np.log(panel.prices[0, :, ADJUSTED]))[test.windows.targets - 1] > 0
    assert ((model.says(test)[:, 0] > 0.5) == rises).mean() > 0.75
    later = panel.prices.copy()
    later[:, panel.days > training.windows.target_days.max()] *= 2
    other = PriceArima(len(panel.tickers))
    other.fit(with_prices(training, later), held)
    for name, values in model.state_dict().items():
        assert torch.equal(values, other.state_dict()[name]), name


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
    repeated = load(tmp_path / "run")
    assert task.evaluate(repeated, str(data), "test") == [row for row in run.scores if row["split"] == "test"]
    named = {(row["model"], row["metric"]): row for row in run.scores if row["split"] == "test"}
    for model in ("random", "arima"):
        assert named[model, "acc"]["low"] <= named[model, "acc"]["value"] <= named[model, "acc"]["high"]


def test_a_coin_falls_by_seed_ticker_and_day_alone():
    panel = make_panel()
    prepared = prepared_of(panel)
    found = Random(0).says(prepared)
    assert set(np.unique(found)) == {0.0, 1.0} and 0.4 < found.mean() < 0.6
    np.testing.assert_array_equal(Random(0).says(prepared[np.arange(9, 12)]), found[9:12])
    assert Random(0).says(prepared[np.arange(0)]).shape == (0, len(panel.tickers))
    assert 0.4 < (Random(1).says(prepared) == found).mean() < 0.6
    turned = prepared_of(make_panel(tickers=panel.tickers[::-1]))
    shared, here, there = np.intersect1d(prepared.windows.target_days, turned.windows.target_days, return_indices=True)
    assert len(shared) > 50
    np.testing.assert_array_equal(Random(0).says(turned)[there][:, ::-1], found[here])
