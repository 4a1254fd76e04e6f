"""Pieces that labelled series share, wherever they begin, against series that only look alike."""

import numpy as np
import pandas as pd
import pytest

from multiway.auditing.near_series import check_pieces

SPLITS = {"train": np.arange(0, 60), "validation": np.arange(60, 70), "test": np.arange(70, 90)}
NAMES = [f"s{row}" for row in range(90)]
LABELS = np.arange(90) % 2
NOISE = np.random.default_rng(0).normal(size=(90, 60, 2))


def walks() -> np.ndarray:
    """Series that last from step to step."""
    return np.stack([pd.DataFrame(rows).ewm(alpha=0.2).mean().to_numpy() for rows in NOISE])


def check(values, digests=None):
    return check_pieces(values, SPLITS, NAMES, LABELS, digests or [None] * len(values))


def test_strangers_share_no_piece():
    assert check(walks()) == "none of 30 series shares a piece with a training series"


@pytest.mark.parametrize("change", [lambda x: x, lambda x: 3 * x - 8, lambda x: x + 0.01 * NOISE[0, :30]])
def test_a_window_that_begins_in_another_one_is_named(change):
    values = walks()
    values[75, 30:] = change(values[10, :30])
    found = check(values)
    assert (found.kind, found.severity, found.count) == ("near", "error", 1) and "test s75 ~ s10 (r " in found.line()


def test_series_that_hum_alike_are_no_copies_at_any_phase():
    turn = (np.arange(60)[:, None] + np.arange(90)[:, None, None] * 7) / 12
    assert isinstance(check(np.sin(2 * np.pi * turn) + 0.02 * NOISE), str)


def test_exact_copies_are_left_to_the_check_by_hash():
    values = walks()
    values[75] = values[10]
    digests = [b"one" if row in (10, 75) else None for row in range(90)]
    assert isinstance(check(values, digests), str) and check(values).count == 1


def test_series_too_short_or_without_a_surprise_are_not_compared():
    assert check(walks()[:, :16]) is None
    assert check(np.ones((90, 60, 2))) is None


def test_missing_steps_end_a_piece():
    values = walks()
    values[75, 30:] = values[10, :30]
    values[75, 35::6] = np.nan
    assert isinstance(check(values), str)
