"""Steps are found through flaws, and seasons follow from them."""

import numpy as np
import pandas as pd
import pytest

from command import outcome
from multiway.data import ReadOptions
from multiway.errors import DataError
from multiway.tasks.forecasting.calendar import GridTooLong, clock_of, infer_frequency, season_of, time_grid
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.read import read_panel

STEPS = ["s", "min", "10min", "15min", "30min", "h", "4h", "D", "2D", "B", "W-WED", "MS", "ME", "QS-JAN", "YS-JAN"]


@pytest.mark.parametrize("alias", STEPS)
def test_a_regular_step_is_found(alias):
    assert infer_frequency(pd.date_range("2019-01-01", periods=50, freq=alias)) == alias


@pytest.mark.parametrize("alias", ["10min", "h", "D", "B", "W-WED", "MS", "ME"])
def test_a_few_gaps_and_repeats_do_not_hide_it(alias):
    times = pd.date_range("2019-01-01", periods=120, freq=alias)
    flawed = times.delete([13, 14, 57, 90]).insert(30, times[30])
    assert infer_frequency(flawed) == alias


def test_changes_of_clocks_do_not_hide_it():
    hours = pd.date_range("2024-03-01", "2024-11-30", freq="h", tz="Europe/Berlin")
    assert infer_frequency(hours) == "h"
    assert infer_frequency(hours.tz_localize(None)) == "h"
    days = pd.date_range("2024-03-01", "2024-11-30", freq="D", tz="Europe/Berlin")
    assert infer_frequency(days) == "D"
    assert time_grid(days, "D").equals(days)


@pytest.mark.parametrize("day", [15, 28, 30, 31])
def test_one_day_of_each_month_is_a_step(day):
    months = pd.date_range("2019-02-01", periods=40, freq="MS")
    times = months + pd.to_timedelta(np.minimum(day, months.days_in_month) - 1, unit="D")
    panel = read_panel(pd.DataFrame({"date": times, "y": np.arange(40.0)}))
    assert panel.frequency == ("ME" if day == 31 else f"MS {day}")
    later = pd.date_range("2022-06-01", periods=9, freq="MS")
    ahead = later + pd.to_timedelta(np.minimum(day, later.days_in_month) - 1, unit="D")
    assert list(panel.future_times(9)) == list(ahead) and ahead[8] == pd.Timestamp(2023, 2, min(day, 28))


def test_other_days_of_each_month_are_brought_to_months():
    times = pd.date_range("2019-02-01", periods=40, freq="MS") - pd.Timedelta(days=2)
    frame = pd.DataFrame({"date": times, "y": np.arange(40.0)})
    assert infer_frequency(times) == "MS"
    with pytest.raises(DataError, match=r"off the step of MS.*\(read\.frequency=MS read\.resample=mean\)"):
        read_panel(frame)
    ahead = read_panel(frame, ReadOptions(gaps="ignore")).future_times(2)
    assert list(ahead) == list(pd.date_range(times[-1], periods=2, freq="MS"))
    brought = read_panel(frame, ReadOptions(frequency="MS", resample="mean"))
    assert (
        list(brought.times) == list(times.to_period("M").to_timestamp()) and (brought.values[:, 0] == frame["y"]).all()
    )


@pytest.mark.parametrize(("first", "step"), [("2018-01-28", "MS"), ("2018-01-31", None)])
def test_periods_of_four_four_and_five_weeks_are_months_or_have_no_step(first, step):
    weeks = np.cumsum([4, 4, 5] * 12)  # from the second day on, two of them end in one month
    assert infer_frequency(pd.Timestamp(first) + pd.to_timedelta(7 * weeks, unit="D")) == step


def test_no_step_is_no_step():
    assert infer_frequency(pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-07", "2024-03-01"])) is None
    assert infer_frequency(pd.DatetimeIndex(["2024-01-01"])) is None
    assert infer_frequency(pd.RangeIndex(5)) is None


@pytest.mark.parametrize(
    ("alias", "season"),
    [("h", 24), ("15min", 96), ("10min", 144), ("30min", 48), ("min", 1440), ("D", 7), ("B", 5), ("W-SUN", 52),
     ("MS", 12), ("ME", 12), ("QS", 4), ("QE-DEC", 4), ("2MS", 6), ("3h", 8), ("7h", 1), ("2D", 1), ("YS", 1),
     (None, 1)],
)  # fmt: skip
def test_seasons(alias, season):
    assert season_of(alias) == season


def panel(times: pd.Index, frequency: str | None) -> Panel:
    values = np.zeros((len(times), 1))
    return Panel(values=values, times=times, names=("a",), frequency=frequency, layout="wide", source="frame")


@pytest.mark.parametrize("alias", STEPS)
def test_future_times_go_on_where_the_file_ends(alias):
    times = pd.date_range("2019-01-01", periods=60, freq=alias).as_unit("us")
    assert panel(times[:50], alias).future_times(10).equals(pd.DatetimeIndex(times[50:], freq=None))


def test_future_days_keep_their_hour_and_hours_run_on():
    days = pd.date_range("2024-03-28 09:00", periods=3, freq="D", tz="Europe/Berlin")
    assert [time.hour for time in panel(days, "D").future_times(3)] == [9, 9, 9]
    hours = pd.date_range("2024-03-31 00:00", periods=2, freq="h", tz="Europe/Berlin")
    assert [time.hour for time in panel(hours, "h").future_times(2)] == [3, 4]


@pytest.mark.parametrize(
    ("zone", "first", "expected"),
    [("Europe/Berlin", "2024-03-29 02:30", ["03-31 03:00+02:00", "04-01 02:30+02:00"]),
     ("Europe/Berlin", "2024-10-25 02:30", ["10-27 02:30+02:00", "10-28 02:30+01:00"]),
     ("Africa/Cairo", "2024-04-24", ["04-26 01:00+03:00", "04-27 00:00+03:00"])],
)  # fmt: skip
def test_days_whose_hour_is_skipped_or_comes_twice_go_on(zone, first, expected):
    days = pd.date_range(first, periods=2, freq="D", tz=zone)
    ahead = panel(days, "D").future_times(2)
    assert list(ahead) == [pd.Timestamp(f"2024-{time}").tz_convert(zone) for time in expected]
    month = pd.date_range(first, periods=30, freq="D").tz_localize(
        zone, ambiguous=[True] * 30, nonexistent="shift_forward"
    )
    assert infer_frequency(month) == "D" and time_grid(month, "D").equals(month)


def test_future_times_from_a_day_between_calendar_steps():
    times = pd.DatetimeIndex(["2024-01-15", "2024-02-15", "2024-03-15"])
    assert list(panel(times, "MS").future_times(2)) == [pd.Timestamp("2024-04-01"), pd.Timestamp("2024-05-01")]


def test_a_grid_is_counted_before_it_is_built():
    with pytest.raises(GridTooLong, match=r"3 times from 0 to 1000000000000 leave 999,999,999,998 absent"):
        time_grid(pd.Index([0, 1, 10**12]), None)
    with pytest.raises(GridTooLong, match=r"2 times from 1924-01-01 .* leave 3,155,7\d\d,\d{3} absent"):
        time_grid(pd.DatetimeIndex(["1924-01-01", "2024-01-01"]), "s")


def test_a_grid_of_whole_numbers_counts_steps_not_numbers():
    times = pd.Index([10**6 * step for step in (0, 1, 2, 4)])
    assert time_grid(times, None).tolist() == [0, 10**6, 2 * 10**6, 3 * 10**6, 4 * 10**6]
    with pytest.raises(GridTooLong):
        time_grid(pd.Index([0, 1, 2, 10**9]), None)


@pytest.mark.parametrize("alias", ["15min", "h", "D", "B", "W-WED", "MS", "ME", "QS", "YE", "2D"])
def test_times_are_numbered_by_their_calendar_wherever_a_table_begins(alias):
    times = pd.date_range("1968-02-01", periods=101, freq=alias)
    whole = clock_of(times, alias)
    assert (np.diff(whole) == 1).all()
    assert (clock_of(times[17:], alias) == whole[17:]).all()


def test_counted_times_are_their_own_numbers_and_hours_those_of_the_wall():
    assert clock_of(pd.Index([6, 9, 12]), None).tolist() == [2, 3, 4]
    wall = pd.date_range("2024-01-01 05:00", periods=2, freq="h")
    assert clock_of(wall.tz_localize("Asia/Tokyo"), "h").tolist() == clock_of(wall, "h").tolist()
    assert clock_of(wall, "h")[0] % 24 == 5


def test_irregular_rows_of_several_series_are_led_to_their_sums_by_day(tmp_path):
    """Each error names the next setting, and the last of them can be trained on."""
    rng, parts = np.random.default_rng(0), []
    for till in ("A", "B"):
        seconds = np.sort(rng.integers(0, 90 * 86400, 400))
        times = pd.Timestamp("2024-01-01") + pd.to_timedelta(seconds, unit="s")
        parts.append(pd.DataFrame({"time": times, "till": till, "amount": rng.gamma(2, 5, 400).round(2)}))
    tills = pd.concat(parts)
    tills.to_csv(tmp_path / "tills.csv", index=False)
    check = ["check", tmp_path / "tills.csv"]
    assert "If it names series, say so (--id till)." in outcome(*check)[1]
    assert "say what a step has of its rows (--frequency D --resample sum)." in outcome(*check, "--id", "till")[1]
    code, out, _ = outcome(*check, "--id", "till", "--frequency", "D", "--resample", "sum")
    assert code == 0 and "names: A, B" in out
    tills.sort_values("time").to_csv(tmp_path / "tills.csv", index=False)
    assert "columns hold words" in outcome(*check)[1]  # in order, a word may be the weather
