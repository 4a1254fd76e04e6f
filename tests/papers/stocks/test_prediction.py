"""The next session, and scores on prices that came later."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.errors import ConfigError, DataError, RunError
from multiway.tasks import lifecycle
from multiway.tasks.run import digest_of
from multiway.tasks.scores import score_table
from multiway_papers.stocks.answers import prediction_table, reload
from multiway_papers.stocks.panel import FIELDS
from multiway_papers.stocks.source import read_stocks
from multiway_papers.stocks.task import TASK as task
from papers.stocks.quotes import (
    DAYS,
    TICKERS,
    WORDS,
    make_config,
    make_prices,
    make_texts,
    scores_on,
    trading_days,
    write_stocks,
)
from tolerances import LONG32

EARLY = 80


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stocks")
    write_stocks(folder / "later")
    lifecycle.start(task, make_config(write_stocks(folder / "data", count=EARLY)), folder / "run")
    return lifecycle.load(folder / "run")


def path_of(run, name):
    return str(run.folder.path.parent / name)


def table(run, prices, texts):
    return prediction_table(run, read_stocks(prices, run.config.read, texts=texts))


@pytest.mark.parametrize("column", ["high", "low", "close", "adj_close"])
def test_prices_without_a_column_that_training_read_are_refused(finished, column):
    prices = make_prices()
    with pytest.raises(DataError, match=r"trained on the prices high, low, close, adj_close, and needs those\. Got "):
        table(finished, prices.drop(columns=column), make_texts(prices))


def test_prices_without_a_column_that_nothing_reads_are_taken(finished):
    prices = make_prices()
    usual, without = (table(finished, frame, make_texts(prices)) for frame in (prices, prices.drop(columns="open")))
    pd.testing.assert_frame_equal(usual, without)


def test_prices_with_a_column_that_training_did_not_read_are_refused(tmp_path):
    prices = make_prices()
    config = make_config(None, model={"modality": "price"})
    run = lifecycle.fit_in_memory(task, config, read_stocks(prices.drop(columns="high"), config.read))
    with pytest.raises(DataError, match=r"needs those\. Got high, low, close, adj_close\. Give the same columns"):
        table(run, prices, None)


def test_one_row_for_every_stock(finished, tmp_path):
    said, remark = task.answer(finished, None, tmp_path / "next.csv", {}).lines()
    assert said == f"3 rows written to {tmp_path / 'next.csv'}"
    assert "is the next weekday, which may be a holiday of the exchange" in remark
    rows = pd.read_csv(tmp_path / "next.csv", keep_default_na=False)
    assert list(rows) == ["date", "ticker", "p_up", "predicted", "last_close", "last_day", "days", "texts"]
    assert rows["ticker"].tolist() == list(TICKERS)
    assert set(rows["date"]) == {str(np.busday_offset(trading_days(DAYS)[EARLY - 1], 1))}
    prices = make_prices().query("ticker == 'NA' and date <= @last", local_dict={"last": trading_days()[EARLY - 1]})
    row = rows[rows["ticker"] == "NA"].iloc[0]
    assert (row["last_close"], row["last_day"]) == (prices["close"].iloc[-1], str(prices["date"].iloc[-1].date()))
    assert (rows["predicted"] == (rows["p_up"] > 0.5)).all()
    shown, _ = task.answer(finished, None, None, {}).lines()
    assert shown.splitlines()[0].startswith("date,ticker,p_up")
    task.answer(finished, None, tmp_path / "next.parquet", {})
    assert len(pd.read_parquet(tmp_path / "next.parquet")) == 3


def test_a_ticker_that_has_ended_is_listed_and_gets_no_forecast(finished, tmp_path):
    folder = tmp_path / "ended"
    write_stocks(folder)
    prices = make_prices()
    last = str(trading_days()[DAYS - 30])
    prices[(prices["ticker"] != "NA") | (prices["date"] <= last)].to_csv(folder / "prices.csv", index=False)
    answer = task.answer(finished, str(folder), None, {})
    assert answer.frame["ticker"].tolist() == ["ACME", "ZED"]
    assert answer.notes[0] == "no forecast for NA: no price in the last 20 trading days"
    recent = str(trading_days()[DAYS - 15])
    prices[(prices["ticker"] != "NA") | (prices["date"] <= recent)].to_csv(folder / "prices.csv", index=False)
    assert task.answer(finished, str(folder), None, {}).frame["ticker"].tolist() == list(TICKERS)


def test_texts_of_the_last_day_decide(finished):
    prices = make_prices()
    texts, last = make_texts(prices), str(trading_days()[-1])
    found = {}
    for rises in (True, False):
        told = pd.DataFrame([(ticker, last, WORDS[rises]) for ticker in TICKERS], columns=["ticker", "date", "text"])
        found[rises] = table(finished, prices, pd.concat([texts, told]))
    assert (found[True]["p_up"] > 0.5).all() and (found[False]["p_up"] < 0.5).all()
    assert (found[True]["texts"] > 0).all()


def test_a_row_does_not_depend_on_the_order_of_the_file(finished):
    prices, texts = make_prices(), make_texts(make_prices())
    one = table(finished, prices, texts)
    order = np.random.default_rng(0).permutation(len(prices))
    other = table(finished, prices.iloc[order].reset_index(drop=True), texts.iloc[::-1].reset_index(drop=True))
    pd.testing.assert_frame_equal(one, other, rtol=LONG32)


def test_what_is_predicted_later_is_what_is_predicted_now(finished):
    """The sample of a past day is that of `predict` on the day before it."""
    last = trading_days()[EARLY]
    prices = make_prices()
    texts = make_texts(prices)
    early = prices[prices["date"] < last]
    now = table(finished, early, texts[texts["date"] < str(last)])
    inputs = task.prepare(finished.config, (prices, texts), finished.state).encoded.inputs
    batch = inputs.batch(torch.from_numpy(np.flatnonzero(inputs.windows.target_days == last)))
    logits = finished.model(*(batch[name] for name in ("prices", "price_valid", "dates", "text", "text_valid")))
    np.testing.assert_allclose(logits.softmax(-1)[0, :, 1].detach().numpy(), now["p_up"], rtol=LONG32)


def test_levels_of_later_prices_are_scaled_by_the_training_days(tmp_path):
    data = write_stocks(tmp_path / "data", count=EARLY)
    protocol = {"look_back": 3, "prices": "levels"}
    run = lifecycle.start(task, make_config(data, protocol=protocol, training={"epochs": 1}), tmp_path / "run")
    repeated = lifecycle.load(tmp_path / "run")
    assert task.evaluate(repeated, str(data), "test") == [row for row in run.scores if row["split"] == "test"]
    later = task.prepare(repeated.config, write_stocks(tmp_path / "later"), repeated.state)
    assert later.state.scale.plain() == run.state.scale.plain()
    test = later.part("test").inputs
    panel, batch, day = test.windows.panel, test.batch(torch.tensor([0])), test.windows.target_days[0]
    place = int(np.flatnonzero(panel.traded[0] & (panel.days < day))[-1])
    levels = panel.prices[0, place, [FIELDS.index(name) for name in ("adj_close", "high", "low")]]
    expected = (levels - run.state.scale.centre) / run.state.scale.spread
    np.testing.assert_allclose(batch["prices"][0, 0, -1], expected, rtol=LONG32)


@pytest.mark.parametrize(
    ("tickers", "message"),
    [
        (("ACME", "NA"), r"trained on 3 stocks, and needs those. Got 2: ZED missing. Give prices of the same"),
        (("ACME", "BETA", "NA", "ZED"), r"Got 4: BETA unknown"),
        (("ACME", "BETA", "NA"), r"Got 3: ZED missing, BETA unknown"),
    ],
)
def test_other_stocks_are_refused(tickers, message, finished, tmp_path):
    prices = make_prices(tickers=tickers)
    prices.to_csv(tmp_path / "prices.csv", index=False)
    with pytest.raises(DataError, match=message):
        task.answer(finished, str(tmp_path / "prices.csv"), tmp_path / "next.csv", {})
    assert not (tmp_path / "next.csv").exists()


def test_texts_that_are_not_there_are_called_for(finished, tmp_path):
    make_prices().to_csv(tmp_path / "prices.csv", index=False)
    with pytest.raises(DataError, match=r"the run reads texts, and there are none. Give them \(read\.texts=FILE\)"):
        task.answer(finished, str(tmp_path / "prices.csv"), None, {})
    make_texts(make_prices()).to_csv(tmp_path / "words.csv", index=False)
    answer = task.answer(finished, str(tmp_path / "prices.csv"), None, {"texts": str(tmp_path / "words.csv")})
    assert len(answer.rows()) == 3


def test_another_encoder_is_refused(finished):
    other = dataclasses.replace(finished, state=finished.state.replace(encoder_digest="0" * 64))
    with pytest.raises(RunError, match=r"were encoded by hashed .000000000000.. Got hashed .*Install that encoder"):
        task.answer(other, None, None, {})


@pytest.mark.parametrize("name", ["next.ods", "none/next.csv"])
def test_a_table_that_cannot_be_written_is_refused_first(name, finished, tmp_path):
    with pytest.raises((ConfigError, RunError), match=r"must end in .csv|there is no folder"):
        task.answer(finished, "absent.csv", tmp_path / name, {})


def test_labels_of_the_published_code_say_nothing_of_tomorrow(finished):
    config = finished.config.replace(protocol={"name": "published-code"}, split={})
    with pytest.raises(ConfigError, match="published-code"):
        task.answer(dataclasses.replace(finished, config=config), None, None, {})


def test_the_same_data_has_the_same_scores(finished):
    fresh, stored = scores_on(finished, path_of(finished, "data")), score_table([finished], "test")
    pd.testing.assert_frame_equal(pd.DataFrame(fresh), pd.DataFrame(stored), rtol=LONG32)


def test_later_prices_are_scored_from_the_same_day_on(finished):
    """Days that came since the training are added to the test, and no day of the training is scored."""
    first = finished.facts["splits"]["test"]["first"]
    rows = {row["model"]: row for row in scores_on(finished, path_of(finished, "later"))}
    prices = make_prices()
    expected = prices[prices["date"] >= first]
    assert rows["network"]["count"] == len(expected) > finished.facts["splits"]["test"]["count"]
    assert set(rows) == {"network", "majority", "calendar"}
    assert rows["network"]["mcc"] > 0.5


def test_prices_that_end_too_early_cannot_be_scored(finished, tmp_path):
    data = write_stocks(tmp_path / "early", count=50)
    with pytest.raises(DataError, match="every split needs days with a movement to label"):
        task.evaluate(finished, str(data), "test")


def test_the_reloaded_data_is_that_of_the_training(finished):
    reloaded = reload(finished)
    assert (reloaded.state.tickers, reloaded.state.sizes) == (finished.state.tickers, finished.state.sizes)
    assert digest_of(reloaded.content()) == finished.folder.verify()["data_sha256"]
    moved = dataclasses.replace(finished, config=finished.config.replace(data=None))
    with pytest.raises(ConfigError, match="fitted on what was in memory, which is gone"):
        reload(moved)
