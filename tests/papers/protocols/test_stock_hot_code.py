"""The published code's labels, against a loop over tickers and days, and what they measure in truth."""

import dataclasses

import numpy as np
import pytest

from multiway.errors import DataError
from multiway_papers.stocks.panel import FIELDS
from multiway_papers.stocks.protocols import StockProtocol
from papers.stocks.stock_panels import build_samples, make_panel, make_texts, sorted_texts, texts_of, until
from tolerances import SUMS32

PUBLISHED = StockProtocol(name="published-code")
DAY = np.timedelta64(1, "D")
SPLITS = {
    "train": ("2014-01-01", "2015-08-01"),
    "validation": ("2015-08-01", "2015-10-01"),
    "test": ("2015-10-01", "2016-01-02"),
}


def make_case():
    panel = make_panel()
    return panel, make_texts(panel, 700, 7, end=np.datetime64("2016-01-20"))


def slow(panel, texts, literal):
    """By (ticker, target day): label and days of the window, one at a time."""
    columns = [FIELDS.index(name) for name in ("adj_close", "high", "low")]
    calendar = np.arange("2014-01-01", "2016-01-02", dtype="datetime64[D]")
    has_text = {(stock, day) for stock, day in zip(texts.ticker.tolist(), texts.day.tolist(), strict=True)}
    filled = {}
    for stock in range(len(panel.tickers)):
        for day in calendar:
            place = np.flatnonzero(panel.days == day)
            row = (
                panel.prices[stock, place[0], columns] if len(place) and panel.traded[stock, place[0]] else np.zeros(3)
            )
            filled[stock, day.astype(object)] = row
    early = np.array([row for (_, day), row in filled.items() if day < np.datetime64("2015-08-01").astype(object)])
    scaled = {key: (row - early.mean(0)) / early.std(0, ddof=1) for key, row in filled.items()}
    result, features = {}, scaled
    for start, stop in SPLITS.values():
        block = [day.astype(object) for day in np.arange(start, stop, dtype="datetime64[D]")]
        stocks = [s for s in range(len(panel.tickers)) if sum((s, day) in has_text for day in block) > 5]
        kept = [day for day in block if sum((s, day) in has_text for s in range(len(panel.tickers))) > 1]
        for first in range(len(kept) - 6):
            window, target = kept[first : first + 5], kept[first + 5]
            for stock in stocks:
                ratio = scaled[stock, target][0] / scaled[stock, window[-1]][0]
                label = 1 if ratio >= 1.0055 else 0 if ratio < 0.9998 else 1 if literal and ratio == 1 else None
                if label is not None:
                    result[panel.tickers[stock], target] = (label, window)
    return result, features


@pytest.mark.parametrize("literal", [False, True])
def test_labels_and_windows_are_those_of_the_loop(literal):
    panel, texts = make_case()
    samples = build_samples(panel, texts, StockProtocol(name="published-code", literal=literal))
    expected, features = slow(panel, texts, literal)
    found = {}
    for sample, stock in zip(*np.nonzero(samples.labels >= 0), strict=True):
        target = samples.days[samples.targets[sample]].astype(object)
        window = samples.days[samples.slots[sample]].tolist()
        found[samples.tickers[stock], target] = (int(samples.labels[sample, stock]), window)
    assert len(expected) > 200
    assert found == expected
    for stock, position in ((0, 400), (4, 600), (2, 555)):
        wanted = features[stock, samples.days[position].astype(object)]
        assert samples.features[position, stock] == pytest.approx(wanted, rel=SUMS32)


def test_literal_labels_add_pairs_of_days_without_trading():
    panel, texts = make_case()
    plain, literal = (build_samples(panel, texts, StockProtocol(name="published-code", literal=on)) for on in (0, 1))
    added = (plain.labels < 0) & (literal.labels >= 0)
    assert added.any()
    assert (literal.labels[added] == 1).all()
    both = plain.traded[plain.targets] | plain.traded[plain.slots[:, -1]]
    assert not both[added].any()
    kept = plain.labels >= 0
    assert np.array_equal(plain.labels[kept], literal.labels[kept])


def test_texts_fall_on_their_own_day():
    panel, texts = make_case()
    samples = build_samples(panel, texts, PUBLISHED)
    for sample in range(0, len(samples.targets), 11):
        for (ticker, day), words in texts_of(samples, texts, sample).items():
            stock = panel.tickers.index(ticker)
            own = (texts.ticker == stock) & (texts.day == day)
            assert words == set(np.array(texts.text, dtype=object)[own])
    kept = samples.slot_valid.any(2)
    days = np.isin(texts.day, samples.days[samples.slots[0]])
    assert kept[0].any() and days.any()


def test_returns_are_true_changes_between_the_two_days():
    panel, texts = make_case()
    samples = build_samples(panel, texts, PUBLISHED)
    adjusted = panel.prices[:, :, FIELDS.index("adj_close")]
    place = {day: position for position, day in enumerate(panel.days.tolist())}
    for sample, stock in ((40, 0), (60, 1), (77, 4)):
        last, target = (samples.days[at].astype(object) for at in (samples.slots[sample, -1], samples.targets[sample]))
        known = all(day in place and panel.traded[stock, place[day]] for day in (last, target))
        change = adjusted[stock, place[target]] / adjusted[stock, place[last]] - 1 if known else np.nan
        assert samples.returns[sample, stock] == pytest.approx(change, rel=SUMS32, nan_ok=True)
    assert np.isfinite(samples.returns).any() and np.isnan(samples.returns).any()


def test_the_last_movement_is_that_of_the_windows_last_day_or_before():
    panel, texts = make_case()
    samples = build_samples(panel, texts, PUBLISHED)
    for sample in (3, 50, 88):
        last = samples.days[samples.slots[sample, -1]]
        for stock in range(len(panel.tickers)):
            rows = np.flatnonzero(panel.traded[stock] & (panel.days <= last))
            wanted = panel.movement[stock, rows[-1]] if len(rows) else np.nan
            assert samples.previous[sample, stock] == pytest.approx(wanted, rel=SUMS32, nan_ok=True)


def test_a_ticker_with_few_text_days_is_left_out_of_that_split():
    panel, texts = make_case()
    early = (texts.ticker == 1) & (texts.day < np.datetime64("2015-08-01"))
    kept = ~early | (np.cumsum(early) <= 1)
    samples = build_samples(panel, sorted_texts(texts.ticker[kept], texts.day[kept]), PUBLISHED)
    assert (samples.labels[samples.splits["train"], 1] == -1).all()
    assert not samples.slot_valid[samples.splits["train"], 1].any()
    assert (samples.labels[samples.splits["test"], 1] >= 0).any()


def test_it_says_what_it_is():
    panel, texts = make_case()
    samples = build_samples(panel, texts, PUBLISHED)
    assert "does not label movements" in samples.notes[0]
    assert len(samples.days) == 731


def test_what_it_needs_is_named():
    panel, texts = make_case()
    with pytest.raises(DataError, match="published-code leaves days without texts out"):
        build_samples(panel, None, PUBLISHED)
    few = sorted_texts(texts.ticker[:20], texts.day[:20])
    with pytest.raises(DataError, match=r"windows: train \d+, validation 0, test 0. Use the protocol chronological"):
        build_samples(until(panel, np.datetime64("2015-08-01")), few, PUBLISHED)


def test_constant_prices_do_not_divide_by_zero():
    panel, texts = make_case()
    flat = dataclasses.replace(panel, prices=np.full_like(panel.prices, 3.0), traded=np.ones_like(panel.traded))
    assert np.isfinite(build_samples(flat, texts, PUBLISHED).features).all()
