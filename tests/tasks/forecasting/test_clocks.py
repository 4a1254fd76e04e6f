"""Zones come back as they came, quarters are times, and irregular times are brought to a step that was given."""

import numpy as np
import pandas as pd
import pytest

from multiway import Forecaster
from multiway.data import ReadOptions
from multiway.errors import DataError, spell_message
from multiway.tasks.forecasting.read import check_file, read_panel


def written(path, times, values=None):
    cells = np.arange(len(times)) * 1.5 if values is None else values
    path.write_text("time,a\n" + "".join(f"{time},{cell}\n" for time, cell in zip(times, cells, strict=True)))
    return path


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Sydney"])
@pytest.mark.parametrize("step", ["h", "D"])
def test_offsets_of_a_zone_come_back_over_a_change_of_clocks(zone, step, tmp_path):
    times = pd.date_range("2024-01-01", periods=4000 if step == "h" else 400, freq=step, tz=zone)
    panel = read_panel(written(tmp_path / "load.csv", times[:-48]))
    assert panel.frequency == step
    assert list(map(str, panel.times)) == list(map(str, times[:-48]))
    assert list(map(str, panel.future_times(48))) == list(map(str, times[-48:]))
    assert any(f"times have the offsets of {zone}" in note for note in panel.notes)


@pytest.mark.parametrize(("written_as", "shown"), [("+05:30", "+05:30"), ("-0300", "-03:00"), ("Z", "+00:00")])
def test_one_offset_is_kept(written_as, shown, tmp_path):
    times = [f"2024-01-{day:02d} 06:00:00{written_as}" for day in range(1, 21)]
    panel = read_panel(written(tmp_path / "load.csv", times))
    assert str(panel.times[0]) == f"2024-01-01 06:00:00{shown}"
    assert str(panel.future_times(1)[0]) == f"2024-01-21 06:00:00{shown}"


def test_offsets_of_no_zone_are_brought_to_utc(tmp_path):
    times = [f"2024-01-{day:02d} 06:00:00{'+02:00' if day % 2 else '+07:00'}" for day in range(1, 21)]
    panel = read_panel(written(tmp_path / "load.csv", times), ReadOptions(gaps="ignore"))
    assert str(panel.times.tz) == "UTC" and "no one zone" in " ".join(panel.notes)


@pytest.mark.parametrize("form", ["{}Q{}", "{}-Q{}", "{}q{}", "Q{1} {0}"])
def test_quarters_are_times(form, tmp_path):
    quarters = [form.format(year, quarter) for year in range(2001, 2007) for quarter in range(1, 5)]
    panel = read_panel(written(tmp_path / "gdp.csv", quarters))
    assert list(panel.times) == list(pd.date_range("2001-01-01", periods=24, freq="QS"))
    assert panel.frequency.startswith("QS") and panel.future_times(1)[0] == pd.Timestamp("2007-01-01")
    assert check_file(tmp_path / "gdp.csv").summary["season"] == 4


def test_a_quarter_that_is_not_is_named(tmp_path):
    quarters = [f"{year}Q{quarter}" for year in range(2001, 2007) for quarter in range(1, 5)]
    with pytest.raises(DataError, match=r"1 of 24 times are absent .*: line 4, column 'time', value '2001Q5'"):
        read_panel(written(tmp_path / "gdp.csv", [*quarters[:2], "2001Q5", *quarters[3:]]))


IRREGULAR = ["00:02", "00:14", "00:31", "01:00", "02:05", "02:29", "02:59"]
TO_HALF_HOURS = ReadOptions(gaps="fill", frequency="30min", missing="mask")


def test_a_given_step_takes_irregular_times_and_never_looks_ahead(tmp_path):
    path = written(tmp_path / "load.csv", [f"2024-01-01 {clock}" for clock in IRREGULAR], [1, 2, 3, 4, 5, 6, 7])
    panel = read_panel(path, TO_HALF_HOURS)
    assert list(panel.times.strftime("%H:%M")) == ["00:30", "01:00", "01:30", "02:00", "02:30", "03:00"]
    np.testing.assert_array_equal(panel.values[:, 0], [2, 4, np.nan, np.nan, 6, 7])
    assert panel.frequency == "30min"
    assert any("6 rows moved to the step of 30min, which has the last of its rows" in note for note in panel.notes)


@pytest.mark.parametrize(
    ("by", "hours", "expected"),
    [("last", "00:00 01:00 02:00 03:00", [9, 4, np.nan, 7]), ("sum", "00:00 01:00 02:00", [15, 4, 18]),
     ("mean", "00:00 01:00 02:00", [3.75, 4, 6])],
)  # fmt: skip
def test_rows_are_resampled_as_it_is_said_and_gaps_are_missing(tmp_path, by, hours, expected):
    clocks = ["00:00", *IRREGULAR]
    path = written(tmp_path / "load.csv", [f"2024-01-01 {clock}" for clock in clocks], [9, 1, 2, 3, 4, 5, 6, 7])
    panel = read_panel(path, ReadOptions(frequency="h", resample=by))
    assert list(panel.times.strftime("%H:%M")) == hours.split()
    np.testing.assert_array_equal(panel.values[:, 0], expected)
    assert panel.frequency == "h" and "which has the" in " ".join(map(spell_message, panel.warned))


def test_sales_of_one_moment_are_summed():
    ticks = pd.to_datetime([f"2024-01-0{day} {clock}" for day in (1, 2, 3, 5) for clock in ("09:30", "09:30", "17:00")])
    frame = pd.DataFrame({"ds": ticks, "y": np.arange(12.0)})
    panel = read_panel(frame, ReadOptions(frequency="D", resample="sum"))
    np.testing.assert_array_equal(panel.values[:, 0], [3, 12, 21, np.nan, 30])
    long = pd.concat([frame.assign(unique_id="a"), frame.assign(unique_id="b", y=1.0)])
    both = read_panel(long, ReadOptions(frequency="D", resample="sum"))
    np.testing.assert_array_equal(both.values, [[3, 3], [12, 3], [21, 3], [np.nan] * 2, [30, 3]])


@pytest.mark.parametrize("step", ["ME", "BME", "QE", "YE-JUN", "MS"])
@pytest.mark.parametrize("by", ["sum", "mean", "last"])
def test_months_quarters_and_years_have_their_own_rows(step, by):
    hours = pd.date_range("2022-01-31 07:00", "2024-08-20 15:00", freq="5h")
    hours = hours[hours.day <= 28] if step == "BME" else hours  # what is after its last business day is of the next
    frame = pd.DataFrame({"ds": hours, "y": np.random.default_rng(1).normal(size=len(hours))})
    panel = read_panel(frame, ReadOptions(frequency=step, resample=by))
    if (step, by) == ("MS", "last"):
        assert panel.times[0] == pd.Timestamp("2022-02-01")  # the last value up to it
        return
    expected = frame.set_index("ds")["y"].resample(step).agg(by)
    if by != "last":  # without the parts at either end; there is none where rows begin on the first of a month
        expected = expected.iloc[int(step != "BME") : -1]
    pd.testing.assert_series_equal(
        pd.Series(panel.values[:, 0], panel.times), expected, check_names=False, check_freq=False
    )


@pytest.mark.parametrize(
    ("step", "words"),
    [("h", "between 2024-01-01 00:00:00 and 2024-01-03 .* row 0"), ("YS", "40 rows make 1 step of YS: row 0")],
)
def test_a_step_that_makes_no_sense_is_refused_with_its_rows(step, words):
    days = pd.date_range("2024-01-01", periods=40, freq="2D") + pd.to_timedelta([0, *[3] * 39], unit="min")
    with pytest.raises(DataError, match=f"{words}.*Choose another step"):
        read_panel(pd.DataFrame({"ds": days, "y": np.arange(40.0)}), ReadOptions(frequency=step, resample="mean"))


def test_each_series_keeps_its_own_last_value():
    frame = pd.DataFrame({
        "ds": pd.to_datetime([f"2024-01-01 {clock}" for clock in ("00:02", "00:14", "00:29", "00:45")]),
        "unique_id": ["a", "b", "a", "b"], "y": [1.0, 2.0, 3.0, 4.0],
    })  # fmt: skip
    panel = read_panel(frame, TO_HALF_HOURS)
    np.testing.assert_array_equal(panel.values, [[3, 2], [np.nan, 4]])


@pytest.mark.parametrize(
    ("frequency", "first"),
    [("D", "2024-01-02"), ("W-MON", "2024-01-08"), ("MS", "2024-02-01"), ("6h", "2024-01-01 12:00")],
)
def test_steps_of_the_calendar(frequency, first):
    times = pd.date_range("2024-01-01 07:13", periods=200, freq="17h").delete([5, 6, 90])
    options = ReadOptions(gaps="fill", frequency=frequency, missing="mask")
    panel = read_panel(pd.DataFrame({"time": times, "a": 1.0}), options)
    assert panel.times[0] == pd.Timestamp(first)
    assert panel.times.equals(pd.date_range(panel.times[0], periods=len(panel.times), freq=frequency).as_unit("us"))


def test_without_a_step_the_option_is_named(tmp_path):
    path = written(tmp_path / "load.csv", [f"2024-01-01 {clock}" for clock in IRREGULAR])
    with pytest.raises(DataError, match=r"set frequency to the step.* \(read\.frequency=D read\.resample=sum\)"):
        read_panel(path, ReadOptions(gaps="fill", missing="mask"))


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d-%m-%y", "%Y%m", "%Y-M%m", "%d-%b-%y", "%d %b %y"])
def test_a_year_of_months_is_read_as_the_run_read_many(form):
    months = pd.date_range("2015-01-01", periods=96, freq="MS")
    frame = pd.DataFrame({"date": months.strftime(form), "y": np.random.default_rng(1).normal(50, 5, 96)})
    frame["date"] = frame["date"].astype("int64") if form == "%Y%m" else frame["date"]
    forecaster = Forecaster(horizon=3, lookback=6, levels=(), settings={"answer": "ridge"}).fit(frame)
    own = forecaster.predict()
    assert list(own["date"]) == list(pd.date_range("2023-01-01", periods=3, freq="MS"))
    for rows in (12, 6):
        pd.testing.assert_frame_equal(forecaster.predict(frame.tail(rows)), own)


def test_hours_of_a_later_table_are_those_of_the_zone_of_the_run():
    hours = pd.date_range(
        "2024-09-20", periods=24 * 30, freq="h", tz="Europe/Berlin"
    )  # up to a week before clocks change
    rng = np.random.default_rng(2)
    load = np.where(hours.hour < 7, 20.0, 60.0) * (1 + rng.normal(0, 0.01, len(hours)))
    frame = pd.DataFrame({"time": hours, "load": load})
    own = {"horizon": 4, "lookback": 5, "levels": (), "network": False}
    forecaster = Forecaster(**own, settings={"answer": "regression", "calendar": True}).fit(frame)
    later = frame.iloc[-50:-1]  # what follows are the first hours of a day
    expected = forecaster.predict(later)
    for zone in ("UTC", "Asia/Tokyo", "+02:00"):
        moved = forecaster.predict(later.assign(time=later["time"].dt.tz_convert(zone)))
        pd.testing.assert_frame_equal(moved, expected)


@pytest.mark.parametrize("step", ["MS", "ME", "W-SUN"])
def test_steps_of_which_rows_cover_a_part_are_left_out_and_named(step):
    days = pd.date_range("2023-01-20", "2024-06-10", freq="D")
    frame = pd.DataFrame({"ds": days, "y": 1.0 + np.arange(len(days)) % 2})
    panel = read_panel(frame, ReadOptions(frequency=step, resample="sum"))
    first, last = {
        "MS": ("2023-02-01", "2024-05-01"),
        "ME": ("2023-02-28", "2024-05-31"),
        "W-SUN": ("2023-01-22", "2024-06-02"),
    }[step]
    assert (str(panel.times[0])[:10], str(panel.times[-1])[:10]) == (first, last)
    by_month = frame.groupby(frame["ds"].dt.to_period("M"))["y"].sum()
    expected = by_month.loc["2023-02":"2024-05"] if step != "W-SUN" else None
    assert not np.isnan(panel.values).any()
    assert expected is None or panel.values[:, 0].tolist() == expected.tolist()
    notes = " ".join(map(str, panel.notes))
    assert f"the first step of {step} has rows from 2023-01-20" in notes and "to 2024-06-10 00:00:00 alone" in notes


def test_a_monthly_series_keeps_its_last_step_beside_a_daily_one():
    days = pd.date_range("2023-01-01", "2024-06-10", freq="D")
    daily = pd.DataFrame({"id": "daily", "ds": days, "y": 1.0})
    monthly = pd.DataFrame({"id": "monthly", "ds": pd.date_range("2023-01-01", "2024-06-01", freq="MS"), "y": 5.0})
    options = ReadOptions(id_column="id", value_column="y", time_column="ds", frequency="MS", resample="sum")
    panel = read_panel(pd.concat([daily, monthly], ignore_index=True), options)
    assert str(panel.times[-1])[:7] == "2024-06" and np.isnan(panel.values[-1, 0]) and panel.values[-1, 1] == 5
