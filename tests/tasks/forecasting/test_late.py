"""Series that end a few steps before the others."""

import numpy as np
import pandas as pd

from multiway.tasks.forecasting.forecasts import late_by, with_ends
from multiway.tasks.forecasting.panel import Panel

NAN = np.nan


def panel_of(values):
    times = pd.date_range("2024-01-01", periods=len(values))
    names = tuple("abcde"[: len(values[0])])
    return Panel(values=np.array(values, float), times=times, names=names, frequency="D", layout="wide", source="frame")


LATE = panel_of(
    [[1, 2, 3, 4, 5], [1, 2, 3, NAN, NAN], [1, 2, NAN, NAN, NAN], [1, 2, NAN, NAN, 8], [1, NAN, 3, NAN, NAN]]
)


def test_rows_after_the_last_value_are_counted_up_to_a_horizon():
    assert late_by(LATE, targets=5, horizon=5, lookback=1).tolist() == [0, 1, 0, 4, 1]
    assert late_by(LATE, targets=2, horizon=4, lookback=1).tolist() == [0, 1], "four rows are a horizon"
    assert late_by(LATE, targets=5, horizon=5, lookback=2).tolist() == [0, 1, 0, 0, 1], "one row is no look-back"
    assert late_by(panel_of([[1, NAN], [2, NAN]]), targets=2, horizon=2, lookback=1).tolist() == [0, 0]


def test_series_that_lack_most_are_forecast_first_and_the_others_see_it():
    seen = []

    def forecast(rows):
        seen.append(rows.values.copy())
        return np.arange(15.0).reshape(5, 3) + 100 * rows.num_rows

    whole = with_ends(LATE, np.array([0, 4, 1]), forecast)
    assert [len(each) for each in seen] == [1, 4]
    np.testing.assert_array_equal(seen[1][1:, 3], [101, 104, 107])
    np.testing.assert_array_equal(whole.values[1:, 3], [101, 104, 107, 110])
    assert whole.values[4, 4] == 402
    np.testing.assert_array_equal(whole.values[:, :3], LATE.values[:, :3])
    assert np.isnan(LATE.values[1:, 3]).all(), "the panel itself stays"
