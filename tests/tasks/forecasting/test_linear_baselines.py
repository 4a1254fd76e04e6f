"""RLinear and DLinear as baselines of a run: trained on its windows, scored, stored and backtested like the others."""

import numpy as np
import pandas as pd
import pytest
import torch

from interruption import stop_after
from multiway.errors import ConfigError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.forecasts import backtest_frame
from multiway.tasks.forecasting.task import TASK
from multiway.training import Interrupted
from tasks.forecasting.panels import HORIZON, QUICK, make_config, make_frame, read

BASELINES = ("rlinear", "dlinear")


def config_on(path, **changes):
    return make_config(data=str(path), network=False, baselines=BASELINES, **changes)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linear")
    make_frame().to_csv(folder / "loads.csv", index=False)
    return lifecycle.start(TASK, config_on(folder / "loads.csv"), folder / "run")


def score(rows, model, metric="mse", split="test"):
    key = {"model": model, "metric": metric, "split": split, "scale": "scaled"}
    return next(row["value"] for row in rows if key.items() <= row.items())


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_is_scored_on_every_window(run, name):
    windows, errors = run.prepared.windows["test"], []
    with torch.no_grad():
        for batch in windows.batches():
            errors.append((run.models[name](batch["past"]) - batch["future"]).double())
    squared = torch.cat(errors).square()
    assert len(squared) == len(windows)
    assert score(run.scores, name) == pytest.approx(float(squared.mean()), rel=1e-6)
    assert score(run.scores, name) < score(run.scores, "naive")


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_learns_with_settings_of_its_own(run, name):
    assert run.config.peer_training.loss == "mse" and run.config.training.loss == "mae"
    assert run.config.peer_training.epochs == 10 and run.config.peer_training.batch_size == QUICK["batch_size"]
    rows = run.facts["histories"][name]
    best = min(rows, key=lambda row: row["validation_loss"])
    assert run.facts["best"][name]["validation_loss"] == best["validation_loss"]
    assert best["validation_loss"] == pytest.approx(score(run.scores, name, split="validation"), rel=1e-5)


def test_a_stored_run_has_the_same_baselines(run):
    loaded = lifecycle.load(run.folder.path)
    frames = [backtest_frame(each, read(each, run.config.data), cutoffs=3) for each in (run, loaded)]
    pd.testing.assert_frame_equal(*frames)
    for name in BASELINES:
        assert (run.folder.path / "baselines" / f"{name}.safetensors").is_file()


def test_a_backtest_has_a_column_for_each(run):
    frame = backtest_frame(run, read(run, run.config.data), cutoffs=2)
    assert list(frame)[4:] == ["multiway", "ridge", "naive", "seasonal_naive", *BASELINES]
    assert np.isfinite(frame[list(BASELINES)].to_numpy()).all() and len(frame) == 2 * 3 * HORIZON


def test_later_rows_do_not_change_what_is_learnt(run, tmp_path):
    frame = make_frame()
    frame.iloc[-60:, 1:] = frame.iloc[-60:, 1:].to_numpy()[::-1]  # the test rows, backwards
    frame.to_csv(tmp_path / "loads.csv", index=False)
    other = lifecycle.fit_in_memory(TASK, config_on(tmp_path / "loads.csv"), str(tmp_path / "loads.csv"))
    for name in BASELINES:
        for mine, theirs in zip(run.models[name].parameters(), other.models[name].parameters(), strict=True):
            assert torch.equal(mine, theirs)


def test_a_run_that_is_stopped_in_a_baseline_resumes_to_the_same_bits(run, tmp_path, monkeypatch):
    config = run.config.replace(training={**QUICK, "checkpoint_seconds": 0})
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        stop_after(patch, 3)
        lifecycle.start(TASK, config, tmp_path / "run")
    repeated = lifecycle.continue_run(tmp_path / "run")
    assert repeated.scores == run.scores


def test_a_report_names_them(run):
    page = TASK.page.report([lifecycle.load(run.folder.path)])
    assert "rlinear" in page and "dlinear" in page


def test_missing_cells_do_not_stop_them(tmp_path):
    frame = make_frame()
    frame.iloc[20:40, 1] = np.nan
    run = lifecycle.fit_in_memory(
        TASK, make_config(network=False, baselines=BASELINES, read={"missing": "mask"}), frame
    )
    assert all(np.isfinite(score(run.scores, name)) for name in BASELINES)


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match="cross_entropy is for classes"):
        make_config(baseline_training={"loss": "cross_entropy"})
    with pytest.raises(ConfigError, match=r"'rlinear', 'dlinear', .* 'mean' or 'ridge_inputs'"):
        make_config(baselines=("nlinear",))
    assert make_config(baseline_training={"epochs": 3}).peer_training.loss == "mse"
