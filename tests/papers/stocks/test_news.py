"""News that tell the next day are found, by the network and by bags of words, and are scored where they stand."""

import numpy as np
import pandas as pd
import pytest

from multiway.metrics import classes
from multiway.tasks import lifecycle
from multiway_papers.stocks.config import StockConfig
from multiway_papers.stocks.network import labelled_rows, of_rises
from multiway_papers.stocks.source import read_stocks
from multiway_papers.stocks.task import TASK as task
from papers.stocks.planted_market import planted_market
from papers.stocks.quotes import make_config, make_prices, make_texts

BASELINES = ("majority", "tfidf", "tfidf_ticker")


def fitted(prices, texts, **settings):
    config = StockConfig.parse(
        {"text": {"encoder": "hashed", "hashed_dim": 128}, "draws": 0, "baselines": BASELINES, **settings}
    )
    return lifecycle.fit_in_memory(task, config, read_stocks(prices, config.read, texts=texts))


@pytest.fixture(scope="module")
def planted():
    return fitted(*planted_market(stocks=6, days=300, right=0.75))


def score_of(run, model, metric):
    (value,) = (
        row["value"] for row in run.scores if (row["model"], row["metric"], row["split"]) == (model, metric, "test")
    )
    return value


def with_texts(run, rows):
    """Whether a text stands in the last slot of each row, one by one."""
    samples = run.prepared.raw.inputs
    sample_of = {str(day): sample for sample, day in enumerate(samples.target_days)}
    return np.array([samples.text_rows[sample_of[str(day)[:10]], samples.tickers.index(ticker), -1] > 0
                     for day, ticker in zip(rows["date"], rows["ticker"], strict=True)])  # fmt: skip


@pytest.mark.slow
def test_the_usual_network_finds_a_planted_signal(planted):
    assert score_of(planted, "network", "acc_texts") >= 0.66
    assert score_of(planted, "majority", "acc_texts") < 0.56


@pytest.mark.slow
def test_the_answer_finds_it(planted):
    assert planted.answer.name != "majority" and score_of(planted, planted.answer.name, "acc_texts") >= 0.66


@pytest.mark.slow
def test_bags_of_words_find_it_too(planted):
    market, tickers = (score_of(planted, name, "acc_texts") for name in BASELINES[1:])
    assert market > 0.7 and 0.6 < tickers < market


@pytest.mark.slow
def test_without_a_text_a_bag_of_words_says_the_share_of_rises(planted):
    labels = planted.prepared.part("train").inputs.windows.labels
    share = labels[labels >= 0].mean()
    for name in BASELINES[1:]:
        rows = labelled_rows(planted, name)
        said = with_texts(planted, rows)
        assert (rows["p_up"][~said] == share).all() and (rows["p_up"][said] != share).all()


@pytest.mark.slow
def test_scores_with_texts_are_of_those_movements_alone(planted):
    for model in planted.models:
        rows = labelled_rows(planted, model)
        said = rows[with_texts(planted, rows)]
        for name, metric in (("acc", classes.accuracy), ("mcc", classes.mcc)):
            expected = of_rises(metric, said["label"].to_numpy(), said["p_up"].to_numpy())
            assert score_of(planted, model, f"{name}_texts") == expected


def test_prices_alone_have_no_words_and_no_scores_with_texts():
    run = fitted(make_prices(), None, **make_config().plain() | {"baselines": ["majority", "tfidf"], "data": None})
    assert list(run.models) == ["network", "majority"]
    assert score_of(run, "network", "acc_texts") is None and score_of(run, "network", "mcc_texts") is None


def test_a_ticker_without_texts_in_training_has_no_bag_of_its_own():
    prices = make_prices()
    texts = make_texts(prices)
    settings = {**make_config().plain(), "baselines": ["majority", "tfidf_ticker"], "data": None}
    run = fitted(prices, texts[texts["ticker"] != "NA"], **settings)
    rows = labelled_rows(run, "tfidf_ticker")
    assert rows[rows["ticker"] == "NA"]["p_up"].nunique() == 1 and rows[rows["ticker"] == "ACME"]["p_up"].nunique() > 1
    assert pd.api.types.is_float_dtype(rows["p_up"])
