"""Steps that follow the calendar of a file: trading hours, working days, opening hours."""

import warnings

import numpy as np
import pandas as pd
import pytest

import multiway
from command import outcome
from multiway.data import ReadOptions
from multiway.errors import DataError, MultiwayWarning
from multiway.tasks.forecasting.calendar import calendar_features, clock_of, infer_frequency, season_of, step_times
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.read import check_file, later_panel, read_panel
from multiway.tasks.forecasting.steps import Sessions

MINUTES = pd.Timedelta(minutes=15)
HOLIDAYS = ("2024-01-15", "2024-02-19", "2024-03-29")
WEEKDAYS = range(5)


def between(first, last, minutes):
    """Whether a time of day is one of those that steps of so many minutes lead to."""
    start, stop = (60 * int(word[:2]) + int(word[3:]) for word in (first, last))

    def holds(time):
        minute = 60 * time.hour + time.minute
        return start <= minute <= stop and (minute - start) % minutes == 0

    return holds


BARS, OFFICE, MORNING = between("09:30", "15:30", 60), between("09:00", "17:00", 60), between("09:00", "12:00", 60)
TOKYO = (between("09:00", "11:00", 30), between("12:30", "14:30", 30))
CALENDARS = {
    "h Mon-Fri 09:30-15:30": (lambda t: t.weekday() in WEEKDAYS and BARS(t), 7),
    "15min Mon-Fri 09:30-15:45": (lambda t: t.weekday() in WEEKDAYS and between("09:30", "15:45", 15)(t), 26),
    "h 09:00-17:00": (OFFICE, 9),
    "h Mon-Fri 09:00-16:00": (lambda t: t.weekday() in WEEKDAYS and between("09:00", "16:00", 60)(t), 8),
    "h Mon-Fri 00:00-23:00": (lambda t: t.weekday() in WEEKDAYS and t.minute == 0, 24),
    "h Mon-Fri 09:00-17:00; Sat 09:00-12:00": (
        lambda t: (t.weekday() in WEEKDAYS and OFFICE(t)) or (t.weekday() == 5 and MORNING(t)), 49,
    ),
    "30min Mon-Fri 09:00-11:00,12:30-14:30": (lambda t: t.weekday() in WEEKDAYS and any(f(t) for f in TOKYO), 10),
    "D Mon-Sat": (lambda t: t.weekday() != 6 and t == t.normalize(), 6),
    "D Mon-Thu,Sun": (lambda t: t.weekday() not in (4, 5) and t == t.normalize(), 5),
    "D Mon,Wed,Fri 16:00": (lambda t: t.weekday() in (0, 2, 4) and (t.hour, t.minute) == (16, 0), 3),
}  # fmt: skip
"""Whether there is a row at a time, and the steps of a season."""


def open_times(calendar, first, last, zone=None):
    """Times at which a calendar has rows: one after another, each looked at alone."""
    is_open, _ = CALENDARS[calendar]
    times, time, stop = [], pd.Timestamp(first), pd.Timestamp(last)
    while time < stop:
        if is_open(time):
            times.append(time.tz_localize(zone))
        time += MINUTES
    return pd.DatetimeIndex(times)


def without(times, days=HOLIDAYS):
    return times[~times.normalize().tz_localize(None).isin(pd.DatetimeIndex(days))]


def table(times):
    return pd.DataFrame({"time": times, "y": 10 + np.sin(np.arange(len(times)))})


def panel_at(times, frequency):
    values = np.zeros((len(times), 1))
    return Panel(values=values, times=times, names=("a",), frequency=frequency, layout="wide", source="frame")


@pytest.mark.parametrize("zone", [None, "America/New_York"])
@pytest.mark.parametrize("calendar", CALENDARS)
def test_sessions_are_found_and_go_on(calendar, zone):
    """Holidays and an early closing apart, which are gaps; clocks change on 10 March."""
    whole = open_times(calendar, "2024-01-03", "2024-05-02", zone)
    past = whole[whole < pd.Timestamp("2024-04-05 12:10", tz=zone)]
    early = pd.Timestamp("2024-02-09", tz=zone)
    seen = without(past[(past.normalize() != early) | (past.hour < 13)])
    assert infer_frequency(seen) == calendar and season_of(calendar) == CALENDARS[calendar][1]
    panel = panel_at(seen, calendar)
    ahead = whole[whole > seen[-1]]
    assert panel.future_times(len(ahead)).equals(ahead.as_unit(seen.unit))
    numbers = clock_of(whole, calendar)
    assert (np.diff(numbers) == 1).all() and (clock_of(ahead, calendar) == numbers[-len(ahead) :]).all()
    read = read_panel(table(seen), ReadOptions(gaps="fill", missing="mask"))
    assert read.times.equals(past.as_unit(read.times.unit)) and read.frequency == calendar
    assert list(np.isnan(read.values[:, 0])) == list(~past.isin(seen))
    assert str(Sessions.parse(calendar)) == calendar


@pytest.mark.parametrize("calendar", ["h Mon-Fri 09:30-15:30", "h 09:00-17:00"])
def test_the_number_of_a_step_in_its_season_is_its_place_in_the_session(calendar):
    times = open_times(calendar, "2023-12-27", "2024-02-01")
    places = [int((times[times.normalize() == time.normalize()] < time).sum()) for time in times]
    assert (clock_of(times, calendar) % season_of(calendar)).tolist() == places


def hours(days, at="2024-01-01"):
    return pd.date_range(at, periods=24 * days, freq="h")


CONTINUOUS = {
    "an outage of three days": (hours(13).delete(range(50, 122)), "h"),
    "an outage of two weeks": (hours(90).delete(range(500, 500 + 14 * 24)), "h"),
    "hours that lack here and there": (hours(60).delete(np.random.default_rng(0).choice(1400, 200, False)), "h"),
    "days that lack here and there": (pd.date_range("2024-01-01", periods=99).delete([3, 11, 30, 48, 50, 77]), "D"),
    "an hour of maintenance each night": (hours(30)[hours(30).hour != 3], "h"),
    "a week of bars": (open_times("h Mon-Fri 09:30-15:30", "2024-01-08", "2024-01-13"), "h"),
    "opening hours that changed lately": (
        open_times("h 09:00-17:00", "2024-01-01", "2024-03-01").append(
            pd.DatetimeIndex([t for t in hours(12, "2024-03-01") if 10 <= t.hour <= 15])
        ),
        "h",
    ),
    "hours of New York in universal time, after its clocks changed": (
        open_times("h Mon-Fri 09:30-15:30", "2024-06-03", "2024-11-20", "America/New_York").tz_convert("UTC"), "h",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTINUOUS)
def test_what_is_no_calendar_stays_a_step_with_gaps(name):
    times, step = CONTINUOUS[name]
    assert infer_frequency(times) == step
    report = check_file(table(times))
    assert report.summary["step"] == step and not [each for each in report.findings if each.kind == "sessions"]


def test_business_days_keep_their_name():
    days = pd.bdate_range("2024-01-01", periods=130).delete([10, 33, 61])
    assert infer_frequency(days) == "B" and season_of("B") == 5
    saturdays = days.union(pd.DatetimeIndex(["2024-03-02", "2024-05-04"]))
    assert infer_frequency(saturdays) == "D Mon-Fri"


def test_a_check_says_what_the_sessions_are_and_that_holidays_are_gaps():
    times = without(open_times("h Mon-Fri 09:30-15:30", "2024-01-03", "2024-04-05"))
    report = check_file(table(times))
    assert (report.summary["step"], report.summary["season"], report.summary["gaps"]) == ("h Mon-Fri 09:30-15:30", 7, 3)
    said = "\n".join(report.lines())
    assert "note: times are those of sessions, h Mon-Fri 09:30-15:30: a step leads to the next of them" in said
    assert "21 times are absent in 3 gaps" in said and "If these are holidays, ignore them" in said
    assert check_file(table(times), ReadOptions(gaps="ignore")).is_usable


def test_rows_outside_of_sessions_stay_and_are_named():
    whole = open_times("D Mon-Sat", "2024-01-03", "2024-04-25")
    openings = pd.DatetimeIndex(["2024-02-04", "2024-03-31"])
    seen = without(whole, ["2024-01-15"]).union(openings)
    panel = read_panel(table(seen), ReadOptions(gaps="fill", missing="mask"))
    assert panel.times.equals(whole.union(openings).as_unit(panel.times.unit)) and panel.frequency == "D Mon-Sat"
    said = "\n".join(panel.notes)
    assert "2 rows outside of the sessions D Mon-Sat, kept as steps between them (gaps=keep)" in said
    assert list(panel.future_times(2)) == [pd.Timestamp("2024-04-25"), pd.Timestamp("2024-04-26")]


def test_series_with_holidays_of_their_own_share_the_sessions():
    whole = open_times("h Mon-Fri 09:30-15:30", "2024-01-03", "2024-04-05")
    parts = [table(without(whole, [day])).assign(place=f"shut {day}") for day in HOLIDAYS]
    panel = read_panel(pd.concat(parts), ReadOptions(missing="mask"))
    assert panel.frequency == "h Mon-Fri 09:30-15:30" and panel.times.equals(whole.as_unit(panel.times.unit))
    days = whole.normalize().strftime("%Y-%m-%d").to_numpy()
    assert (np.isnan(panel.values) == (days[:, None] == np.array(HOLIDAYS))).all()


def test_ticks_are_resampled_to_sessions_that_are_named():
    rng, calendar = np.random.default_rng(1), "h Mon-Fri 09:30-15:30"
    bars = open_times(calendar, "2024-01-03", "2024-01-20")
    ticks = bars.repeat(5) + pd.to_timedelta(rng.integers(0, 3600, 5 * len(bars)), unit="s")
    frame = pd.DataFrame({"time": ticks.sort_values(), "y": rng.normal(size=len(ticks))})
    options = ReadOptions(frequency="h mon-fri 9:30-15:30", resample="sum", duplicates="keep")
    panel = read_panel(frame, options)
    slow = [frame["y"][(frame["time"] >= bar) & (frame["time"] < bar + pd.Timedelta(hours=1))].sum() for bar in bars]
    assert list(panel.times) == list(bars) and panel.values[:, 0] == pytest.approx(slow)


@pytest.mark.parametrize("frequency", ["h Mon-Foo", "h 9-17", "h Mon-Fri 25:00", "h 17:00-09:00", "W Mon", "h ;"])
def test_sessions_that_say_nothing_are_refused(frequency):
    with pytest.raises(DataError, match=f"'{frequency}' is no step that pandas knows.*as in 'h Mon-Fri 09:30-15:30'"):
        read_panel(table(hours(3)), ReadOptions(frequency=frequency))


def test_hours_and_weekdays_are_features_of_sessions():
    times = open_times("h Mon-Fri 09:30-15:30", "2024-01-03", "2024-01-12")
    features = calendar_features(times, "h Mon-Fri 09:30-15:30")
    assert (features[:, :24].argmax(1) == times.hour).all() and (
        features[:, 24:31].argmax(1) == times.day_of_week
    ).all()
    days = open_times("D Mon-Sat", "2024-01-03", "2024-01-12")
    assert (calendar_features(days, "D Mon-Sat")[:, :7].argmax(1) == days.day_of_week).all()


def later(times, frequency, gaps="error"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MultiwayWarning)
        return later_panel(table(times), ReadOptions(gaps=gaps, missing="mask"), ["y"], frequency)


def test_later_rows_are_in_the_sessions_of_the_run_however_few():
    calendar = "h Mon-Fri 09:30-15:30"
    whole = open_times(calendar, "2024-01-03", "2024-01-31")
    for rows in (1, 2, 3, 12, len(whole)):
        panel = later(whole[:rows], calendar)
        assert panel.frequency == calendar and panel.num_rows == rows
    filled = later(whole[:30].delete(range(14, 21)), calendar, "fill")
    assert filled.times.equals(whole[:30].as_unit(filled.times.unit))
    with pytest.raises(DataError, match=f"trained on steps of {calendar}; these rows follow h"):
        later(hours(9), calendar)


def test_a_run_on_hours_keeps_the_hours_between_sessions():
    bars = open_times("h 09:00-17:00", "2024-01-03", "2024-02-03")
    assert later(bars, "h", "fill").num_rows == 30 * 24 + 9
    assert later(bars, "h", "ignore").frequency == "h"


@pytest.fixture(scope="module")
def bars():
    """Prices that a known rate moves, with a holiday; the last week is ahead."""
    times = without(open_times("h Mon-Fri 09:30-15:30", "2024-01-03", "2024-03-02"), ["2024-02-19"])
    rng = np.random.default_rng(4)
    rate = rng.normal(size=len(times)).round(3)
    values = 50 + 3 * np.cos(2 * np.pi * times.hour.to_numpy() / 7) + 2 * rate + rng.normal(0, 0.1, len(times))
    return pd.DataFrame({"ds": times, "price": values, "rate": rate})


def test_a_run_forecasts_the_next_sessions_everywhere(bars):
    """Forecasts, their plan, paths, past cutoffs and later rows have the same steps."""
    past, ahead = bars.iloc[:-21], bars.iloc[-21:-7]
    options = {"read": {"gaps": "ignore"}}
    made = multiway.Forecaster(7, lookback=21, future=["rate"], network=False, answer="regression", settings=options)
    with pytest.warns(MultiwayWarning, match="7 times are absent in 1 gap"):
        made.fit(past)
    run = made.run_
    assert (run.state.frequency, run.state.season) == ("h Mon-Fri 09:30-15:30", 7)
    answer = made.predict(future_df=ahead[["ds", "rate"]], layout="long")
    assert list(answer["ds"]) == list(ahead["ds"][:7])
    assert np.abs(answer["multiway"].to_numpy() - ahead["price"][:7].to_numpy()).mean() < 0.6
    wrong = ahead.assign(ds=pd.date_range(past["ds"].iloc[-1], periods=15, freq="h")[1:])
    with pytest.raises(DataError, match="after 2024-02-27 15:30:00, to 2024-02-28 15:30:00: they are 2024-02-27 16:30"):
        made.predict(future_df=wrong[["ds", "rate"]])
    paths = made.predict(future_df=ahead[["ds", "rate"]], paths=5)
    assert list(paths["ds"].unique()) == list(ahead["ds"][:7])
    replayed = made.backtest(cutoffs=[past["ds"].iloc[-29]])
    assert list(replayed["ds"]) == list(past["ds"].iloc[-28:-21])
    made.update(ahead.iloc[:7])
    assert list(made.predict(future_df=bars.iloc[-14:][["ds", "rate"]])["ds"]) == list(bars["ds"].iloc[-14:-7])


def test_the_command_line_follows_sessions(tmp_path):
    days = open_times("D Mon-Sat", "2023-06-05", "2024-06-02")
    rng, path = np.random.default_rng(2), tmp_path / "shop.csv"
    sales = 100 + 20 * (days.day_of_week == 5) + rng.normal(0, 3, len(days))
    pd.DataFrame({"ds": days, "sales": sales.round(1)}).to_csv(path, index=False)
    run, args = tmp_path / "run", ["--horizon", 6, "--lookback", 18, "--set", "network=false", "--answer", "ridge"]
    code, out, err = outcome("train", "forecast", "--data", path, *args, "--out", run)
    assert code == 0 and "than the same day of the last week" in out, (out, err)
    code, _, err = outcome("predict", run, "--data", path, "--out", tmp_path / "next.csv")
    assert code == 0, err
    ahead = pd.read_csv(tmp_path / "next.csv", parse_dates=["ds"])
    assert list(ahead["ds"].dt.day_name()) == ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    assert ahead["multiway"].iloc[-1] > ahead["multiway"].iloc[:-1].max() + 10
    named = ["--frequency", "D Mon-Sat", "--gaps", "fill"]
    code, out, _ = outcome("check", path, *named)
    assert code == 0 and "step: D Mon-Sat" in out


def test_steps_over_the_hour_that_clocks_skip_go_on():
    nights = "2h Fri-Sun 20:00-22:00; Sat-Sun 00:00-04:00"
    times = step_times(pd.Timestamp("2024-03-29 20:00", tz="Europe/Berlin"), nights, 14)
    wall = ["20:00", "22:00", "00:00", "02:00", "04:00", "20:00", "22:00", "00:00", "03:00", "04:00", "20:00", "22:00"]
    assert [f"{time:%H:%M}" for time in times[:12]] == wall and times.is_unique
