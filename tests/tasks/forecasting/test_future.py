"""The steps after the end of a file: their times, their columns, their bands."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from command import outcome
from multiway.errors import ConfigError, DataError, MultiwayWarning
from multiway.tasks.forecasting.bands import Bands
from multiway.tasks.forecasting.forecasts import future_frame
from multiway.tasks.forecasting.plan import read_plan
from multiway.tasks.forecasting.read import read_panel
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import HORIZON, LOOKBACK, fitted, forecast, make_frame, read, shop
from tolerances import LONG32, ROUNDING32

BANDS = ["multiway", "multiway-lo-80", "multiway-hi-80", "multiway-lo-95", "multiway-hi-95"]


def test_long_is_a_row_per_series_and_time(finished, frame):
    table = forecast(finished, frame)
    assert list(table.columns) == ["unique_id", "ds", *BANDS]
    assert list(table["unique_id"].unique()) == ["series 0", "series 1", "series 2"]
    expected = pd.date_range("2024-01-13 12:00", periods=HORIZON, freq="h")
    for _, part in table.groupby("unique_id"):
        assert list(part["ds"]) == list(expected)


def test_wide_is_a_column_per_series(finished, frame):
    wide, long = forecast(finished, frame, layout="wide"), forecast(finished, frame)
    assert list(wide.columns[:4]) == ["ds", "series 0", "series 0-lo-80", "series 0-hi-80"]
    assert wide.shape == (HORIZON, 1 + 3 * len(BANDS))
    for name in ("series 0", "series 2"):
        np.testing.assert_array_equal(wide[name], long.query("unique_id == @name")["multiway"])


def test_bands_hold_the_forecast_and_widen_with_the_level(finished, frame):
    table = forecast(finished, frame)
    edges = table[["multiway-lo-95", "multiway-lo-80", "multiway", "multiway-hi-80", "multiway-hi-95"]].to_numpy()
    assert (np.diff(edges, axis=1) >= 0).all()


def test_bands_are_as_wide_as_validation_errors_in_the_units_of_the_data(finished, frame):
    table, edges = forecast(finished, frame), Bands.read(finished.calibration).edges((80.0, 95.0))
    for index, level in enumerate((80, 95)):
        radius = (edges[index, 1].double().numpy() * finished.state.scaler.std).T.ravel()
        np.testing.assert_allclose(table[f"multiway-hi-{level}"] - table["multiway"], radius, rtol=ROUNDING32)
        np.testing.assert_allclose(table["multiway"] - table[f"multiway-lo-{level}"], radius, rtol=ROUNDING32)


def test_the_forecast_is_that_of_the_last_window_in_the_units_of_the_data(frame):
    run = fitted(frame, network=False, refit="none")
    table = forecast(run, frame, levels=())
    values = frame.iloc[-LOOKBACK:, 1:].to_numpy()
    scaled = (values - run.state.scaler.mean) / run.state.scaler.std
    weight = run.model.floor.weight.numpy()
    steps = np.einsum("vhl,lv->hv", np.broadcast_to(weight, (3, *weight.shape[1:])), scaled - scaled[-1])
    expected = (scaled[-1] + steps) * run.state.scaler.std + run.state.scaler.mean
    np.testing.assert_allclose(table["multiway"], expected.T.ravel(), rtol=LONG32)
    assert list(table.columns) == ["unique_id", "ds", "multiway"]


def test_columns_are_matched_by_name(finished, frame):
    shuffled = frame[["series 2", "date", "series 0", "series 1"]].assign(other=1.5)
    with pytest.warns(MultiwayWarning, match="other is new to the run and left out"):
        table = forecast(finished, shuffled)
    pd.testing.assert_frame_equal(table, forecast(finished, frame))


def test_only_the_last_look_back_matters(finished, frame):
    pd.testing.assert_frame_equal(forecast(finished, frame.iloc[-LOOKBACK:]), forecast(finished, frame))


def test_too_little_history_is_refused(finished, frame):
    with pytest.raises(DataError, match=r"the table: a forecast needs 12 steps of history; there are 11\. Give more\."):
        forecast(finished, frame.iloc[-LOOKBACK + 1 :])


def test_another_step_is_refused(finished):
    for freq, shown in (("D", "D"), ("10min", "10min"), ("30min", "30min")):
        with pytest.raises(DataError, match=f"trained on steps of h; these rows follow {shown}"):
            forecast(finished, make_frame(freq=freq))


def test_an_unknown_layout_is_refused(finished, frame):
    with pytest.raises(ConfigError, match="layout is long or wide, got 'tall'"):
        forecast(finished, frame, layout="tall")


def test_wide_columns_of_one_name_are_refused(frame):
    frame = frame.rename(columns={"series 1": "series 0-lo-80"})
    with pytest.raises(ConfigError, match="two columns of the wide table would have one name"):
        forecast(fitted(frame, network=False), frame, layout="wide")


@pytest.mark.parametrize(
    ("freq", "rows", "expected"),
    [
        ("D", 90, ["2024-03-31", "2024-04-01"]),
        ("MS", 60, ["2029-01-01", "2029-02-01"]),
        ("W-MON", 60, ["2025-02-24", "2025-03-03"]),
        ("15min", 60, ["2024-01-01 15:00", "2024-01-01 15:15"]),
    ],
)
def test_times_go_on_in_the_step_of_the_data(freq, rows, expected):
    frame = make_frame(rows=rows, freq=freq)
    run = fitted(frame, network=False, lookback=6, horizon=2, levels=())
    for source in (frame, frame.iloc[-6:]):
        got = forecast(run, source, levels=()).query("unique_id == 'series 0'")["ds"]
        assert list(got) == list(pd.to_datetime(expected))


def test_local_days_keep_their_hour_over_a_change_of_clocks():
    frame = make_frame(rows=90, freq="D")
    frame["date"] = pd.date_range("2024-01-01", periods=90, freq="D", tz="Europe/Berlin")  # up to 30 March
    got = forecast(fitted(frame, network=False, lookback=6, horizon=3, levels=()), frame, levels=())["ds"][:3]
    assert [str(time) for time in got] == [
        "2024-03-31 00:00:00+01:00",
        "2024-04-01 00:00:00+02:00",
        "2024-04-02 00:00:00+02:00",
    ]


def test_local_hours_skip_the_hour_that_is_not_there():
    frame = make_frame(rows=90)
    frame["date"] = pd.date_range("2024-03-27 07:00", periods=90, freq="h", tz="Europe/Berlin")  # up to 00:00, 31 March
    got = forecast(fitted(frame, network=False, lookback=6, horizon=3, levels=()), frame, levels=())["ds"][:3]
    assert [str(time)[11:16] for time in got] == ["01:00", "03:00", "04:00"]


def test_integer_times_go_on():
    frame = make_frame()
    frame["date"] = np.arange(300) * 5
    run = fitted(frame, network=False)
    assert forecast(run, frame, levels=())["ds"][:4].tolist() == [1500, 1505, 1510, 1515]


def test_rows_taken_as_steps_keep_the_run_s_step(frame):
    weekdays = frame.iloc[:300].assign(date=pd.bdate_range("2024-01-01", periods=300))
    run = fitted(weekdays, network=False, read={"gaps": "ignore"})
    short = weekdays.iloc[-LOOKBACK:]
    assert list(forecast(run, short)["ds"]) == list(forecast(run, weekdays)["ds"])


def test_what_series_lack_at_the_end_is_forecast_first(frame):
    run = fitted(frame, network=False, read={"missing": "mask"})
    held, before, whole = frame.copy(), frame.iloc[:297], frame.copy()
    held.loc[297:, "series 2"], held.loc[299:, "series 0"] = np.nan, np.nan
    whole.loc[297:, "series 2"] = forecast(run, before, layout="wide")["series 2"].to_numpy()[:3]
    whole.loc[299, "series 0"] = forecast(run, whole.iloc[:299], layout="wide")["series 0"].iloc[0]
    got, expected = forecast(run, held, layout="wide"), forecast(run, whole, layout="wide")
    names = ["series 0", "series 1", "series 2"]
    np.testing.assert_allclose(got[names], expected[names], rtol=ROUNDING32)
    offsets = Bands.read(run.calibration).edges((80.0,))[0, 1].double().numpy() * run.state.scaler.std
    for place, steps in enumerate(([1, 2, 3, 3], [0, 1, 2, 3], [3, 3, 3, 3])):
        radius = got[f"{names[place]}-hi-80"] - got[names[place]]
        np.testing.assert_allclose(radius, offsets[steps, place], rtol=ROUNDING32)


def test_a_series_that_lacks_a_horizon_is_forecast_from_its_last_value(frame):
    run = fitted(frame, network=False, read={"missing": "mask"})
    held, filled = frame.copy(), frame.copy()
    held.loc[296:, "series 0"] = np.nan
    filled.loc[296:, "series 0"] = filled.loc[295, "series 0"]
    np.testing.assert_allclose(forecast(run, held)["multiway"], forecast(run, filled)["multiway"])


def test_what_is_known_ahead_of_the_end_of_a_series_counts():
    sales = shop()
    run = fitted(sales, network=False, lookback=28, future=["holiday"], read={"missing": "mask"})
    days = pd.DataFrame({"date": pd.date_range("2023-09-03", periods=4), "holiday": [False, True, False, False]})
    known = pd.concat([sales[["date", "store", "holiday"]], *(days.assign(store=name) for name in ("north", "south"))])

    def after(history):
        panel = read(run, history)
        return future_frame(run, panel, (), "wide", (), read_plan(run, panel, known))

    held, whole = sales.copy(), sales.copy()
    held.loc[243:244, "sales"] = np.nan  # the last two days of north
    whole.loc[243:244, "sales"] = after(sales[sales["date"] < "2023-09-01"])["north"].to_numpy()[:2]
    np.testing.assert_allclose(after(held)[["north", "south"]], after(whole)[["north", "south"]], rtol=LONG32)
    flat = sales.assign(sales=held["sales"].ffill())
    assert (after(held)["north"] - after(flat)["north"]).abs().max() > 5


def test_a_panel_keeps_its_values(frame):
    run = fitted(frame, network=False)
    panel = read(run, frame)
    np.testing.assert_array_equal(panel.values, read_panel(frame).values)
    assert dataclasses.replace(panel).frequency == "h"


def test_a_requested_model_has_no_bands_and_says_so(finished):
    options = {"levels": (80.0,)}
    own, chosen = (TASK.answer(run, None, None, options) for run in (finished, finished.with_answer("ridge")))
    assert "multiway-lo-80" in own.frame and not own.notes
    assert list(chosen.frame) == ["unique_id", "date", "multiway"]
    assert chosen.notes == ("bands are of the answer's errors, so the forecast of another model has none",)


def test_any_level_and_quantile_can_be_forecast_after_the_training(finished, frame):
    panel = read(finished, frame)
    table = future_frame(finished, panel, (50, 90), "long", (0.05, 0.25, 0.95))
    columns = [f"multiway-{name}" for name in ("lo-50", "hi-50", "lo-90", "hi-90", "q-5", "q-25", "q-95")]
    assert list(table.columns) == ["unique_id", "ds", "multiway", *columns]
    np.testing.assert_allclose(
        table[["multiway-q-5", "multiway-q-25", "multiway-q-95"]],
        table[["multiway-lo-90", "multiway-lo-50", "multiway-hi-90"]],
        rtol=ROUNDING32,
    )
    between = forecast(finished, frame)
    assert (table["multiway-hi-90"].between(between["multiway-hi-80"], between["multiway-hi-95"])).all()
    alone = future_frame(finished, panel, None, "wide", (0.5,))
    assert list(alone.columns)[:3] == ["ds", "series 0", "series 0-q-50"]


def test_the_command_forecasts_any_level_and_quantile(finished, tmp_path):
    words = ["predict", finished.folder.path, "--data", finished.config.data, "--out", tmp_path / "next.csv"]
    code, _, err = outcome(*words, "--levels", "50", "--quantiles", ".1,.9")
    assert code == 0, err
    names = ["lo-50", "hi-50", "q-10", "q-90"]
    assert list(pd.read_csv(tmp_path / "next.csv").columns[3:]) == [f"multiway-{name}" for name in names]
    assert outcome(*words, "--quantiles", "10")[0] == 2
