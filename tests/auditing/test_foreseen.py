"""Series that hold later values of others, totals of periods, moving averages; and features that look back."""

import numpy as np
import pandas as pd
import pytest

from multiway.auditing.look_ahead import check_exact, check_look_ahead, is_total
from multiway.auditing.windows import check_smoothed, window_of

DRAW = np.random.default_rng(0)
WALK = DRAW.normal(size=(600, 2)).cumsum(0)
WEEK = np.arange(600) // 7


def with_walk(column):
    return np.column_stack([WALK, np.asarray(column, np.float64)])


def test_a_series_that_holds_the_next_value_at_times_is_named():
    early = np.where(DRAW.random(600) < 0.2, np.r_[WALK[1:, 0], 0], WALK[:, 0])
    found = check_exact(with_walk(early), "abc")
    assert found.kind == "shifted" and "c holds a of 1 rows later in" in found.line()


def test_counts_that_meet_by_chance_and_walks_are_not():
    assert isinstance(check_exact(DRAW.poisson(0.5, (600, 3)).astype(float), "abc"), str)
    assert isinstance(check_exact(with_walk(DRAW.normal(size=600)), "abc"), str)


@pytest.mark.parametrize("how", ["sum", "mean"])
def test_a_total_of_the_week_is_named_in_each_of_its_rows(how):
    total = pd.Series(WALK[:, 0]).groupby(WEEK).transform(how).to_numpy()
    assert is_total(total, WALK[:, 0]) and not is_total(total, WALK[:, 1])
    before = pd.Series(total).shift(7).bfill().to_numpy()
    assert not is_total(before, WALK[:, 0])


@pytest.mark.parametrize("rows", [5, 7, 12])
@pytest.mark.parametrize("center", [True, False])
def test_a_moving_average_is_known_by_what_it_removes(rows, center):
    noise = DRAW.normal(size=(600, 2))
    for values in (WALK, noise):
        smooth = pd.DataFrame(values).rolling(rows, center=center, min_periods=1).mean().to_numpy()
        assert [window_of(column) for column in np.diff(smooth, axis=0).T] == [rows, rows]
        assert check_smoothed(smooth, "ab").kind == "smoothed"
        assert [window_of(column) for column in np.diff(values, axis=0).T] == [0, 0]


def test_a_mean_of_the_week_before_looks_back_and_is_no_leak():
    before = pd.Series(WALK[:, 0]).shift(1).rolling(7, min_periods=1).mean().bfill()
    assert isinstance(check_smoothed(with_walk(before), "abc"), str)
    assert isinstance(check_look_ahead(with_walk(before), "abc", 28), str)
    assert check_look_ahead(with_walk(pd.Series(WALK[:, 0]).shift(-1).ffill()), "abc", 28).kind == "shifted"
