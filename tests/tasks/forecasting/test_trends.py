"""Later values that the trend of the training rows explains are not far from it, and jumps are."""

import warnings

import numpy as np
import pandas as pd
import pytest

from multiway.errors import DataError
from multiway.tasks.forecasting import Forecaster
from multiway.tasks.forecasting.trends import Trend
from tolerances import SUMS64

ROWS = np.arange(300)
RISES = {"line": 50 + 3.0 * ROWS, "growth": 100 * 1.05**ROWS, "decline": 1e4 * 0.97**ROWS}


def table(values, zone=None):
    noise = np.random.default_rng(0).normal(0, 0.02, len(values))
    times = pd.date_range("2000-01-01", periods=len(values), freq="D", tz=zone)
    return pd.DataFrame({"date": times, "y": values * (1 + noise)})


def said(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if "deviations from training" in str(each.message)]


def fitted(frame, **settings):
    return Forecaster(
        horizon=6, lookback=12, settings={"network": False, "answer": "ridge", "levels": (), **settings}
    ).fit(frame)


def test_a_trend_is_the_line_or_the_growth_that_errs_less():
    values = np.stack([5 + 2.0 * ROWS, 3 * 1.01**ROWS, np.where(ROWS % 2, np.nan, 7 - ROWS), 0 * ROWS], 1)
    trend = Trend.of(values)
    np.testing.assert_allclose(trend.drift, [2, 0, -1, 0], rtol=SUMS64, atol=1e-12)
    np.testing.assert_allclose(trend.growth, [0, np.log(1.01), 0, 0], rtol=SUMS64, atol=1e-12)
    later = np.array([[5 + 2.0 * 310, 3 * 1.01**310, 7 - 310, 9]])
    nearest = trend.nearest(later, np.array([11.0]), np.nanmean(values, 0))
    np.testing.assert_allclose(nearest, [[5 + 2.0 * 299, 3 * 1.01**299, 7 - 299, 9]], rtol=SUMS64)
    before = trend.nearest(values, ROWS - 299.0, np.zeros(4))
    np.testing.assert_array_equal(before, values)


@pytest.mark.parametrize("rise", RISES)
@pytest.mark.parametrize("refit", ["closed", "none"])
def test_a_series_that_goes_on_as_in_the_training_is_answered_without_a_word(rise, refit):
    frame = table(RISES[rise])
    forecaster = fitted(frame[:120], refit=refit)
    for call in (forecaster.predict, lambda: forecaster.predict(frame), lambda: forecaster.evaluate(frame[108:])):
        assert said(call) == []


def test_a_jump_on_top_of_a_trend_is_told_and_another_unit_refused():
    frame = table(RISES["growth"])
    forecaster = fitted(frame[:120])
    (words,) = said(lambda: forecaster.evaluate(frame[108:180].assign(y=lambda rows: rows["y"] * 30)))
    assert words.startswith("the table: 'y' lies ")
    with pytest.raises(DataError, match=r"'y' lies [\d,]+ deviations from training in 100 % .*Mind the unit"):
        forecaster.predict(frame[:180].assign(y=lambda rows: rows["y"] * 1000))


def test_a_rise_that_the_training_rows_lack_is_told():
    frame = table(np.where(ROWS < 100, 50.0, 50 + 2.0 * (ROWS - 100)))
    assert len(said(lambda: fitted(frame[:120]).evaluate(frame[108:180]))) == 1


def test_rows_without_the_time_zone_of_the_run_are_told_apart_likewise():
    frame = table(RISES["growth"], "Europe/Berlin")
    forecaster = fitted(frame[:120])
    plain = frame.assign(date=frame["date"].dt.tz_localize(None))
    assert said(lambda: forecaster.predict(plain)) == []
