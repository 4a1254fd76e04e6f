"""Overlap of ranges against sets of rows, window by window."""

import numpy as np
import pytest

from multiway.auditing import Spans, check_complete, check_order, check_overlap

SIZE, LOOKBACK, HORIZON = 60, 5, 3


def windows(starts):
    starts = np.array(sorted(starts))
    return Spans.of(starts, LOOKBACK + HORIZON), Spans.of(starts + LOOKBACK, HORIZON)


def rows_of(spans):
    return [set(range(start, stop)) for start, stop in zip(spans.starts, spans.stops, strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_overlap_is_what_sets_of_rows_say(seed):
    chance = np.random.default_rng(seed)
    chosen = chance.permutation(SIZE - LOOKBACK - HORIZON)[:12]
    training, _ = windows(chosen[:4])
    _, targets = windows(chosen[4:])
    held = set().union(*rows_of(training))
    wanted = sum(bool(held & rows) for rows in rows_of(targets))
    verdict = check_overlap(training, targets, "test")
    assert (0 if isinstance(verdict, str) else verdict.count) == wanted
    assert list(np.flatnonzero(training.mark_rows(SIZE))) == sorted(held)


def test_the_past_of_a_test_window_may_reach_into_training_rows():
    training, _ = windows(range(20))  # rows 0 to 26
    _, targets = windows([22])  # past from row 22, targets from row 27
    assert check_overlap(training, targets, "test") == (
        "no test target lies in one of the 20 training windows (1 looked at)"
    )


def test_an_overlap_says_which_window_lies_in_which():
    training, _ = windows([0, 10])
    _, targets = windows([30, 6])
    finding = check_overlap(training, targets, "test", lambda row: f"day {row}")
    assert finding.severity == "error" and finding.count == 1
    assert finding.line() == (
        "1 of 2 test windows have a target that training windows hold; test window 0 has its target at day 11 to "
        "day 13, and training window 1 holds day 10 to day 17. Split by time before cutting windows."
    )


def test_training_on_what_came_later_is_a_warning():
    training, _ = windows([20])
    _, targets = windows([0, 40])
    finding = check_order(training, targets, "test")
    assert (finding.severity, finding.count) == ("warning", 1)
    assert "1 of 2 test targets are earlier than the last training row, row 27; the first is row 5" in finding.line()
    assert check_order(training, windows([30])[1], "test") == "every training row is earlier than the test targets"


def test_a_dropped_last_batch_shows():
    assert check_complete(7, 7, "test") == "all 7 test windows are there, the last of them too"
    finding = check_complete(5, 7, "test", "row 40")
    assert finding.severity == "error" and finding.count == 2
    assert "2 of 7 test windows are not scored, and the last one scored is row 40" in finding.line()


def test_nothing_to_compare_says_nothing():
    empty = Spans.of(np.empty(0, np.int64), 3)
    training, targets = windows([0])
    assert check_overlap(empty, targets, "test") is None and check_order(training, empty, "test") is None
