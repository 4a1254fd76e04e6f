"""Times of a grid: their step and season, in several calendars."""

import numpy as np
import pandas as pd
import pytest

from multiway.errors import DataError
from multiway.tasks.grids.times import Step, Times


def times_of(start, count, **offset):
    steps = [
        pd.Timestamp(start) + pd.DateOffset(**{name: size * n for name, size in offset.items()}) for n in range(count)
    ]
    return Times.read(np.array(steps, "datetime64[ns]"))


@pytest.mark.parametrize(
    ("start", "offset", "step", "season"),
    [
        ("2001-01-31", {"months": 1}, Step(months=1), 12),
        ("2001-01-15", {"months": 3}, Step(months=3), 4),
        ("2001-06-01", {"years": 1}, Step(months=12), 1),
        ("2001-01-15", {"days": 1}, Step(length=86_400), 365),
        ("2001-01-15", {"days": 5}, Step(length=5 * 86_400), 73),
        ("2001-01-15", {"hours": 6}, Step(length=21_600), 4),
    ],
    ids=lambda each: str(each),
)
def test_step_and_season_are_those_of_the_calendar(start, offset, step, season):
    times = times_of(start, 50, **offset)
    found, wrong = times.step()
    assert found == step and not len(wrong) and times.season(step) == season
    phases = times.phases(step, season)
    assert set(phases.tolist()) <= set(range(season))
    later = times_of(start, 60, **offset)
    known = Times(later.moments[50:], later.calendar)
    assert times.later(step, 10).words() == known.words()
    np.testing.assert_array_equal(known.phases(step, season), later.phases(step, season)[50:])


def test_an_uneven_step_is_placed():
    whole = times_of("2001-01-15", 20, months=1)
    moments = whole.moments[:7] + whole.moments[8:]
    assert Times(moments, "standard").step()[1].tolist() == [7]
    assert Times([*whole.moments[:5], whole.moments[3], *whole.moments[5:]], "standard").step()[1].tolist() == [5, 6]


def test_a_day_that_a_month_lacks_becomes_its_last():
    times = Times.read(np.array(["2001-12-31", "2002-01-31"]))
    assert times.later(Step(months=1), 3).words() == ["2002-02-28", "2002-03-31", "2002-04-30"]


def test_plain_numbers_have_a_step_and_no_season():
    times = Times.read(np.array([4, 6, 8]))
    assert times.step()[0] == Step(length=2.0) and times.season(Step(length=2.0)) == 1
    assert times.later(Step(length=2.0), 2).words() == ["10", "12"]
    assert times.phases(Step(length=2.0), 3).tolist() == [2, 0, 1]


@pytest.mark.parametrize("kind", [str, object])
def test_words_that_are_no_dates_are_refused(kind):
    with pytest.raises(DataError, match=r"times are dates such as 2024-01-31. Got spring, summer"):
        Times.read(np.array(["spring", "summer"], kind))
    assert Times.read(np.array(["2024-01-31", "2024-02-29"], kind)).words() == ["2024-01-31", "2024-02-29"]


def test_a_missing_time_is_refused():
    with pytest.raises(DataError, match=r"Got 2024-01-31, NaT"):
        Times.read(np.array(["2024-01-31", "NaT"], "datetime64[D]"))


def test_months_of_thirty_days_are_those_of_cftime():
    cftime = pytest.importorskip("cftime", reason="cftime is not installed")
    dates = [cftime.datetime(1990 + n // 12, n % 12 + 1, 30, calendar="360_day") for n in range(30)]
    times = Times.read(np.array(dates))
    step, wrong = times.step()
    assert step == Step(months=1) and not len(wrong) and times.calendar == "360_day"
    assert times.later(step, 9).words()[-2:] == ["1993-02-30", "1993-03-30"]
    assert times.phases(step, 12).tolist() == [n % 12 for n in range(30)]
    days = Times.read(np.array([cftime.datetime(1990, 12, 29, calendar="360_day") + n * (dates[1] - dates[0]) / 30
                                for n in range(4)]))  # fmt: skip
    assert days.season(days.step()[0]) == 360 and days.words()[1:3] == ["1990-12-30", "1991-01-01"]
    assert days.phases(days.step()[0], 360).tolist() == [358, 359, 0, 1]
