"""StockNet itself: the counts that its authors' definition gives, and what the published labels ask in truth."""

from collections import Counter

import numpy as np
import pytest

from multiway.data.samples import SPLITS
from multiway.metrics import classes
from multiway_papers.protocols.stock_hot_code import CALENDAR, on_calendar
from multiway_papers.stocks.network import of_rises
from multiway_papers.stocks.options import StockOptions
from multiway_papers.stocks.panel import FIELDS, weekdays
from multiway_papers.stocks.protocols import StockProtocol
from multiway_papers.stocks.samples import tomorrow
from multiway_papers.stocks.source import read_stocks
from papers.stocks.stock_panels import build_samples, share_of_rises
from tolerances import ROUNDING32


@pytest.fixture(scope="module")
def stocknet(real_data):
    if not (real_data / "stocks").is_dir():
        pytest.skip("stocks absent from the benchmark data")
    return read_stocks(real_data / "stocks", StockOptions())


def test_every_label_outside_the_dead_zone(stocknet):
    samples = build_samples(*stocknet, StockProtocol(name="stocknet"))
    assert samples.labelled() == {"train": 20345, "validation": 2555, "test": 3720}
    assert {split: round(share_of_rises(samples, split), 4) for split in SPLITS} == {
        "train": 0.5073, "validation": 0.4458, "test": 0.5129,
    }  # fmt: skip


def test_the_dates_split_76_to_10_to_14(stocknet):
    counts = build_samples(*stocknet, StockProtocol(name="stocknet")).labelled()
    assert [round(100 * count / sum(counts.values())) for count in counts.values()] == [76, 10, 14]


def test_every_slot_with_a_text_and_a_price(stocknet):
    samples = build_samples(*stocknet, StockProtocol(name="stocknet", complete=True))
    assert samples.labelled() == {"train": 4987, "validation": 656, "test": 1008}
    assert round(share_of_rises(samples, "test"), 4) == 0.5744
    labelled = samples.labels >= 0
    full = samples.price_valid & (samples.text_rows > 0)
    assert (full | ~samples.slot_valid)[labelled].all()


def test_the_papers_words_of_its_samples(real_data):
    """Five trading days with a price and a text on each, at most -0.5 % or at least 0.55 %, 2014 and 2015."""
    if not (real_data / "stocks").is_dir():
        pytest.skip("stocks absent from the benchmark data")
    panel, texts = read_stocks(real_data / "stocks", StockOptions(end="2015-12-31"))
    protocol = StockProtocol(
        complete=True, look_back=5, down=0.004999, up=0.0055, borders=("2015-08-01", "2015-10-01"), prices="levels"
    )
    samples = build_samples(panel, texts, protocol)
    assert samples.labelled() == {"train": 3950, "validation": 512, "test": 865}
    labelled = samples.labels >= 0
    assert samples.slot_valid[labelled].all() and (samples.text_rows[labelled] > 0).all()
    assert set(np.where(samples.returns[labelled] > 0, 1, 0) - samples.labels[labelled]) == {0}
    last = np.searchsorted(panel.days, samples.target_days) - 1
    sample, stock = np.argwhere(labelled)[100]
    np.testing.assert_allclose(
        samples.features[samples.targets[sample], stock],
        panel.prices[stock, last[sample], [FIELDS.index(name) for name in ("adj_close", "high", "low")]],
        rtol=ROUNDING32,
    )


def test_the_first_feature_is_stocknets_movement_of_the_day_before(stocknet):
    samples = build_samples(*stocknet, StockProtocol(name="stocknet"))
    last = samples.features[samples.targets][..., 0]
    known = samples.known[samples.targets] & np.isfinite(samples.previous)
    np.testing.assert_allclose(last[known], samples.previous[known], rtol=0, atol=2e-6)  # both in 6 digits


def test_chronological_windows_ask_about_every_movement(stocknet):
    panel, texts = stocknet
    samples = build_samples(panel, texts, StockProtocol())
    assert (samples.labels >= 0).sum() == np.isfinite(panel.movement[:, 2:]).sum()
    ahead = tomorrow(panel, texts, StockProtocol())
    assert str(ahead.days[ahead.targets[0]]) == "2016-02-01"
    assert ahead.known[-1].all()


@pytest.mark.parametrize(
    "literal, count, accuracy, correlation", [(False, 2956, 0.9868, 0.9695), (True, 4021, 0.9831, 0.9667)]
)
def test_whether_the_next_day_trades_answers_the_published_labels(stocknet, literal, count, accuracy, correlation):
    """The rule knows the calendar and nothing else; on pairs of trading days the labels never say what happened."""
    samples = build_samples(*stocknet, StockProtocol(name="published-code", literal=literal))
    rows = samples.splits["test"]
    labelled = samples.labels[rows] >= 0
    labels, rule = samples.labels[rows][labelled], ~samples.traded[samples.targets[rows]][labelled]
    assert len(labels) == count
    assert of_rises(classes.accuracy, labels, rule) == pytest.approx(accuracy, abs=0.003)
    assert of_rises(classes.mcc, labels, rule) == pytest.approx(correlation, abs=0.003)
    returns = samples.returns[rows][labelled]
    pairs = np.isfinite(returns)
    assert not ((returns[pairs] > 0) == (labels[pairs] == 1)).any()
    if not literal:
        assert round(1 - pairs.mean(), 2) == 0.60


def test_one_stock_sets_the_scale_of_the_published_prices(stocknet):
    """The mean lies above every other stock, so a rising price makes the ratio of z-scores fall."""
    panel, _ = stocknet
    prices, traded = on_calendar(panel)
    early, highest = CALENDAR < np.datetime64("2015-08-01"), panel.tickers.index("BRK-A")
    closes = prices[early, :, 0]
    mean, deviation, median = closes.mean(), closes.std(ddof=1), np.median(closes[traded[early]])
    assert (round(mean), round(deviation), round(median)) == (1672, 18099, 63)
    assert round(1 - traded[early].mean(), 2) == 0.32
    assert round(closes[traded[early, highest], highest].mean(), -3) == 203_000
    assert np.delete(prices[..., 0], highest, axis=1).max() < mean
    assert round(0.0055 * (mean - median)) == 9  # dollars that the median price falls by for a "rise"


def published_labels(stocknet, split):
    """Labels of one split with, for the last and the next day of each, whether it traded and its weekday."""
    samples = build_samples(*stocknet, StockProtocol(name="published-code"))
    rows = samples.splits[split]
    labelled = samples.labels[rows] >= 0
    days = (samples.slots[rows, -1], samples.targets[rows])
    traded = [samples.traded[each][labelled] for each in days]
    on = [np.broadcast_to(weekdays(samples.days[each])[:, None], labelled.shape)[labelled] for each in days]
    return samples.labels[rows][labelled], traded, on


@pytest.mark.parametrize("split, share", [("train", 0.65), ("test", 0.60)])
def test_most_published_labels_touch_a_day_without_trading(stocknet, split, share):
    _, (last, following), _ = published_labels(stocknet, split)
    assert round(1 - float((last & following).mean()), 2) == share


def test_a_published_label_says_which_of_the_two_days_did_not_trade(stocknet):
    labels, (last, following), _ = published_labels(stocknet, "test")
    counts = {(True, True, 0): 1141, (True, True, 1): 39, (False, True, 0): 888, (True, False, 1): 888}
    assert Counter(zip(last.tolist(), following.tolist(), labels.tolist(), strict=True)) == counts


def test_two_weekdays_tell_most_published_labels(stocknet):
    """Of the last and of the next day, looked up among the training labels."""
    labels, _, (last, following) = published_labels(stocknet, "train")
    pairs = 7 * last + following
    rises = np.bincount(pairs, labels, 49) > np.bincount(pairs, labels == 0, 49)
    labels, _, (last, following) = published_labels(stocknet, "test")
    answers = rises[7 * last + following]
    scores = of_rises(classes.accuracy, labels, answers), of_rises(classes.mcc, labels, answers)
    assert [round(float(score), 3) for score in scores] == [0.937, 0.855]
