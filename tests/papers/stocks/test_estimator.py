"""`StockMovementClassifier` in scikit-learn's manners."""

import numpy as np
import pandas as pd
import pytest

import multiway
from multiway.errors import ConfigError, DataError, NotFittedError, RunError
from multiway_papers.stocks import StockMovementClassifier
from multiway_papers.stocks.task import TASK as task
from papers.stocks.quotes import NETWORK, make_prices, make_texts, trading_days, write_stocks

SETTINGS = {
    "model": NETWORK,
    "text": {"hashed_dim": 16},
    "protocol": {"look_back": 3},
    "training": {"batch_size": 16, "warmup_steps": 2, "learning_rate": 1e-2, "patience": 0},
    "draws": 10,
}


def make_classifier(**changes):
    usual = {"epochs": 15, "validation": 0.2, "test": 0.25, "encoder": "hashed", "baselines": ("majority",)}
    return StockMovementClassifier(**{**usual, "settings": SETTINGS, **changes})


@pytest.fixture(scope="module")
def fitted():
    prices = make_prices()
    early = prices[prices["date"] < trading_days()[80]]
    return make_classifier().fit(early, make_texts(early))


def test_it_is_found_in_the_package():
    assert multiway.StockMovementClassifier is StockMovementClassifier


def test_the_next_session_of_every_ticker(fitted):
    found = fitted.predict_proba()
    assert fitted.tickers_.tolist() == ["ACME", "NA", "ZED"]
    np.testing.assert_array_equal(found.sum(1), 1)
    np.testing.assert_array_equal(fitted.predict(), found[:, 1] > 0.5)
    frame = fitted.forecast()
    assert frame["ticker"].tolist() == fitted.tickers_.tolist()
    later = fitted.forecast(make_prices(), make_texts(make_prices()))
    assert (later["date"] > frame["date"]).all()


def test_a_ticker_that_has_ended_has_no_forecast(fitted):
    prices = make_prices()
    ended = prices[(prices["ticker"] != "NA") | (prices["date"] < trading_days()[60])]
    assert fitted.forecast(ended, make_texts(prices))["ticker"].tolist() == ["ACME", "ZED"]
    assert fitted.predict(ended, make_texts(prices))[1] == -1
    shares = fitted.predict_proba(ended, make_texts(prices))
    assert np.isnan(shares[1]).all() and np.isfinite(shares[[0, 2]]).all()


def test_scores_are_of_the_test_days(fitted):
    assert fitted.score() == fitted.evaluate().query("model == 'network' and metric == 'acc'")["value"].item() > 0.6
    later = fitted.evaluate(make_prices(), make_texts(make_prices()))
    counts = [frame.query("model == 'network' and metric == 'count'")["value"].item() for frame in (
        fitted.evaluate(), later)]  # fmt: skip
    assert counts[0] < counts[1]
    assert fitted.score(make_prices(), make_texts(make_prices())) == (
        later.query("model == 'network' and metric == 'acc'")["value"].item()
    )


def test_quantiles_are_scored_by_their_error():
    settings = {**SETTINGS, "target": "quantiles"}
    fitted = make_classifier(epochs=1, settings=settings).fit(make_prices())
    assert -0.1 < fitted.score() < 0
    assert {"q0.1", "q0.5", "q0.9"} <= set(fitted.forecast())


def test_it_is_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    loaded = StockMovementClassifier.load(tmp_path / "run")
    prices, texts = make_prices(), make_texts(make_prices())
    pd.testing.assert_frame_equal(loaded.forecast(prices, texts), fitted.forecast(prices, texts))
    assert loaded.config() == fitted.config() == fitted.run_.config
    pd.testing.assert_frame_equal(loaded.scores_, fitted.scores_)
    assert len(task.answer(loaded.run_, str(write_stocks(tmp_path / "data")), None, {}).rows()) == 3
    with pytest.raises(ConfigError, match=r"loaded and holds no prices. Give them"):
        loaded.forecast()
    with pytest.raises(RunError, match=r"was loaded from .*run. Copy that folder"):
        loaded.save(tmp_path / "other")
    with pytest.raises(RunError, match="exists already"):
        fitted.save(tmp_path / "run")
    with pytest.raises(ConfigError, match="tables in memory"):
        task.answer(loaded.run_, None, None, {})


def test_a_run_of_another_task_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"VolumeClassifier.load: .*run is a run of stocks, not of volumes"):
        multiway.VolumeClassifier.load(tmp_path / "run")


def test_a_path_serves_as_well_as_frames(tmp_path):
    data = write_stocks(tmp_path / "data", count=80)
    frames = [pd.read_csv(data / name, keep_default_na=False) for name in ("prices.csv", "texts.csv")]
    one = make_classifier(epochs=2).fit(data / "prices.csv", data / "texts.csv")
    other = make_classifier(epochs=2).fit(*frames)
    np.testing.assert_array_equal(one.predict_proba(), other.predict_proba())


def test_parameters_are_those_of_the_constructor():
    classifier = make_classifier(seed=3)
    assert StockMovementClassifier(**classifier.get_params()).config() == classifier.config()
    assert classifier.set_params(epochs=4).config().training.epochs == 4
    assert "seed=3" in repr(classifier)
    assert classifier.config().text.encoder == "hashed"


def test_what_cannot_be_answered_is_said_in_one_line(fitted):
    with pytest.raises(NotFittedError, match=r"StockMovementClassifier: call fit before this"):
        make_classifier().predict()
    with pytest.raises(ConfigError, match=r"texts come with their prices. Give both"):
        fitted.predict(texts=make_texts(make_prices()))
    with pytest.raises(DataError, match="Got 2: ZED missing"):
        fitted.predict(make_prices(tickers=("ACME", "NA")), make_texts(make_prices(tickers=("ACME", "NA"))))
    with pytest.raises(ConfigError, match="look_bac is not a known field"):
        make_classifier(settings={"protocol": {"look_bac": 3}}).fit(make_prices())
