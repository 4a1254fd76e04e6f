"""A run of volumes: what it leaves, that it resumes to the bit, and what it says where the data is not sound."""

import numpy as np
import pandas as pd
import pytest
import torch

from interruption import stop_after
from multiway import workflows
from multiway.errors import ConfigError, DataError, RunError
from multiway.metrics import classes, confidence
from multiway.models.baselines import Majority
from multiway.tasks import lifecycle as runs
from multiway.tasks.lifecycle import continue_run, load
from multiway.tasks.scans import VolumeConfig
from multiway.tasks.scans.task import CLASSES as task
from multiway.tasks.scores import score_table
from multiway.tasks.targets import thresholds_of
from multiway.training import Interrupted
from multiway_papers.cell_rows import cell_row
from tasks.scans.classes.blocks import NETWORK, SIZES, FakeCell, make_config, write_npz, write_table
from tolerances import ROUNDING64


@pytest.fixture(scope="module", autouse=True)
def temperatures():
    """The few validation scans decide a temperature."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confidence, "FEWEST", 2)
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("volumes")
    config = make_config(write_npz(folder / "set.npz"), baselines=("majority", "logistic", "cnn"))
    return runs.start(task, config, folder / "run")


def test_a_run_leaves_everything_that_is_named(finished):
    names = {str(path.relative_to(finished.folder.path)) for path in finished.folder.path.rglob("*") if path.is_file()}
    assert names == {
        "config.yaml", "weights.safetensors", "preprocessing.json", "scores.json", "predictions.parquet",
        "manifest.json", "metrics.jsonl", "baselines/majority.safetensors", "baselines/logistic.safetensors",
        "baselines/cnn.safetensors", "calibration.safetensors", "refitted/logistic.safetensors",
    }  # fmt: skip
    assert set(finished.folder.verify()["sha256"]) == names - {"manifest.json"}


def test_probabilities_are_recalibrated_as_validation_decides(finished):
    """A temperature lowers the log loss of validation, and what is stored, predicted and explained has it."""
    run = runs.load(finished.folder.path)
    prepared = runs.reread(run)
    tempered = {name for name in run.models if f"{name}.temperature" in run.calibration}
    assert tempered
    for split in ("validation", "test"):
        part = prepared.part(split)
        rows = run.tables["predictions"].query("split == @split")
        for name in run.models:
            plain = task.outputs(run, name, part)
            temperature = float(run.calibration.get(f"{name}.temperature", 1.0))
            shares = confidence.temper(plain, temperature) if name in tempered else plain
            kept = rows[rows["model"] == name][["p_0", "p_1"]].to_numpy()
            np.testing.assert_allclose(kept, shares, rtol=ROUNDING64)
            losses = [confidence.log_losses(part.truth, each).mean() for each in (plain, shares)]
            assert name not in tempered or split == "test" or losses[1] < losses[0]
    facts = run.facts.get("recalibration")
    if run.answer.name in tempered:
        kept = rows[rows["model"] == run.answer.name][["p_0", "p_1"]].to_numpy()
        assert facts["after"] == pytest.approx(classes.calibration_error(part.truth, kept))
        plain = task.outputs(run, run.answer.name, part)
        assert facts["before"] == pytest.approx(classes.calibration_error(part.truth, plain))
    else:
        assert facts is None


def test_the_majority_answers_with_the_shares_of_the_training():
    model = Majority(2)
    model.fit(torch.tensor([0, 0, 0, 1]))
    assert model.shares.tolist() == [0.75, 0.25]


def test_scores_are_those_of_the_stored_predictions(finished):
    for model in ("network", "majority", "logistic", "cnn"):
        for split in ("validation", "test"):
            rows = finished.tables["predictions"].query("model == @model and split == @split")
            labels = (rows["label"] == finished.state.classes[1]).to_numpy().astype(np.int64)
            probabilities = rows[[f"p_{name}" for name in finished.state.classes]].to_numpy()
            found = {row["metric"]: row for row in finished.scores if (row["model"], row["split"]) == (model, split)}
            assert set(found) == {"auc", "acc", "balanced_accuracy", "sensitivity", "specificity", "ece"}
            assert found["auc"]["value"] == classes.auc(labels, probabilities)
            assert found["acc"]["value"] == classes.accuracy(labels, probabilities)
            threshold = thresholds_of(finished.calibration, [model])[model]
            assert found["sensitivity"]["value"] == classes.sensitivity(labels, probabilities, threshold)
            assert found["auc"]["low"] <= found["auc"]["value"] <= found["auc"]["high"]


def test_the_threshold_is_that_of_validation(finished):
    rows = finished.tables["predictions"].query("model == 'network' and split == 'validation'")
    labels = (rows["label"] == finished.state.classes[1]).to_numpy().astype(np.int64)
    probabilities = rows[[f"p_{name}" for name in finished.state.classes]].to_numpy()
    assert thresholds_of(finished.calibration, ["network"])["network"] == classes.youden_threshold(
        labels, probabilities
    )


def test_the_classes_are_learnt(finished):
    rows = {row["model"]: row for row in score_table([finished], "test")}
    assert rows["majority"]["auc"] == rows["majority"]["acc"] == 0.5
    assert rows["logistic"]["auc"] > 0.95
    assert rows["network"]["auc"] > 0.95


def test_the_best_epoch_is_that_of_the_highest_validation_score(finished):
    log = finished.folder.read_log()
    best = max(log, key=lambda row: (row["validation_score"], -row["validation_loss"]))
    assert finished.facts["best"]["network"]["epoch"] == best["epoch"]
    rows = [row for row in finished.scores if row["model"] == "network" and row["split"] == "validation"]
    assert rows[0]["value"] == best["validation_score"]
    assert len(finished.facts["histories"]["cnn"]) == 3


def test_a_loaded_run_is_the_run(finished):
    loaded = load(finished.folder.path)
    for left, right in zip(finished.model.state_dict().values(), loaded.model.state_dict().values(), strict=True):
        assert torch.equal(left, right)
    pd.testing.assert_frame_equal(loaded.tables["predictions"], finished.tables["predictions"])
    for name in ("config", "state", "scores", "facts", "calibration"):
        left, right = getattr(loaded, name), getattr(finished, name)
        assert (left.plain() if name == "state" else left) == (right.plain() if name == "state" else right), name
    for name, model in loaded.models.items():
        for left, right in zip(model.state_dict().values(), finished.models[name].state_dict().values(), strict=True):
            assert torch.equal(left, right)


@pytest.mark.slow  # the contract stops every task once
@pytest.mark.parametrize("stop", [2, 15, 17])
def test_a_stopped_run_continues_to_the_same_bits(stop, finished, tmp_path, monkeypatch):
    """Steps 1 to 15 are the network's and 16 to 30 the CNN's."""
    stop_after(monkeypatch, stop)
    with pytest.raises(Interrupted, match=f"after step {stop if stop < 16 else stop - 15} of 15.*--resume .*run`"):
        runs.start(task, finished.config, tmp_path / "run")
    assert not (tmp_path / "run" / "manifest.json").exists()
    monkeypatch.undo()
    repeated = continue_run(tmp_path / "run")
    for name in ("weights.safetensors", "baselines/cnn.safetensors", "scores.json", "predictions.parquet"):
        assert (repeated.folder.path / name).read_bytes() == (finished.folder.path / name).read_bytes(), name


def test_a_run_with_random_changes_continues_to_the_same_bits(tmp_path, monkeypatch):
    changes = {
        "augment": {"flips": [0, 1, 2], "shift": 1, "noise": 0.05, "scale": 0.1},
        "read": {"shape_transform": True},
        "training": {
            "epochs": 2,
            "average": 0.9,
            "schedule": "steps",
            "label_smoothing": 0.1,
            "class_weights": "balanced",
        },
        "evaluate_flips": True,
    }
    config = make_config(write_npz(tmp_path / "set.npz", counts=(40, 10, 10)), **changes)
    whole = runs.start(task, config, tmp_path / "whole")
    stop_after(monkeypatch, 8)
    with pytest.raises(Interrupted):
        runs.start(task, config, tmp_path / "cut")
    monkeypatch.undo()
    repeated = continue_run(tmp_path / "cut")
    for name in ("weights.safetensors", "scores.json", "predictions.parquet"):
        assert (repeated.folder.path / name).read_bytes() == (whole.folder.path / name).read_bytes(), name


def test_a_changed_archive_is_not_continued_with(tmp_path, monkeypatch):
    data = write_npz(tmp_path / "set.npz")
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        stop_after(patch, 2)
        runs.start(task, make_config(data), tmp_path / "run")
    write_npz(data, contrast=61)
    with pytest.raises(RunError, match="changed since the run was started"):
        continue_run(tmp_path / "run")


def test_bf16_scores_are_those_of_the_loaded_model(tmp_path):
    config = make_config(write_npz(tmp_path / "set.npz"), training={"precision": "bf16", "epochs": 1})
    run = runs.start(task, config, tmp_path / "run")
    rows = workflows.evaluate(tmp_path / "run", data=str(tmp_path / "set.npz"))
    assert rows[0]["auc"] == pytest.approx(score_table([run], "test")[0]["auc"])


def test_patients_are_never_split(tmp_path):
    run = runs.start(task, make_config(write_table(tmp_path)), tmp_path / "run")
    assert run.state.classes == ("high", "low")
    patients = {split: set(rows["patient"]) for split, rows in run.tables["predictions"].groupby("split")}
    assert patients["validation"].isdisjoint(patients["test"])
    assert run.facts["splits"]["test"]["groups"] == len(patients["test"])
    assert sum(part["samples"] for part in run.facts["splits"].values()) == 30


def test_three_classes(tmp_path):
    run = runs.start(task, make_config(write_npz(tmp_path / "set.npz", num_classes=3)), tmp_path / "run")
    assert thresholds_of(run.calibration, ["network"])["network"] is None
    assert {row["metric"] for row in run.scores if row["value"] is not None} >= {"auc", "sensitivity", "specificity"}


def test_auc_of_one_class_is_undefined_and_the_loss_chooses(tmp_path):
    data = write_npz(tmp_path / "set.npz")
    with np.load(data) as old:
        arrays = dict(old)
    arrays["val_labels"][:] = 0
    arrays["test_labels"][:] = 0
    np.savez(data, **arrays)
    run = runs.start(task, make_config(data), tmp_path / "run")
    (auc,) = [row for row in run.scores if (row["model"], row["split"], row["metric"]) == ("network", "test", "auc")]
    assert (auc["value"], auc["low"], auc["high"]) == (None, None, None)
    assert thresholds_of(run.calibration, ["network"])["network"] is None
    assert run.facts["best"]["network"]["validation_score"] is None
    assert any("lowest validation loss" in note for note in run.facts["notes"])
    assert "test AUC undefined" in task.sentence(run)
    assert score_table([run], "test")[0]["auc"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("val_labels"), "lacks val_labels"),
        (lambda arrays: arrays.update(train_labels=0 * arrays["train_labels"]), "must occur in training"),
    ],
)
def test_unsound_data_leaves_nothing_behind(change, message, tmp_path):
    data = write_npz(tmp_path / "set.npz")
    with np.load(data) as old:
        arrays = dict(old)
    change(arrays)
    np.savez(data, **arrays)
    with pytest.raises(DataError, match=message):
        runs.start(task, make_config(data), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_table_without_labels_is_refused(tmp_path):
    data = write_table(tmp_path)
    pd.read_csv(data).drop(columns="label").to_csv(data, index=False)
    with pytest.raises(ConfigError, match=r"a target to predict is needed\. Name the column of classes"):
        runs.start(task, make_config(data), tmp_path / "run")
    pd.read_csv(data).assign(label="x").to_csv(data, index=False)
    with pytest.raises(DataError, match=r"two classes or more are needed. Got x in every case"):
        runs.start(task, make_config(data), tmp_path / "run")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": {"name": "hot_forecaster"}}, "model.name must be one of .*resnet50_3d"),
        ({"model": {"name": "hot_volume_clasifier"}}, "did you mean hot_volume_classifier"),
        ({"model": {"sizes": [8, 8, 8]}}, "model.sizes is set by the data"),
        ({"model": {"dime": 16}}, "dime is not a known field, did you mean dim"),
        ({"training": {"loss": "mse"}}, "classes are trained with training.loss=cross_entropy"),
        ({"baselines": ["resnet34"]}, "baselines"),
        ({"baseline_training": {"epoch": 3}}, "epoch is not a known field, did you mean epochs"),
        ({"draws": -1}, "draws"),
    ],
)
def test_a_config_says_what_is_wrong(settings, message):
    with pytest.raises(ConfigError, match=message):
        task.configure({"data": "set.npz"}, settings)


def test_a_config_starts_from_the_training_of_classes():
    config = task.configure({"data": "set.npz"}, {"training": {"batch_size": 4}})
    assert (config.training.loss, config.training.patience, config.training.validation_batch_size) == (
        "cross_entropy", 0, 4,
    )  # fmt: skip
    assert VolumeConfig.parse(config.plain()) == config
    assert VolumeConfig().training.loss == "cross_entropy"
    baseline = config.replace(baseline_training={"epochs": 7}).network_training
    assert (baseline.epochs, baseline.batch_size) == (7, 4)


def test_a_known_mask_set_brings_its_transform():
    assert task.configure({"data": "adrenalmnist3d"}, {}).read.shape_transform
    assert not task.configure({"data": "adrenalmnist3d"}, {"read": {"shape_transform": False}}).read.shape_transform
    assert not task.configure({"data": "organmnist3d"}, {}).read.shape_transform


def test_a_run_of_another_task_is_refused(finished, tmp_path):
    (tmp_path / "config.yaml").write_text("task: forecasts\nsettings: {}\n")
    with pytest.raises(RunError, match="is a run of the task forecasts; known are forecast, series, images, volumes"):
        continue_run(tmp_path)


def test_a_run_of_an_older_format_is_refused(tmp_path):
    (tmp_path / "config.yaml").write_text("task: volumes\nsettings: {}\n")
    with pytest.raises(RunError, match=r"has the run format 1, and this version reads \d+\. Train it again"):
        continue_run(tmp_path)


def test_tables(finished):
    (row, *_) = score_table([finished], "test")
    assert list(row)[:7] == ["model", "auc", "auc low", "auc high", "acc", "acc low", "acc high"]
    both = score_table([finished, finished], "test")[0]
    assert (both["auc"], both["auc sd"]) == (row["auc"], 0.0)
    cell = cell_row("hot-adrenal", FakeCell(), [finished, finished], 2)
    assert cell["published_auc"] == 0.886
    assert cell["auc"] == row["auc"]
    assert cell["auc_sd"] == 0.0
    assert {"majority_acc", "logistic_auc", "cnn_auc", "cnn_auc_sd", "parameters", "settings"} <= set(cell)
    assert "majority 0.500 / 0.500" in task.sentence(finished)


def test_a_shape_is_whatever_the_first_run_saw(finished):
    assert finished.state.sizes == SIZES
    assert finished.config.model == NETWORK
    assert finished.facts["parameters"]["network"] == sum(p.numel() for p in finished.model.parameters())
