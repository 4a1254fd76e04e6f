"""What reads as a time: dates in any form, quarters, weeks and periods; no numbers, and no other words."""

import numpy as np
import pandas as pd
import pytest

from multiway.data.findings import Findings, Unreadable
from multiway.data.options import FileOptions
from multiway.data.sources.cells import Column
from multiway.data.sources.columns import RawTable, parse_times

DAYS = pd.date_range("2024-01-05", periods=3)
TIMES = {
    "stamps": pd.Series(DAYS), "periods": pd.Series(DAYS.to_period("D")), "ISO": ["2024-01-05", "2024-01-06"],
    "day first": ["25.01.2024"], "words": ["5 January 2024"], "quarters": ["2003Q1"],
    "weeks": ["2024-W05"], "short years": ["31/12/23"], "halves of a day": ["1/13/2023 2:30 PM"],
    "after blanks": ["", "2024-01-05"], "zones": ["2024-01-05T10:00:00+02:00"],
}  # fmt: skip
OTHERS = {
    "numbers": [20240105, 20240106], "fractions": [0.5, 1.5], "words": ["Monday", "Tuesday"], "short": ["1-2", "3-4"],
    "codes": ["A-2024", "B-2024"], "nothing": [], "blanks": ["", " "], "late": [""] * 20 + ["2024-01-05"],
    "versions": ["1.2.3", "1.2.4"], "shares": ["45/67/89"],
}  # fmt: skip


@pytest.mark.parametrize("name", TIMES)
def test_times_look_like_times(name):
    assert Column("when", pd.Series(TIMES[name])).looks_like_time


@pytest.mark.parametrize("name", OTHERS)
def test_other_columns_do_not(name):
    assert not Column("when", pd.Series(OTHERS[name])).looks_like_time


def parsed(cells, **options):
    findings = Findings("table")
    table = RawTable.whole(pd.DataFrame({"when": cells}))
    times, good = parse_times(table, "when", FileOptions(**options), findings)
    assert good.all()
    return times, " ".join(findings.remarks())


LONG = pd.date_range("2022-11-29 13:05", periods=401, freq="D")


@pytest.mark.parametrize("mark", list("/.-"))
@pytest.mark.parametrize("order", ["%d %m %y", "%m %d %y", "%y %m %d"])
@pytest.mark.parametrize("clock", ["", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M%p"])
def test_years_of_two_digits_are_read_in_the_order_whose_times_run_forwards(mark, order, clock):
    times, _ = parsed(LONG.strftime(order.replace(" ", mark) + clock))
    assert list(times) == list(LONG if clock else LONG.normalize())


def test_few_short_dates_could_be_anything_and_are_read_as_is_said():
    cells = ["02/01/03", "03/05/03", "06/07/03"]
    with pytest.raises(Unreadable):
        parsed(cells)
    for day_first, days in {True: ("01-02", "05-03", "07-06"), False: ("02-01", "03-05", "06-07")}.items():
        assert list(parsed(cells, day_first=day_first)[0]) == [pd.Timestamp(f"2003-{day}") for day in days]


@pytest.mark.parametrize(("unit", "per"), [("s", 1), ("ms", 1_000), ("us", 1_000_000)])
@pytest.mark.parametrize("kind", ["int64", "str"])
def test_numbers_that_count_from_1970_are_times(unit, per, kind):
    seconds = (LONG - pd.Timestamp("1970-01-01")) // pd.Timedelta(seconds=1)
    times, said = parsed((seconds.to_numpy() * per).astype(kind))
    assert list(times) == list(LONG) and f"read as times, in {unit} since 1970" in said


def test_smaller_numbers_are_counts():
    assert list(parsed(np.arange(315_532_700, 315_532_800))[0]) == list(range(315_532_700, 315_532_800))


@pytest.mark.parametrize("form", ["{0}-W{1:02d}", "{0}W{1}", "W{1:02d}/{0}", "{0}-w{1:02d}"])
def test_weeks_are_their_mondays(form):
    mondays = pd.date_range("2019-12-30", periods=120, freq="W-MON")  # over a year of 53 weeks
    cells = [form.format(*day.isocalendar()[:2]) for day in mondays]
    assert list(parsed(cells)[0]) == list(mondays)


@pytest.mark.parametrize("ends", [["Total"], ["Total", "Source: the shop"]])
def test_words_below_the_last_row_are_left_out(ends):
    findings = Findings("table")
    table = RawTable.whole(pd.DataFrame({"when": [*LONG.strftime("%Y-%m-%d"), *ends]}))
    times, good = parse_times(table, "when", FileOptions(), findings)
    assert list(times) == list(LONG.normalize()) and good.tolist() == [True] * 401 + [False] * len(ends)
    assert not findings.errors() and "in place of times and are left out" in " ".join(map(str, findings.warnings()))


@pytest.mark.parametrize("place", [0, 200, 401])
@pytest.mark.parametrize("word", ["Total", "2024-13-45", "", None])
def test_other_rows_without_a_time_are_errors(place, word):
    findings = Findings("table")
    cells = [*LONG[:place].strftime("%Y-%m-%d"), word, *LONG[place:].strftime("%Y-%m-%d")]
    parse_times(RawTable.whole(pd.DataFrame({"when": cells})), "when", FileOptions(), findings)
    assert bool(findings.errors()) == ((place, word) != (401, "Total"))
