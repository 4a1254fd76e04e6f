"""Later files that lack a series, or have a new one: the others are forecast, and both are named."""

import numpy as np
import pandas as pd
import pytest

from multiway.errors import DataError, MultiwayWarning
from multiway.tasks.forecasting import Forecaster
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import HORIZON, LOOKBACK, fitted, forecast, make_frame, scores_on


@pytest.fixture(scope="module")
def run():
    return fitted(make_frame(), network=False, read={"missing": "mask"})


def long(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.melt("date", var_name="unique_id", value_name="y").rename(columns={"date": "ds"})


@pytest.mark.parametrize("layout", [lambda frame: frame, long], ids=["wide", "long"])
def test_a_series_that_is_absent_is_named_and_the_others_are_forecast(run, layout):
    whole = forecast(run, make_frame())
    with pytest.warns(
        MultiwayWarning, match=r"the table: series 1 is not there and left out; the others are forecast\."
    ):
        table = forecast(run, layout(make_frame().drop(columns="series 1")))
    expected = whole[whole["unique_id"] != "series 1"].reset_index(drop=True)
    pd.testing.assert_frame_equal(table, expected)
    assert len(table) == 2 * HORIZON


def test_a_new_series_is_named_and_left_out(run):
    with pytest.warns(MultiwayWarning, match=r"series 9 is new to the run and left out"):
        table = forecast(run, long(make_frame().assign(**{"series 9": np.arange(300.0)})))
    pd.testing.assert_frame_equal(table, forecast(run, make_frame()))


def test_series_that_a_run_was_told_to_leave_out_are_not_named(recwarn):
    chosen = fitted(make_frame(), network=False, read={"variates": ["series 0", "series 2"]})
    assert set(forecast(chosen, make_frame())["unique_id"]) == {"series 0", "series 2"}
    assert not [each for each in recwarn if "new to the run" in str(each.message)]


def test_a_file_without_any_series_of_the_run_is_refused(run):
    with pytest.raises(DataError, match=r"none of the run's series series 0, series 1, series 2 are in it"):
        forecast(run, make_frame().rename(columns=lambda name: name.replace("series", "shop")))


def test_a_series_that_has_ended_is_named(run, tmp_path):
    frame, made = make_frame(), Forecaster()
    made._take(run)
    frame.loc[300 - HORIZON :, "series 1"] = np.nan
    said = "series 1: no value in the last 4 steps, and is forecast as if it went on"
    with pytest.warns(MultiwayWarning, match=f"the table: {said}"):
        made.predict(frame)
    frame.to_csv(tmp_path / "ended.csv", index=False)
    assert said in TASK.answer(run, str(tmp_path / "ended.csv"), None, {}).notes
    frame.loc[299, "series 1"] = 3.0
    made.predict(frame)  # a value in the last row: nothing is said
    frame.loc[297:, "series 1"] = [3.0, np.nan, np.nan]
    frame.loc[299, "series 2"] = np.nan
    late = "the table: series 1, series 2 end up to 2 steps before the last row, and these steps are forecast first"
    with pytest.warns(MultiwayWarning, match=rf"{late}\."):
        made.predict(frame)
    with pytest.warns(MultiwayWarning, match=f"{late}, but for series 1: fewer than {LOOKBACK} rows come before"):
        made.predict(frame.iloc[-LOOKBACK - 1 :])
    with pytest.warns(MultiwayWarning, match="the table: series 2 ends 1 step before the last row"):
        made.predict(frame.assign(**{"series 1": frame["series 1"].ffill()}))


def test_scores_of_a_later_file_are_of_the_series_that_are_there(run):
    with pytest.warns(MultiwayWarning, match="series 2 is not there"):
        rows = scores_on(run, make_frame().drop(columns="series 2"))
    assert all(row["value"] is None or np.isfinite(row["value"]) for row in rows)
