"""A run's backtest trades what could be traded, and nothing that only hindsight would leave out."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from command import assert_one_line, call
from multiway import workflows
from multiway.errors import ConfigError, DataError
from multiway.tasks import lifecycle
from multiway.tasks.scans.task import CLASSES as volumes
from multiway_papers.stocks.answers import reload
from multiway_papers.stocks.backtest import (
    WORDS,
    backtest_reloaded,
    backtest_run,
    backtest_stocks,
    evening_texts,
    tradable,
    tradable_predictions,
    walk_forward,
)
from multiway_papers.stocks.panel import FIELDS
from multiway_papers.stocks.task import TASK as task
from papers.stocks.quotes import make_config, write_stocks


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Only large movements are labelled."""
    folder = tmp_path_factory.mktemp("traded")
    write_stocks(folder / "data", count=80)
    write_stocks(folder / "later")
    protocol = {"look_back": 3, "down": 0.02, "up": 0.02}
    return lifecycle.start(
        task, make_config(folder / "data", protocol=protocol, training={"epochs": 2}), folder / "run"
    )


def test_small_movements_are_traded_too(run):
    labelled = run.tables["predictions"].query("model == 'network' and split == 'test'")
    traded = tradable_predictions(run)
    assert (labelled["movement"].abs() >= 0.02 - 1e-9).all() and (traded["movement"].abs() < 0.02).mean() > 0.3
    assert traded["date"].min() <= labelled["date"].min()
    both = labelled.merge(traded, on=["date", "ticker"], suffixes=("", "_traded"))
    assert len(both) == len(labelled) < len(traded)
    np.testing.assert_allclose(both["p_up"], both["p_up_traded"], rtol=1e-5)
    np.testing.assert_array_equal(both["movement"], both["movement_traded"])


def test_every_ticker_with_a_price_before_and_a_movement_is_tradable(run):
    samples = reload(run).part("test").inputs.windows
    chosen = tradable(samples)
    for sample in range(len(samples)):
        for stock in range(len(samples.tickers)):
            shown = [samples.known[day, stock] for day in samples.slots[sample] if day >= 0]
            assert chosen[sample, stock] == (any(shown) and np.isfinite(samples.returns[sample, stock]))


def test_where_every_slot_must_have_a_text_only_those_are_traded(run):
    samples = reload(run).part("test").inputs.windows
    complete = tradable(samples, complete=True)
    assert 0 < complete.sum() < tradable(samples).sum()
    assert (samples.text_rows[complete][samples.slot_valid[complete]] > 0).all()


def test_a_table_of_sectors_parts_the_tickers(run, tmp_path):
    tickers = sorted(tradable_predictions(run)["ticker"].unique())
    sectors = {ticker: "ab"[place % 2] for place, ticker in enumerate(tickers)}
    pd.DataFrame({"Symbol": sectors.keys(), "GICS Sector": sectors.values()}).to_csv(tmp_path / "parts.csv")
    answer = backtest_run(run, None, None, {"neutral": str(tmp_path / "parts.csv")})
    assert answer.rows() == backtest_stocks(tradable_predictions(run), sectors=sectors).table()
    whole = backtest_run(run, None, None, {"neutral": "market"})
    assert whole.rows() == backtest_stocks(tradable_predictions(run), sectors=dict.fromkeys(tickers, "all")).table()
    pd.DataFrame({"ticker": tickers, "city": "Bern"}).to_csv(tmp_path / "none.csv", index=False)
    with pytest.raises(DataError, match=r"none.csv: a table of sectors has the columns ticker and sector. Got ticker"):
        backtest_run(run, None, None, {"neutral": str(tmp_path / "none.csv")})


def test_a_backtest_is_a_table_and_says_what_it_supposes(run, tmp_path):
    answer = backtest_run(run, None, tmp_path / "days.csv", {"top": 0.4, "cost_bps": 5.0})
    rows, notes = answer.rows(), answer.notes
    assert rows == backtest_stocks(tradable_predictions(run), top=0.4, cost_bps=5.0).table()
    assert any("costs 5 basis points" in note for note in notes) and any("highest 40%" in note for note in notes)
    assert notes[-1] == WORDS == "Not investment advice."
    days = pd.read_csv(tmp_path / "days.csv")
    assert len(days) == rows[0]["days"] and days["cumulative"].iloc[-1] == pytest.approx(rows[0]["return_net"])


def test_the_open_is_that_of_the_prices(run):
    table, panel = tradable_predictions(run), reload(run).raw.inputs.panel
    days = np.searchsorted(panel.days, pd.to_datetime(table["date"]).to_numpy().astype("datetime64[D]"))
    stocks = [panel.tickers.index(ticker) for ticker in table["ticker"]]
    opened, closed = (panel.prices[stocks, days, FIELDS.index(name)] for name in ("open", "close"))
    np.testing.assert_allclose(table["intraday"], closed / opened - 1)
    answer = backtest_run(run, None, None, {"entry": "open"})
    assert answer.rows() == backtest_stocks(table, entry="open").table() != backtest_run(run, None, None, {}).rows()
    assert backtest_stocks(table, entry="open").ranking() == answer.notes[1]


def test_the_report_trades_the_same(run):
    assert backtest_reloaded(run, reload(run)).table() == backtest_run(run, None, None, {}).rows()


def test_later_prices_are_traded_from_the_same_first_day(run):
    later = str(run.folder.path.parent / "later")
    before, after = tradable_predictions(run), tradable_predictions(run, later)
    assert after["date"].min() == before["date"].min() and after["date"].max() > before["date"].max()


def test_labels_that_are_no_movements_cannot_be_traded(run):
    published = dataclasses.replace(run, config=run.config.replace(protocol={"name": "published-code"}, split={}))
    with pytest.raises(ConfigError, match="published-code are no movements of prices, so there is nothing to trade"):
        backtest_run(published, None, None, {})
    assert backtest_reloaded(published, None) is None


def test_the_ending_of_the_file_is_looked_at_first(run, tmp_path):
    with pytest.raises(ConfigError, match=r"must end in .csv"):
        backtest_run(run, None, tmp_path / "days.txt", {})


def test_a_walk_forward_trains_on_the_days_before_each_block_alone(run, tmp_path):
    days = [str(day.date()) for day in sorted(tradable_predictions(run)["date"].unique())]
    found = walk_forward(run, None, 8)
    assert [str(day.date()) for day in sorted(found["date"].unique())] == days and len(days) > 16
    every_day = run.config.protocol.replace(down=0.0, up=0.0, borders=run.state.borders)
    parts = task.prepare(run.config.replace(protocol=every_day), run.config.data, run.state)
    targets, held = parts.raw.inputs.target_days, len(parts.rows("validation"))
    second = int(np.searchsorted(targets, np.datetime64(days[8])))
    own = make_config(
        run.config.data,
        training={"epochs": 2},
        protocol={"look_back": 3, "down": 0.02, "up": 0.02, "borders": (str(targets[second - held]), days[8])},
        answer=run.answer.name if run.answer.name in run.models else "auto",
    )
    anew = tradable_predictions(lifecycle.fit_in_memory(task, own, run.config.data))
    block = found[found["date"].between(days[8], days[15])].reset_index(drop=True)
    expected = anew[anew["date"].between(days[8], days[15])].reset_index(drop=True)
    pd.testing.assert_frame_equal(block, expected, rtol=1e-5)
    kept = found[found["date"] < days[16]].reset_index(drop=True)
    prices = pd.read_csv(f"{run.config.data}/prices.csv", keep_default_na=False)
    changed = prices.assign(close=prices["close"].where(prices["date"] < days[16], prices["close"] * 1.01))
    later = write_stocks(tmp_path / "data", count=80)
    changed.assign(adj_close=changed["close"]).to_csv(later / "prices.csv", index=False)
    plain = prices.assign(adj_close=prices["close"])
    base = write_stocks(tmp_path / "base", count=80)
    plain.to_csv(base / "prices.csv", index=False)
    before, after = (walk_forward(run, str(folder), 8) for folder in (base, later))
    is_before = before["date"] < days[16]
    pd.testing.assert_frame_equal(before[is_before], after[after["date"] < days[16]], rtol=1e-5)
    assert 0 < is_before.sum() == len(kept) and not np.allclose(before["p_up"], after["p_up"])


def test_a_walk_forward_needs_days_of_its_own(run):
    published = dataclasses.replace(
        run, config=run.config.replace(protocol={"name": "stocknet"}, split={}), state=run.state.replace(encoder=None)
    )
    with pytest.raises(ConfigError, match=r"refit needs the protocol chronological\. Got a run of stocknet"):
        backtest_run(published, None, None, {"refit": 8})


def test_the_workflow_finds_the_task(run):
    found = workflows.backtest(run.folder.path, options={"top": 0.4})
    assert found.rows() == backtest_run(lifecycle.load(run.folder.path), None, None, {"top": 0.4}).rows()


def test_a_task_without_past_moments_has_no_backtest(run):
    with pytest.raises(ConfigError, match="a run of stocks has no past moments to start from"):
        volumes.backtest(run, None, None, {})


def test_texts_of_the_evening_before_are_owned_up_to(run):
    protocol = type(run.config.protocol)(name="stocknet")
    by_day = dataclasses.replace(run, config=run.config.replace(protocol=protocol, split={}))
    assert "evening before are read too" in evening_texts(by_day)[0]
    without_texts = dataclasses.replace(by_day, state=by_day.state.replace(encoder=None))
    assert evening_texts(run) == [] == evening_texts(without_texts)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--top", "0.7"], "the share at either end must be above 0 and at most 0.5. Got top=0.7"),
        (["--cost-bps", "-3"], "the cost must be from 0 to below 10000 basis points. Got cost_bps=-3"),
        (["--neutral", "nowhere.csv"], "nowhere.csv does not exist"),
        (["--cutoffs", "3"], "--cutoffs is for forecast and grids, not for stocks"),
        (["--data", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_a_backtest_that_cannot_be_is_one_line(run, words, text, monkeypatch, capsys):
    assert_one_line(call(["backtest", str(run.folder.path), *words], monkeypatch, capsys), text)


def test_the_command_prints_the_table_and_the_words(run, monkeypatch, capsys):
    code, out, _ = call(["backtest", str(run.folder.path), "--top", "0.4"], monkeypatch, capsys)
    answer, *lines = out.splitlines()
    assert code == 0 and answer.startswith("Answer: ")
    assert lines[0].startswith("portfolio") and lines[1].startswith("long-short")
    assert lines[-1] == "Not investment advice."
