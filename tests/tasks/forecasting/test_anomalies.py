"""Past values against the bands of forecasts of one step, and the figure of a forecast."""

import numpy as np
import pandas as pd
import pytest

from command import printed
from multiway import Forecaster
from multiway.errors import ConfigError, DataError
from multiway.tasks.forecasting import anomalies
from multiway.tasks.forecasting.anomalies import score_values
from multiway.tasks.forecasting.forecasts import forecast_columns
from tasks.forecasting.panels import HORIZON, LOOKBACK, read
from tolerances import LONG32

SCORE32 = 1e-3
"""Of differences of values that were rounded to single precision."""


def test_a_score_is_the_distance_over_the_width_of_the_band_a_step_before(finished, frame, monkeypatch):
    monkeypatch.setattr(anomalies, "MAX_CELLS", 40 * 3 * HORIZON)  # in several parts
    table = score_values(finished, read(finished, frame), 80)
    assert len(table) == 3 * (len(frame) - LOOKBACK)
    actual = frame.set_index("date")
    for rows in (LOOKBACK, 200, 297, 299):  # the last have no whole horizon after them
        columns = forecast_columns(finished, read(finished, frame.iloc[:rows]), (80,), use="test")
        middle, low, high = (columns[name][0] for name in ("multiway", "multiway-lo-80", "multiway-hi-80"))
        found, value = table[table["date"] == frame["date"][rows]], actual.loc[frame["date"][rows]].to_numpy()
        assert list(found["unique_id"]) == list(actual.columns)
        np.testing.assert_array_equal(found["y"], value)
        np.testing.assert_allclose(found["multiway"], middle, rtol=LONG32)
        score = (value - middle) / (np.where(value < middle, low, high) - middle)
        np.testing.assert_allclose(found["score"], score, rtol=SCORE32)
    first = frame["date"][finished.facts["splits"]["test"]["start"]]
    assert (table["fitted"] == (table["date"] < first)).all() and table["fitted"].nunique() == 2


def test_one_value_that_is_out_of_line_is_the_farthest(finished, frame):
    odd = frame.copy()
    odd.loc[290, "series 1"] += 40 * frame["series 1"].std()
    table = score_values(finished, read(finished, odd), 99).sort_values("score", ascending=False)
    assert (table["unique_id"].iloc[0], table["date"].iloc[0]) == ("series 1", frame["date"][290])
    assert table["score"].iloc[0] > 10


def test_a_history_without_a_look_back_is_refused_in_one_line(finished, frame):
    with pytest.raises(DataError, match=f"anomalies need {LOOKBACK + 1} rows; there are {LOOKBACK}"):
        score_values(finished, read(finished, frame.iloc[:LOOKBACK]))


def test_the_command_lists_what_lies_outside_and_writes_all(finished, tmp_path):
    out = tmp_path / "scores.csv"
    said = printed("anomalies", finished.folder.path, "--band", "80", "--out", out)
    table = pd.read_csv(out)
    outside = (table["score"] > 1).sum()
    assert f"{outside} of {len(table)} values lie outside the 80 % band of the step before." in said
    assert 0 < outside < 0.4 * len(table)


def test_a_figure_has_the_history_the_forecast_and_the_bands_of_each_series(frame):
    forecaster = Forecaster(horizon=3, lookback=12, network=False).fit(frame)
    drawn = forecaster.plot(series=["series 1"], levels=(50, 90))
    (axes,) = drawn.axes
    history, ahead = axes.lines
    np.testing.assert_array_equal(history.get_ydata(), frame["series 1"].iloc[-12:])
    expected = forecaster.predict(levels=(50, 90), layout="long").set_index("unique_id").loc["series 1"]
    np.testing.assert_array_equal(ahead.get_ydata(), expected["multiway"])
    assert axes.get_legend_handles_labels()[1] == ["history", "forecast", "90 % band", "50 % band"]
    assert [chart.get_title(loc="left") for chart in forecaster.plot().axes] == ["series 0", "series 1", "series 2"]
    with pytest.raises(ConfigError, match=r"Forecaster\.plot: there is no series 'd'"):
        forecaster.plot(series=["d"])
    cutoffs = forecaster.cross_validation(cutoffs=2)["cutoff"]
    assert list(cutoffs.unique()) == list(frame["date"].iloc[[-7, -4]])
