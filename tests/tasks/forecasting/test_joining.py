"""Later rows after those of a run: which of both are kept."""

import numpy as np
import pandas as pd
import pytest

from multiway.data.options import ReadOptions
from multiway.errors import DataError
from multiway.tasks.forecasting.config import Roles
from multiway.tasks.forecasting.later_rows import join_rows
from multiway.tasks.forecasting.panel import Columns

LONG = Columns(time="day", ids=("store",), value="sales")
NAN = np.nan


def long(*cells):
    rows = pd.DataFrame(cells, columns=["store", "day", "sales", "price"])
    return rows.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(rows["day"], unit="D"))


def kept(first, later, columns=LONG, **options):
    roles = Roles(future=("price",)) if "price" in first else Roles()
    found = join_rows([first, later], ReadOptions(**options), columns, roles)
    return found.rows, found.notes


def test_values_take_the_place_of_a_plan():
    first = long(("a", 0, 5.0, 1.0), ("a", 1, 6.0, 1.1), ("a", 2, NAN, 1.2), ("a", 3, NAN, 1.3))
    later = long(("a", 2, 7.0, 1.25))
    rows, told = kept(first, later)
    expected = pd.concat([first.iloc[[0, 1, 3]], later], ignore_index=True)
    pd.testing.assert_frame_equal(rows, expected)
    assert told == ()


def test_a_series_that_ended_early_takes_what_it_lacked():
    first = long(("a", 0, 5.0, 1.0), ("b", 0, 8.0, 2.0), ("a", 1, 6.0, 1.1), ("a", 2, 6.5, 1.2))
    later = long(("b", 1, 9.0, 2.1), ("a", 2, 7.0, 1.3), ("b", 2, 9.5, 2.2), ("a", 3, 7.5, 1.4), ("b", 0, 1.0, 2.0))
    rows, told = kept(first, later)
    pd.testing.assert_frame_equal(rows, pd.concat([first, later.iloc[[0, 2, 3]]], ignore_index=True))
    assert told == ("2 rows of the table up to 2024-01-03 00:00:00 are in the run already and left out",)


@pytest.mark.parametrize("blank", [NAN, "", -9999.0])
def test_rows_without_any_value_are_not_in_the_run(blank):
    days = pd.date_range("2024-01-01", periods=4)
    first = pd.DataFrame({"day": days[:3], "a": [1.0, 2.0, blank], "b": [NAN, 3.0, blank]})
    later = pd.DataFrame({"day": days[1:], "a": [9.0, 4.0, 5.0], "b": [9.0, NAN, 6.0]})
    rows, told = kept(first, later, Columns(time="day"), sentinels=(-9999.0,))
    pd.testing.assert_frame_equal(rows, pd.concat([first[:2], later[1:]], ignore_index=True))
    assert told == ("1 rows of the table up to 2024-01-02 00:00:00 are in the run already and left out",)


def test_rows_of_which_none_is_later_are_refused():
    first = long(("a", 0, 5.0, 1.0), ("a", 1, 6.0, 1.1), ("b", 1, 3.0, 1.0))
    with pytest.raises(DataError, match="no row of it is after 2024-01-02 00:00:00, the last of the run"):
        kept(first, first)
