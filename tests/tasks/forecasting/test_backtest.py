"""Frozen runs on other rows: scores of a later file, forecasts from past moments."""

import numpy as np
import pandas as pd
import pytest

from multiway.errors import ConfigError, DataError
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.forecasting import backtest_frame, score_backtest
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import HORIZON, LOOKBACK, fitted, forecast, make_frame, read, scores_on
from tolerances import LONG32, SUMS32


def test_each_cutoff_is_the_forecast_of_the_rows_up_to_it(finished, frame):
    table = backtest_frame(finished, read(finished, frame), cutoffs=3)
    assert len(table) == 3 * 3 * HORIZON
    for cutoff, part in table.groupby("cutoff"):
        known = frame[frame["date"] <= cutoff]
        expected = forecast(finished, known)
        np.testing.assert_allclose(part["multiway"], expected["multiway"], rtol=LONG32)
        assert list(part["ds"]) == list(expected["ds"]) and list(part["unique_id"]) == list(expected["unique_id"])
        actual = frame.set_index("date").loc[part["ds"].iloc[:HORIZON]]
        np.testing.assert_array_equal(part["y"], actual.to_numpy().T.ravel())


def test_counted_cutoffs_end_a_horizon_before_the_end(finished, frame):
    cutoffs = backtest_frame(finished, read(finished, frame), cutoffs=3, step=2)["cutoff"].unique()
    assert list(cutoffs) == list(frame["date"].iloc[[291, 293, 295]])


def test_more_cutoffs_than_there_are_gives_all(finished, frame):
    table = backtest_frame(finished, read(finished, frame), cutoffs=10_000, step=1)
    assert table["cutoff"].nunique() == 300 - LOOKBACK - HORIZON + 1


def test_cutoffs_may_be_named(finished, frame):
    named = backtest_frame(finished, read(finished, frame), cutoffs=["2024-01-10 00:00", frame["date"][250]])
    assert list(named["cutoff"].unique()) == [pd.Timestamp("2024-01-10"), frame["date"][250]]


def test_local_times_stay_local(finished, frame):
    local = frame.assign(date=frame["date"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    table = backtest_frame(finished, read(finished, local), cutoffs=["2024-01-10 00:00"])
    assert str(table["ds"].dt.tz) == str(table["cutoff"].dt.tz) == "Asia/Tokyo"
    assert str(table["cutoff"][0]) == "2024-01-10 00:00:00+09:00"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"cutoffs": 0}, ConfigError, "cutoffs and step are at least 1"),
        ({"cutoffs": 3, "step": 0}, ConfigError, "Got cutoffs=3, step=0"),
        ({"cutoffs": []}, ConfigError, "give at least one cutoff"),
        ({"cutoffs": ["2024-01-01 05:00"]}, DataError, r"leaves no room .* Choose one from 2024-01-01 11:00:00 to"),
        ({"cutoffs": ["2024-01-13 11:00"]}, DataError, "leaves no room for lookback 12 or horizon 4"),
        ({"cutoffs": ["2024-01-05 00:30"]}, DataError, "is none of its times"),
        ({"cutoffs": ["soon"]}, DataError, "the cutoff soon is none of its times"),
    ],
)
def test_cutoffs_that_cannot_be_are_refused(finished, frame, arguments, error, message):
    with pytest.raises(error, match=message):
        backtest_frame(finished, read(finished, frame), **arguments)


def test_too_few_rows_are_refused(finished, frame):
    with pytest.raises(DataError, match=r"one window needs 16 rows \(lookback 12, horizon 4\); there are 15"):
        backtest_frame(finished, read(finished, frame.iloc[:15]))


def test_scores_are_per_cutoff_and_model_in_the_units_of_the_data(finished, frame):
    table = backtest_frame(finished, read(finished, frame), cutoffs=2)
    rows = score_backtest(table)
    assert {row["model"] for row in rows} == {"multiway", "ridge", "network", "seasonal_naive", "naive"}
    first = table[table["cutoff"] == table["cutoff"].min()]
    expected = float(((first["ridge"] - first["y"]) ** 2).mean())
    assert next(row["mse"] for row in rows if row["model"] == "ridge") == pytest.approx(expected)


def test_a_later_file_is_scored_with_the_scaler_of_the_training(finished):
    later = make_frame(rows=100, seed=9)
    later["date"] += pd.Timedelta(days=40)
    rows = scores_on(finished, later)
    table = backtest_frame(finished, read(finished, later), cutoffs=10_000, step=1)
    scale = dict(zip(finished.state.names, finished.state.scaler.std, strict=True))
    error = (table["ridge"] - table["y"]) / table["unique_id"].map(scale)
    got = {(row["model"], row["scale"], row["metric"]): row["value"] for row in rows}
    assert got["ridge", "scaled", "mse"] == pytest.approx(float((error**2).mean()), rel=LONG32)
    assert got["ridge", "original", "mae"] == pytest.approx(
        float((table["ridge"] - table["y"]).abs().mean()), rel=LONG32
    )


def test_nothing_to_compare_with_is_refused(frame):
    run = fitted(frame, network=False, read={"missing": "mask"}, targets=("series 2",))
    later = frame.iloc[:60].copy()
    later.loc[LOOKBACK:, "series 2"] = np.nan
    with pytest.raises(DataError, match="no value to score stands after the first 12 rows"):
        scores_on(run, later)


def test_scores_on_the_training_file_s_test_rows_are_the_stored_ones(finished, frame):
    test = frame.iloc[240 - LOOKBACK :]
    rows = scores_on(finished, test)
    stored = [row for row in finished.scores if row["split"] == "test"]
    for row, old in zip(rows, stored, strict=True):
        assert row["value"] == pytest.approx(old["value"], rel=SUMS32), old


def test_a_backtest_forecasts_in_the_batches_that_scoring_does(finished, monkeypatch):
    later = make_frame(rows=400)
    monkeypatch.setattr("multiway.tasks.forecasting.windows.BATCH_CELLS", 3 * (LOOKBACK + HORIZON) * 100)
    sizes: list[int] = []
    forecasts = WeighedForecasts.all_forecasts

    def count(self, past, *others):
        sizes.append(len(past))
        return forecasts(self, past, *others)

    monkeypatch.setattr(WeighedForecasts, "all_forecasts", count)
    backtest_frame(finished, read(finished, later), cutoffs=10_000, step=1)
    in_backtest, sizes[:] = sizes.copy(), []
    scores_on(finished, later)
    assert in_backtest == sizes == [100, 100, 100, 85]


def test_a_requested_model_is_scored_alone(finished):
    every = TASK.backtest(finished, None, None, {"cutoffs": 2}).frame
    chosen = TASK.backtest(finished.with_answer("ridge"), None, None, {"cutoffs": 2}).frame
    assert list(chosen["model"]) == ["ridge"] * 2 and set(every["model"]) > {"ridge", "multiway"}
    expected = every[every["model"] == "ridge"].reset_index(drop=True)
    pd.testing.assert_frame_equal(chosen, expected)
