"""The next session, and scores on prices that came later."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from quotes import DAYS, TICKERS, WORDS, make_config, make_prices, make_texts, trading_days, write_stocks

from multiway.data.stocks import read_stocks
from multiway.errors import ConfigError, DataError, RunError
from multiway.tasks.stocks import load, start, task
from multiway.tasks.stocks.again import prepared_for, read_again
from multiway.tasks.stocks.prediction import prediction_table
from tolerances import LONG32

EARLY = 80


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stocks")
    write_stocks(folder / "later")
    start(make_config(write_stocks(folder / "data", count=EARLY)), folder / "run")
    return load(folder / "run")


def beside(run, name):
    return str(run.folder.path.parent / name)


def table(run, prices, texts):
    return prediction_table(run, *read_stocks(prices, run.config.read, texts=texts))


def test_one_row_for_every_stock(finished, tmp_path):
    (said,) = task.predict(finished, None, tmp_path / "next.csv", {})
    assert said == f"3 rows written to {tmp_path / 'next.csv'}"
    rows = pd.read_csv(tmp_path / "next.csv", keep_default_na=False)
    assert list(rows) == ["date", "ticker", "p_up", "predicted", "last_close", "last_day", "days", "texts"]
    assert rows["ticker"].tolist() == list(TICKERS)
    assert set(rows["date"]) == {str(np.busday_offset(trading_days(DAYS)[EARLY - 1], 1))}
    prices = make_prices().query("ticker == 'NA' and date <= @last", local_dict={"last": trading_days()[EARLY - 1]})
    row = rows[rows["ticker"] == "NA"].iloc[0]
    assert (row["last_close"], row["last_day"]) == (prices["close"].iloc[-1], str(prices["date"].iloc[-1].date()))
    assert (rows["predicted"] == (rows["p_up"] > 0.5)).all()
    (shown,) = task.predict(finished, None, None, {})
    assert shown.splitlines()[0].startswith("date,ticker,p_up")
    task.predict(finished, None, tmp_path / "next.parquet", {})
    assert len(pd.read_parquet(tmp_path / "next.parquet")) == 3


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
    panel, read = read_stocks(prices, finished.config.read, texts=texts)
    again = prepared_for(finished, panel, read, _samples_of(finished, panel, read))
    row = int(np.flatnonzero(again.samples.days[again.samples.targets] == last)[0])
    batch = again.inputs(np.array([row])).gather(_first())
    logits = finished.model(*(batch[name] for name in ("prices", "price_valid", "dates", "text", "text_valid")))
    np.testing.assert_allclose(logits.softmax(-1)[0, :, 1].detach().numpy(), now["p_up"], rtol=LONG32)


def _samples_of(run, panel, texts):
    from multiway.tasks.stocks.prediction import prepared_within

    return prepared_within(run, panel, texts).samples


def _first():
    import torch

    return torch.tensor([0])


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
        task.predict(finished, str(tmp_path / "prices.csv"), tmp_path / "next.csv", {})
    assert not (tmp_path / "next.csv").exists()


def test_texts_that_are_not_there_are_asked_for(finished, tmp_path):
    make_prices().to_csv(tmp_path / "prices.csv", index=False)
    with pytest.raises(DataError, match=r"the run reads texts, and there are none. Give them \(--texts FILE\)"):
        task.predict(finished, str(tmp_path / "prices.csv"), None, {})
    make_texts(make_prices()).to_csv(tmp_path / "words.csv", index=False)
    (shown,) = task.predict(finished, str(tmp_path / "prices.csv"), None, {"texts": str(tmp_path / "words.csv")})
    assert len(shown.splitlines()) == 4


def test_another_encoder_is_refused(finished):
    other = dataclasses.replace(finished, encoder_digest="0" * 64)
    with pytest.raises(RunError, match=r"were encoded by hashed .000000000000.. Got hashed .*Install that encoder"):
        task.predict(other, None, None, {})


@pytest.mark.parametrize("name", ["next.xlsx", "none/next.csv"])
def test_a_table_that_cannot_be_written_is_refused_first(name, finished, tmp_path):
    with pytest.raises((ConfigError, RunError), match=r"must end in .csv|there is no folder"):
        task.predict(finished, "absent.csv", tmp_path / name, {})


def test_labels_of_the_published_code_say_nothing_of_tomorrow(finished):
    config = finished.config.replace(protocol={"name": "published-code"})
    with pytest.raises(ConfigError, match="published-code"):
        task.predict(dataclasses.replace(finished, config=config), None, None, {})


def test_the_same_data_has_the_same_scores(finished):
    fresh, stored = (task.evaluate([finished], data, "test") for data in (beside(finished, "data"), None))
    pd.testing.assert_frame_equal(pd.DataFrame(fresh), pd.DataFrame(stored), rtol=LONG32)


def test_later_prices_are_scored_from_the_same_day_on(finished):
    """Days that came since the training are added to the test, and no day of the training is scored."""
    first = finished.facts["splits"]["test"]["first"]
    rows = {row["model"]: row for row in task.evaluate([finished], beside(finished, "later"), "test")}
    prices = make_prices()
    expected = prices[prices["date"] >= first]
    assert rows["multiway"]["count"] == len(expected) > finished.facts["splits"]["test"]["count"]
    assert set(rows) == {"multiway", "majority", "calendar"}
    assert rows["multiway"]["mcc"] > 0.5


def test_prices_that_end_too_early_cannot_be_scored(finished, tmp_path):
    data = write_stocks(tmp_path / "early", count=50)
    with pytest.raises(DataError, match="every split needs days with a movement to label"):
        task.evaluate([finished], str(data), "test")


def test_the_data_taken_up_again_is_that_of_the_training(finished):
    again = read_again(finished)
    assert again.scale is finished.scale
    assert again.digest == finished.folder.verify()["data_sha256"]
    moved = dataclasses.replace(finished, config=finished.config.replace(data=None))
    with pytest.raises(ConfigError, match="fitted on tables in memory, which are gone"):
        read_again(moved)
