"""Some series are forecast from the others: what is seen, scored and written, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.errors import ConfigError, DataError
from multiway.models.windows import WindowBaseline
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import Forecaster
from multiway.tasks.forecasting.forecasts import backtest_frame
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import Windows
from multiway.tasks.protocol import OURS
from tasks.forecasting.panels import (
    HORIZON,
    LOOKBACK,
    fitted,
    forecast,
    make_config,
    make_frame,
    make_windows,
    scores_on,
)
from tolerances import SUMS32, assert_same

RNN = {"name": "recurrent_forecaster", "hidden_sizes": [6, 1]}
TARGET = {
    "targets": ["series 1"], "model": RNN, "answer": "network", "baselines": ["mean", "ridge_inputs"]
}  # fmt: skip


@pytest.fixture(scope="module")
def run():
    return fitted(make_frame(), **TARGET)


def score_of(rows, model, metric="mse", scale="scaled"):
    [value] = [
        row["value"] for row in rows
        if (row["model"], row["metric"], row["scale"], row["split"]) == (model, metric, scale, "test")
    ]  # fmt: skip
    return value


def test_windows_hold_the_targets_alone_in_their_future():
    rows = torch.arange(60.0).view(20, 3)
    windows = Windows(rows, None, start=0, stop=20, lookback=4, horizon=2, num_targets=1)
    batch = windows.gather(torch.tensor([7]))
    assert torch.equal(batch["past"][0], rows[7:11]) and torch.equal(batch["future"][0], rows[11:13, 2:])
    own = windows.of_targets().gather(torch.tensor([7]))
    assert torch.equal(own["past"][0], rows[7:11, 2:]) and torch.equal(own["future"][0], rows[11:13, 2:])
    chosen = windows.replace(chosen=torch.tensor([7, 9]))
    assert len(chosen) == 2 and chosen.start_rows().tolist() == [7, 9]
    assert torch.equal(chosen.gather(torch.tensor([0]))["past"], batch["past"])


def test_missing_cells_of_targets_are_known():
    windows = make_windows(40, 3, 4, 2, missing=0.3)
    whole = windows.gather(torch.arange(5))
    part = Windows(windows.rows, windows.observed, start=0, stop=40, lookback=4, horizon=2, num_targets=2)
    batch = part.gather(torch.arange(5))
    assert torch.equal(batch["future_observed"], whole["future_observed"][..., 1:])
    assert torch.equal(part.of_targets().gather(torch.arange(5))["past_observed"], whole["past_observed"][..., 1:])


def test_targets_come_last_and_are_all_that_is_scored_and_written(run):
    assert run.state.names == ("series 0", "series 2", "series 1") and run.state.targets == ("series 1",)
    assert set(run.tables["errors"]["variate"]) == {"series 1"}
    frame = make_frame()
    later = forecast(run, frame)
    assert list(later["unique_id"].unique()) == ["series 1"] and len(later) == HORIZON
    wide = forecast(run, frame, layout="wide")
    assert [name for name in wide.columns if "-" not in name] == ["ds", "series 1"]
    tested = backtest_frame(run, run.prepared.panel, cutoffs=2)
    assert set(tested["unique_id"]) == {"series 1"}
    actual = frame.set_index("date")["series 1"]
    np.testing.assert_allclose(tested["y"], actual[tested["ds"]], rtol=SUMS32)
    assert {"network", "mean", "ridge_inputs", "ridge", "naive"} <= set(tested.columns)


def test_scores_are_of_the_forecasts_written_out(run):
    """The test windows one by one, in the units of the file."""
    panel, (start, stop) = run.prepared.panel, run.prepared.borders.test
    scaler, model = run.state.scaler, run.models[OURS]
    errors = []
    for row in range(start, stop - HORIZON + 1):
        past = scaler.transform(panel.values[row - LOOKBACK : row])
        with torch.no_grad():
            found = model(torch.from_numpy(past).float()[None])[0, :, 0].double().numpy()
        errors.append(found * scaler.std[2] + scaler.mean[2] - panel.values[row : row + HORIZON, 2])
    assert score_of(run.scores, OURS, scale="original") == pytest.approx(np.square(errors).mean(), rel=SUMS32)


def test_ridge_and_naive_see_the_targets_own_past():
    alone, joined = fitted(make_frame()[["date", "series 1"]], network=False), fitted(make_frame(), **TARGET)
    for model in ("ridge", "naive", "seasonal_naive"):
        assert score_of(joined.scores, model) == pytest.approx(score_of(alone.scores, model), rel=SUMS32)


def test_the_mean_and_ridge_of_the_inputs_are_what_they_say(run):
    training, panel = run.prepared.windows["train"], run.prepared.panel
    batch = training.gather(torch.arange(len(training)))
    past, future = batch["past"], batch["future"]
    assert_same(run.models["mean"](past[:2]), future.double().mean(0).float().expand(2, -1, -1))
    x = past[..., :2].flatten(1).double()
    x = (x - x.mean(0)) / x.std(0, correction=0)
    y = future[..., 0].double()
    penalty = run.facts["learnt"]["ridge_inputs"]["penalty"]
    weight = torch.linalg.solve(x.T @ x + penalty * len(x) * torch.eye(x.shape[1]).double(), x.T @ (y - y.mean(0)))
    wanted = (x[:2] @ weight + y.mean(0)).float()
    torch.testing.assert_close(run.models["ridge_inputs"](past[:2])[..., 0], wanted, rtol=1e-4, atol=1e-5)
    assert panel.num_variates == 3


def test_a_run_is_stored_loaded_and_reported(tmp_path):
    make_frame().to_csv(tmp_path / "loads.csv", index=False)
    made = lifecycle.start(TASK, make_config(data=str(tmp_path / "loads.csv"), **TARGET), tmp_path / "run")
    loaded = lifecycle.load(tmp_path / "run")
    frame = pd.read_csv(tmp_path / "loads.csv", parse_dates=["date"])
    assert forecast(loaded, frame).equals(forecast(made, frame))
    page = TASK.page.report([loaded])
    assert "recurrent_forecaster" in page and "series 1" in page


def test_later_rows_are_scored_in_the_runs_own_order(run):
    frame = make_frame(rows=60, seed=6)
    turned = frame[["date", "series 2", "series 1", "series 0"]]
    assert scores_on(run, frame) == scores_on(run, turned)


def test_the_estimator_takes_targets():
    forecaster = Forecaster(horizon=HORIZON, lookback=LOOKBACK, targets=("series 1",), network=True, epochs=1)
    forecaster.fit(make_frame())
    assert set(forecaster.predict(layout="long")["unique_id"]) == {"series 1"}
    with pytest.raises(ConfigError, match="has no map of variates and times"):
        forecaster.explain()


def test_windows_baselines_leave_out_windows_without_their_targets():
    frame = make_frame()
    frame.loc[20:40, "series 1"] = np.nan
    found = fitted(frame, **TARGET, read={"missing": "mask"})
    assert isinstance(found.models["mean"], WindowBaseline)
    assert np.isfinite(score_of(found.scores, "ridge_inputs"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"model": {"name": "hot_forecaster"}},
            "hot_forecaster forecasts every series that it sees. Set model.name to recurrent_forecaster",
        ),
        ({"baselines": ["rlinear"]}, "the baseline rlinear forecasts every series that it sees"),
        ({"model": {**RNN, "num_targets": 2}}, "model.num_targets is set by the data"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        make_config(**{**TARGET, **changes})


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (["absent"], "absent is lacking"),
        (["series 0", "series 1", "series 2"], "leave no series to forecast them from"),
    ],
)
def test_targets_that_are_not_there_are_refused(targets, words):
    with pytest.raises(DataError, match=words):
        fitted(make_frame(), **{**TARGET, "targets": targets})
