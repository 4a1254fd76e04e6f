"""Parts of times in several columns, and years by months, are one column of times."""

import numpy as np
import pandas as pd
import pytest

from multiway import Forecaster
from multiway.data.looking import look_at
from multiway.data.options import ReadOptions
from multiway.tasks.forecasting.read import read_panel

HOURS = pd.date_range("2023-11-29", periods=173, freq="h")
DAYS = pd.date_range("2022-11-29", periods=83, freq="D")
MONTHS = pd.date_range("2001-01-01", periods=48, freq="MS")
HOUR = pd.Timedelta(hours=1)
PARTS = {
    "date and clock": (HOURS, {"Date": HOURS.strftime("%Y-%m-%d"), "Time": HOURS.strftime("%H:%M:%S")}),
    "clock with points": (HOURS, {"Date": HOURS.strftime("%d/%m/%Y"), "Time": HOURS.strftime("%H.%M.%S")}),
    "clock first": (HOURS, {"time": HOURS.strftime("%H:%M"), "date": HOURS.strftime("%d.%m.%y")}),
    "halves of a day": (HOURS, {"Date": HOURS.strftime("%m/%d/%Y"), "Time": HOURS.strftime("%I:%M %p")}),
    "date and hour": (HOURS, {"date": HOURS.strftime("%Y-%m-%d"), "hour": HOURS.hour}),
    "hours by their ends": (HOURS + HOUR, {"date": HOURS.normalize(), "hr": HOURS.hour + 1}),
    "few of them": (HOURS[:9] + HOUR, {"date": HOURS[:9].strftime("%d.%m.%Y"), "hr": HOURS[:9].hour + 1}),
    "to their ends": (
        HOURS + HOUR,
        {"year": HOURS.year, "month": HOURS.month, "day": HOURS.day, "hour": HOURS.hour + 1},
    ),
    "to the hour": (HOURS, {"year": HOURS.year, "month": HOURS.month, "day": HOURS.day, "hour": HOURS.hour}),
    "to the day": (DAYS, {"Day": DAYS.day, "Month": DAYS.month, "Year": DAYS.year}),
    "to the month": (MONTHS, {"YEAR": MONTHS.year, "MONTH": MONTHS.month}),
    "words": (MONTHS, {"year": MONTHS.year, "month": MONTHS.strftime("%B")}),
    "short words": (MONTHS, {"year": MONTHS.year, "month": MONTHS.strftime("%b")}),
}


def values(count):
    return np.random.default_rng(3).normal(50, 4, count).round(2)


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("kind", ["frame", "file", "long"])
def test_parts_are_one_time(name, kind, tmp_path):
    times, parts = PARTS[name]
    frame = pd.DataFrame({**parts, "load": values(len(times))})
    if kind == "long":
        frame = pd.concat([frame.assign(place="A"), frame.assign(place="B", load=frame["load"] + 1)])
    elif kind == "file":
        frame.to_csv(tmp_path / "load.csv", index=False)
    panel = read_panel(tmp_path / "load.csv" if kind == "file" else frame)
    assert list(panel.times) == list(times) and panel.names == (("A", "B") if kind == "long" else ("load",))
    np.testing.assert_array_equal(panel.values[:, 0], values(len(times)))
    assert "are parts of one time" in " ".join(panel.notes)


OTHERS = {
    "a whole time": {"date": HOURS.astype(str), "hour": HOURS.hour},
    "dates that differ": {"date": DAYS.astype(str), "hour": 7},
    "no hour": {"date": HOURS.strftime("%Y-%m-%d"), "hour": HOURS.hour + 2},
    "no month": {"year": MONTHS.year, "month": MONTHS.month + 1},
    "a year alone": {"year": range(1950, 2020)},
    "a date too": {"date": MONTHS.astype(str), "year": MONTHS.year, "month": MONTHS.month},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_columns_stay_apart(name):
    frame = pd.DataFrame(OTHERS[name]).assign(load=lambda own: values(len(own)))
    options = ReadOptions(duplicates="first", gaps="ignore", id_column=None, time_column=next(iter(OTHERS[name])))
    for reading in (ReadOptions(duplicates="first", gaps="ignore"), options):
        assert "are parts of one time" not in " ".join(read_panel(frame, reading).notes)


@pytest.mark.parametrize("letters", [3, None])
def test_years_by_months_are_a_series(letters, tmp_path):
    months = [name[:letters] for name in MONTHS[:12].month_name()]
    frame = pd.DataFrame(values(48).reshape(4, 12), columns=months)
    frame.insert(0, "Year", range(2001, 2005))
    frame.to_csv(tmp_path / "rain.csv", index=False)
    panel = read_panel(tmp_path / "rain.csv")
    assert list(panel.times) == list(MONTHS) and look_at(tmp_path / "rain.csv").is_of_series
    np.testing.assert_array_equal(panel.values[:, 0], values(48))
    assert len(read_panel(tmp_path / "rain.csv", ReadOptions(time_column="Year")).names) == 12


def test_columns_of_the_whole_year_are_no_series_next_to_its_months(tmp_path):
    cells, seasons = values(48).reshape(4, 12), ["J-D", "DJF", "Annual", "Mean", "HALF1"]
    frame = pd.DataFrame(cells, columns=MONTHS[:12].strftime("%b")).assign(**dict.fromkeys(seasons, 7.0))
    frame.assign(J=1.0, Year=range(2001, 2005)).to_csv(tmp_path / "warming.csv", index=False)
    panel = read_panel(tmp_path / "warming.csv")
    assert panel.names == ("J", "value")
    assert "J-D, DJF, Annual, Mean, HALF1: of several months, and left out." in panel.notes
    np.testing.assert_array_equal(panel.values[:, 1], values(48))


def test_a_plan_may_have_parts_too():
    times = pd.date_range("2024-01-01", periods=24 * 14, freq="h")
    frame = pd.DataFrame({"date": times.strftime("%m/%d/%Y"), "hour": times.hour + 1, "wind": values(len(times))})
    frame["price"] = 90 - frame["wind"] + values(len(times))[::-1] / 9
    own = {"horizon": 24, "lookback": 48, "future": ["wind"], "settings": {"answer": "ridge"}}
    forecaster = Forecaster(**own).fit(frame[:-24])
    whole = frame.assign(date=times + HOUR).drop(columns="hour")
    same = Forecaster(**own).fit(whole[:-24])
    plan = forecaster.predict(future_df=frame[-24:].drop(columns="price")).rename(columns={"ds": "date"})
    pd.testing.assert_frame_equal(plan, same.predict(future_df=whole[-24:].drop(columns="price")))
