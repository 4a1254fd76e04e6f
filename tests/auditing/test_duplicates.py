"""Copies across splits, found by hash and by comparing everything with everything."""

import itertools

import numpy as np

from multiway.auditing import check_duplicates, window_digests
from multiway.auditing.duplicates import sample_digest

LENGTH = 4


def test_windows_are_equal_where_their_rows_are():
    values = np.random.default_rng(0).integers(0, 2, (120, 2)).astype(float)  # short rows: many repeats
    values[5, 1] = np.nan
    starts = np.arange(len(values) - LENGTH + 1)
    digests = window_digests(values, starts, LENGTH)
    blocks = [values[start : start + LENGTH] for start in starts]
    repeats = 0
    for one, other in itertools.combinations(starts.tolist(), 2):
        is_same = np.array_equal(blocks[one], blocks[other], equal_nan=True)
        is_flat = np.array_equal(blocks[one][:-1], blocks[one][1:], equal_nan=True)
        repeats += is_same and not is_flat
        assert is_same == (digests[one] == digests[other]) or is_flat
    assert repeats > 5


def test_a_window_whose_rows_are_alike_is_not_compared():
    values = np.zeros((9, 2))
    values[7] = 1
    assert [digest is None for digest in window_digests(values, np.arange(6), LENGTH)] == [True] * 4 + [False] * 2


def test_an_array_is_known_by_shape_kind_and_values():
    array = np.arange(12.0).reshape(3, 4)
    assert sample_digest(array) == sample_digest(np.asfortranarray(array)) != sample_digest(array.reshape(4, 3))
    assert sample_digest(array) != sample_digest(array.astype(np.int64))
    assert sample_digest(np.full((3, 4), 2.0)) is None and sample_digest(np.empty(0)) is None


def test_a_copy_is_named_with_what_it_copies():
    digests = {"train": [b"a", b"b", None, b"b"], "validation": [b"c"], "test": [b"x", b"c", b"b", None]}
    names = {split: [f"{split[0]}{place}" for place in range(len(every))] for split, every in digests.items()}
    finding = check_duplicates(digests, names, "volumes")
    assert (finding.severity, finding.count) == ("error", 2)
    assert finding.line() == (
        "2 volumes are in two splits (50.0% of a split): test t1 = validation v0; test t2 = train t1. "
        "Keep each in one split."
    )
    assert check_duplicates(digests, names, "volumes", tolerated=0.5).severity == "warning"


def test_repeats_within_a_split_are_no_leak():
    digests = {"train": [b"a", b"a"], "test": [b"b", None]}
    assert check_duplicates(digests, {"train": ["p", "q"], "test": ["r", "s"]}, "volumes") == (
        "none of 3 volumes is in two splits"
    )
