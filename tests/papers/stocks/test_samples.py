"""Samples against a slow reference, blind to everything from the target day on, and whole where data has holes."""

import dataclasses

import numpy as np
import pytest

from multiway.errors import ConfigError, DataError
from multiway_papers.stocks.panel import FIELDS, STALE
from multiway_papers.stocks.protocols import StockProtocol
from multiway_papers.stocks.samples import tomorrow
from papers.stocks import slow_samples
from papers.stocks.stock_panels import (
    build_samples,
    make_panel,
    make_texts,
    movements_of,
    share_of_rises,
    some_texts,
    sorted_texts,
    texts_of,
    until,
    weekdays,
)
from tolerances import SUMS32

STOCKNET = StockProtocol(name="stocknet")
LEVELS = StockProtocol(prices="levels")


def check(found, expected):
    assert len(expected) > 50
    assert set(found) == set(expected)
    for key, wanted in expected.items():
        got = found[key]
        assert got["label"] == wanted["label"], key
        assert got["slots"] == wanted["slots"], key
        assert got["texts"] == wanted["texts"], key
        for slot, prices in wanted["prices"].items():
            if prices is None:
                assert got["prices"][slot] is None, (key, slot)
            else:
                assert got["prices"][slot] == pytest.approx(prices, rel=SUMS32, abs=SUMS32), (key, slot)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("complete", [False, True])
def test_stocknets_samples_are_those_of_its_words(seed, complete):
    panel = make_panel(seed)
    texts = make_texts(panel, 2500 if complete else 400, seed)
    samples = build_samples(panel, texts, StockProtocol(name="stocknet", complete=complete))
    check(slow_samples.unfolded(samples, texts), slow_samples.stocknet(panel, texts, complete))


@pytest.mark.parametrize("prices", ["changes", "levels"])
@pytest.mark.parametrize("look_back", [1, 2, 5, 7])
def test_chronological_samples_are_those_of_its_words(look_back, prices):
    panel = make_panel(look_back)
    texts = make_texts(panel, 600, look_back)
    samples = build_samples(panel, texts, StockProtocol(look_back=look_back, down=0.004, up=0.006, prices=prices))
    assert samples.slots.shape[1] == look_back
    check(
        slow_samples.unfolded(samples, texts),
        slow_samples.chronological(panel, texts, look_back, down=0.004, up=0.006, prices=prices),
    )


def test_splits_are_stocknets_dates():
    samples = build_samples(make_panel(), None, STOCKNET)
    days = {name: samples.days[samples.targets[rows]] for name, rows in samples.splits.items()}
    assert list(days) == ["train", "validation", "test"]
    assert days["train"].max() < np.datetime64("2015-08-01") <= days["validation"].min()
    assert days["validation"].max() < np.datetime64("2015-10-01") <= days["test"].min()
    assert np.array_equal(np.concatenate(list(samples.splits.values())), np.arange(len(samples.targets)))
    labelled = samples.labels >= 0
    assert sum(samples.labelled().values()) == labelled.sum()
    train = samples.labels[samples.splits["train"]]
    assert share_of_rises(samples, "train") == (train == 1).sum() / (train >= 0).sum()


def same_inputs(one, sample, other, twin, texts, other_texts):
    """Slots, prices, masks, texts and last movements of two samples are the same."""
    slots, others = one.slots[sample], other.slots[twin]
    assert np.array_equal(slots >= 0, others >= 0)
    assert np.array_equal(one.days[slots[slots >= 0]], other.days[others[others >= 0]])
    assert np.array_equal(one.slot_valid[sample], other.slot_valid[twin])
    masks = [each.price_valid[row] for each, row in ((one, sample), (other, twin))]
    assert np.array_equal(*masks)
    prices = [each.features[each.slots[row]].swapaxes(0, 1) for each, row in ((one, sample), (other, twin))]
    assert np.array_equal(prices[0][masks[0]], prices[1][masks[1]])
    assert texts_of(one, texts, sample) == texts_of(other, other_texts, twin)
    assert np.array_equal(one.previous[sample], other.previous[twin], equal_nan=True)


@pytest.mark.parametrize("protocol", [STOCKNET, StockProtocol(), StockProtocol(look_back=3), LEVELS], ids=str)
def test_tomorrow_of_the_past_is_todays_sample(protocol):
    """Without any price or text of the target day or later, everything that a sample shows is the same."""
    panel = make_panel(2)
    texts = make_texts(panel)
    samples = build_samples(panel, texts, protocol)
    compared = 0
    for sample in range(5, len(samples.targets), 3):
        day = samples.days[samples.targets[sample]]
        past, earlier = until(panel, day), some_texts(texts, texts.day < day)
        if past.next_session != day:
            continue  # after a holiday, which the panel cannot know of
        ahead = tomorrow(past, earlier, protocol)
        assert ahead.days[ahead.targets].tolist() == [day]
        assert (ahead.labels == -1).all()
        same_inputs(samples, sample, ahead, 0, texts, earlier)
        compared += 1
    assert compared > 15


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("protocol", [STOCKNET, StockProtocol(), LEVELS], ids=["stocknet", "changes", "levels"])
def test_what_happens_later_changes_no_input(seed, protocol):
    """Prices, rows and texts from the target day on are drawn anew; only labels may follow."""
    chance = np.random.default_rng(seed)
    panel = make_panel(seed)
    texts = make_texts(panel, seed=seed)
    samples = build_samples(panel, texts, protocol)
    sample = int(chance.integers(10, len(samples.targets) - 1))
    day = samples.days[samples.targets[sample]]
    late = panel.days >= day
    other = make_panel(seed + 100)
    prices, traded = panel.prices.copy(), panel.traded.copy()
    prices[:, late], traded[:, late] = other.prices[:, late], other.traded[:, late]
    changed = dataclasses.replace(panel, prices=prices, traded=traded, movement=movements_of(prices, traded))
    news = make_texts(panel, seed=seed + 100)
    kept, new = texts.day < day, news.day >= day
    words = [
        *np.array(texts.text, dtype=object)[kept],
        *(f"new {word}" for word, on in zip(news.text, new, strict=True) if on),
    ]
    mixed = sorted_texts(
        np.concatenate([texts.ticker[kept], news.ticker[new]]), np.concatenate([texts.day[kept], news.day[new]]), words
    )
    repeated = build_samples(changed, mixed, protocol)
    twin = int(np.flatnonzero(repeated.days[repeated.targets] == day)[0])
    same_inputs(samples, sample, repeated, twin, texts, mixed)
    assert not np.array_equal(samples.labels[sample:], repeated.labels[-len(samples.labels[sample:]) :])


def test_a_text_of_the_day_itself_waits_for_the_next():
    days = weekdays("2015-07-06", "2015-07-31")
    panel = make_panel(0, days, holes=0.0)
    texts = sorted_texts([0, 0, 0], np.array(["2015-07-15", "2015-07-18", "2015-07-19"], dtype="datetime64[D]"))
    samples = build_samples(panel, texts, StockProtocol())
    on = {str(samples.days[samples.targets[row]]): texts_of(samples, texts, row) for row in range(len(samples.targets))}
    assert on["2015-07-15"] == {}
    assert on["2015-07-16"] == {("AAA", np.datetime64("2015-07-16")): {"text 0"}}
    assert on["2015-07-20"]["AAA", np.datetime64("2015-07-20")] == {"text 1", "text 2"}


def test_the_same_texts_are_one_row_wherever_they_are_used():
    panel = make_panel()
    texts = make_texts(panel)
    samples = build_samples(panel, texts, StockProtocol())
    groups = samples.groups
    assert groups.starts[0] == groups.starts[1] == 0
    assert len(np.unique(samples.text_rows)) == groups.num_rows
    assert (groups.sizes[1:] > 0).all()
    ranges = list(zip(groups.items[groups.starts[1:-1]], groups.sizes[1:], strict=True))
    assert len(set(ranges)) == len(ranges)
    stock = texts.ticker[groups.items]
    for row in range(1, groups.num_rows):
        assert len(set(stock[groups.starts[row] : groups.starts[row + 1]])) == 1


def test_without_texts_there_are_no_rows():
    samples = build_samples(make_panel(), None, StockProtocol())
    assert not samples.text_rows.any()
    assert samples.groups.num_rows == 1
    none = build_samples(make_panel(), sorted_texts([], np.array([], dtype="datetime64[D]")), StockProtocol())
    assert not none.text_rows.any()


def test_unknown_prices_are_zero_and_masked():
    samples = build_samples(make_panel(), None, StockProtocol())
    assert not samples.features[~samples.known].any()
    assert np.isfinite(samples.features).all()
    assert not samples.known[:2].any()
    assert not samples.known[: len(samples.days) // 3, 2].any()


def test_a_window_at_the_start_is_padded_in_front():
    samples = build_samples(make_panel(holes=0.0), None, StockProtocol(look_back=7))
    assert samples.targets[0] == 2
    assert samples.slots[0].tolist() == [-1, -1, -1, -1, 0, 1, 2]
    assert not samples.slot_valid[0, :, :4].any()
    assert samples.slots[10].tolist() == list(range(6, 13))


def test_a_price_is_forgotten_after_a_month_of_silence():
    panel = make_panel(holes=0.0)
    samples = build_samples(panel, None, StockProtocol())
    last = int(np.flatnonzero(panel.traded[3])[-1])
    assert samples.known[last + STALE, 3]
    assert not samples.known[last + STALE + 1 :, 3].any()


def test_movements_in_the_dead_zone_are_left_out():
    panel = make_panel(holes=0.0)
    movement = panel.movement.copy()
    edges = [-0.005001, -0.005, 0.0, 0.005499, 0.0055, np.float32(-0.005), np.float32(0.0055)]
    movement[0, 50 : 50 + len(edges)] = edges
    panel = dataclasses.replace(panel, movement=movement)
    samples = build_samples(panel, None, STOCKNET)
    places = np.searchsorted(samples.targets, np.arange(50, 50 + len(edges)))
    assert samples.labels[places, 0].tolist() == [0, -1, -1, -1, 1, -1, 1]
    assert samples.returns[places, 0] == pytest.approx(edges)
    every = build_samples(panel, None, StockProtocol())
    places = np.searchsorted(every.targets, np.arange(50, 50 + len(edges)))
    assert every.labels[places, 0].tolist() == [0, 0, 0, 1, 1, 0, 1]


def test_a_file_without_high_and_low_says_so():
    panel = make_panel()
    prices = panel.prices.copy()
    prices[:, :, [FIELDS.index("high"), FIELDS.index("low")]] = np.nan
    samples = build_samples(dataclasses.replace(panel, prices=prices), None, StockProtocol())
    assert samples.notes == (f"{panel.traded.sum()} rows lack a high or low; their close stands in for it.",)
    assert samples.known.any()
    np.testing.assert_array_equal(samples.features[..., 1], samples.features[..., 0])


def test_one_ticker_is_enough():
    panel = make_panel()
    one = dataclasses.replace(
        panel, tickers=panel.tickers[:1], prices=panel.prices[:1], traded=panel.traded[:1], movement=panel.movement[:1]
    )
    assert build_samples(one, None, STOCKNET).labels.shape[1] == 1


def test_a_split_without_days_is_refused():
    early = until(make_panel(), np.datetime64("2015-09-01"))
    with pytest.raises(DataError, match=r"made: every split needs .* Got train \d+, validation \d+, test 0, from 2015"):
        build_samples(early, None, STOCKNET)
    with pytest.raises(DataError, match="Got train 0, validation 0, test 0, on no day"):
        build_samples(until(make_panel(), np.datetime64("2015-06-17")), None, StockProtocol())
    with pytest.raises(DataError, match="a smaller dead zone"):
        build_samples(make_panel(), None, StockProtocol(down=0.9, up=0.9))


def test_complete_needs_texts():
    with pytest.raises(DataError, match=r"complete labels only where every slot has a text\. Got no texts"):
        build_samples(make_panel(), None, StockProtocol(complete=True))


def test_nobody_predicts_with_the_published_labels():
    with pytest.raises(ConfigError, match="say nothing about the next session"):
        tomorrow(make_panel(), None, StockProtocol(name="published-code"))
