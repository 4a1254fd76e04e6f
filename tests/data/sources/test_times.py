"""What reads as a time: dates in any form, quarters and periods; no numbers, and no other words."""

import pandas as pd
import pytest

from multiway.data.sources.times import looks_like_time

DAYS = pd.date_range("2024-01-05", periods=3)
TIMES = {
    "stamps": pd.Series(DAYS), "periods": pd.Series(DAYS.to_period("D")), "ISO": ["2024-01-05", "2024-01-06"],
    "day first": ["25.01.2024"], "words": ["5 January 2024"], "quarters": ["2003Q1"],
    "after blanks": ["", "2024-01-05"], "zones": ["2024-01-05T10:00:00+02:00"],
}  # fmt: skip
OTHERS = {
    "numbers": [20240105, 20240106], "fractions": [0.5, 1.5], "words": ["Monday", "Tuesday"], "short": ["1-2", "3-4"],
    "codes": ["A-2024", "B-2024"], "nothing": [], "blanks": ["", " "], "late": [""] * 20 + ["2024-01-05"],
}  # fmt: skip


@pytest.mark.parametrize("name", TIMES)
def test_times_look_like_times(name):
    assert looks_like_time(pd.Series(TIMES[name]))


@pytest.mark.parametrize("name", OTHERS)
def test_other_columns_do_not(name):
    assert not looks_like_time(pd.Series(OTHERS[name]))
