"""The report says what the predictions say, shows the worst errors, and does without what is not there."""

import dataclasses
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from multiway.config import merge
from multiway.data.volumes import IntensityScale
from multiway.errors import ConfigError
from multiway.metrics.classes import auc
from multiway.models import create_model
from multiway.report import render_classification_report
from multiway.tasks.volumes import VolumeConfig, VolumeRun, reporting, task
from multiway.tasks.volumes.reload import ERRORS, RIGHT, interesting, reload_cases
from multiway.tasks.volumes.reporting import compare, report, report_content
from multiway.training import RunFolder
from tolerances import ROUNDING64

SIZES = (8, 8, 8)
COUNTS = {"train": 8, "val": 6, "test": 12}


def write_data(path, num_classes=2):
    chance = np.random.default_rng(3)
    arrays = {}
    for split, count in COUNTS.items():
        arrays[f"{split}_images"] = chance.integers(0, 256, (count, *SIZES), dtype=np.uint8)
        arrays[f"{split}_labels"] = (np.arange(count) % num_classes).astype(np.uint8)[:, None]
    np.savez(path, **arrays)
    return path


def make_run(path, num_classes=2, seed=0, name="hot_volume_classifier", **changes):
    """Predictions are drawn, not made, so that the report cannot pass by computing them again."""
    chance = np.random.default_rng(100 + seed)
    torch.manual_seed(seed)
    fields = {"dim": 16, "num_heads": 2, "stem_channels": 4} if name.startswith("hot") else {}
    own = {"name": name, **fields}
    run = VolumeRun(
        config=VolumeConfig(data=str(path), model=own, training={"seed": seed}),
        model=create_model(name, sizes=SIZES, num_classes=num_classes, **fields).eval(),
        classes=("0", "1", "2")[:num_classes],
        channels=1,
        sizes=SIZES,
        axes=("depth", "height", "width"),
        scale=IntensityScale(centre=(0.0,), spread=(255.0,)),
        threshold=0.42,
        thresholds={},
        scores=[
            {"model": model, "split": "test", "metric": metric, "value": value + seed / 100, "low": 0.4, "high": 0.9}
            for model, value in (("multiway", 0.7), ("resnet18_3d", 0.6))
            for metric in ("auc", "acc", "ece")
        ],
        predictions=pd.DataFrame(),
        facts={
            "notes": ["Seen once."],
            "parameters": {"multiway": 12345},
            "seconds": {"multiway": 9.0, "reading": 1.0},
            "splits": {"test": {"cases": 12, "classes": {"0": 6, "1": 6}}},
        },
    )
    cases = reload_cases(run)
    frames = []
    for model in ("multiway", "resnet18_3d"):
        rows = cases.splits["test"]
        probabilities = chance.dirichlet(np.ones(num_classes), len(rows))
        frames.append(
            pd.DataFrame(
                {
                    "case": [cases.names[row] for row in rows],
                    "patient": None,
                    "model": model,
                    "split": "test",
                    "label": [cases.classes[cases.labels[row]] for row in rows],
                    **{f"p_{name}": probabilities[:, place] for place, name in enumerate(run.state.classes)},
                }
            )
        )
    return dataclasses.replace(run, predictions=pd.concat(frames, ignore_index=True), **changes)


@pytest.fixture(autouse=True)
def few_deletions(monkeypatch):
    monkeypatch.setattr(reporting, "DELETION_CASES", 2)


def test_the_content_says_what_the_predictions_say(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"))
    content = report_content([run], details=False)
    own = run.tables["predictions"][run.tables["predictions"]["model"] == "multiway"]
    right = ((own["p_1"] > 0.5).astype(int).astype(str) == own["label"]).sum()
    assert np.trace(content.confusion.counts) == right
    assert content.confusion.counts.sum() == sum(row.count for row in content.reliability) == 12
    assert content.confusion.counts.sum(axis=1).tolist() == [6, 6]
    assert content.majority == 0.5
    assert [curve.name for curve in content.roc] == ["multiway", "ResNet-18 3D"]
    labels, probabilities = own["label"].astype(int).to_numpy(), own[["p_0", "p_1"]].to_numpy()
    assert content.roc[0].auc == pytest.approx(auc(labels, probabilities), rel=ROUNDING64)
    assert [cost.model for cost in content.costs] == ["multiway"]
    assert content.title == "set"
    assert content.setting["Model"] == "hot_volume_classifier"
    assert content.command == (
        f"multiway train volumes --data {tmp_path / 'set.npz'} --set 'model.name=\"hot_volume_classifier\"' "
        "--set model.dim=16 --set model.num_heads=2 --set model.stem_channels=4"
    )
    assert content.check is None


def test_the_command_makes_the_same_settings_again(tmp_path):
    run = make_run(write_data(tmp_path / "a set.npz"))
    given = {"read": {"normalise": "none", "window": (0, 9)}, "training": {"epochs": 3}, "baselines": ["cnn"]}
    run.config = VolumeConfig.parse(merge(run.config.plain(), given))
    words = shlex.split(report_content([run], details=False).command)
    assert words[:4] == ["multiway", "train", "volumes", "--data"]
    settings = {"data": words[4]}
    for word in words[6::2]:
        name, _, value = word.partition("=")
        for part in reversed(name.split(".")):
            value = {part: yaml.safe_load(value) if isinstance(value, str) else value}
        settings = merge(settings, value)
    assert VolumeConfig.parse(settings) == run.config


def test_the_worst_errors_come_first_then_a_right_case_of_each_class(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"))
    cases = reload_cases(run)
    own = run.tables["predictions"][run.tables["predictions"]["model"] == "multiway"].set_index("case")
    found = interesting(run, cases)
    named = [(heading, own.loc[cases.names[index]]) for heading, index in found]
    errors = [row for heading, row in named if heading == ERRORS]
    confidences = [row[f"p_{1 - int(row['label'])}"] for row in errors]
    assert confidences == sorted(confidences, reverse=True)
    assert min(confidences) > 0.5
    wrong = [max(row["p_0"], row["p_1"]) for _, row in own.iterrows() if row[f"p_{row['label']}"] < 0.5]
    assert confidences[0] == max(wrong)
    assert [row["label"] for heading, row in named if heading == RIGHT] == ["0", "1"]


def test_a_report_shows_cases_attention_and_the_deletion_test(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"))
    content = report_content([run])
    assert [view.group for view in content.cases].count(ERRORS) >= 1
    view = content.cases[0]
    cases = reload_cases(run)
    np.testing.assert_array_equal(view.volume, cases.prepared(cases.names.index(view.name)).values[0])
    assert view.attention.shape == view.gradients.shape == SIZES
    assert content.deletion_cases == 2
    assert content.check is not None
    assert [item.mode for item in content.maps[:3]] == ["depth", "height", "width"]
    assert content.maps[0].sample == "mean over 12 test cases"
    page = render_classification_report(content)
    for section in ("data-check", "splits", "scores", "errors", "calibration", "cases", "attention", "environment"):
        assert f'id="{section}"' in page, section


def test_seeds_are_averaged_and_compared(tmp_path):
    path = write_data(tmp_path / "set.npz")
    runs = [make_run(path, seed=seed) for seed in range(3)]
    content = report_content(runs, details=False)
    assert [row.value for row in content.scores if (row.model, row.metric) == ("multiway", "AUC")] == [0.7, 0.71, 0.72]
    assert content.seeds == [0, 1, 2]
    assert content.cases == ()
    page = compare([runs[:1], runs[1:]])
    assert "2 runs side by side" in page
    assert "set (2)" in page


def test_several_classes_have_a_curve_each(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz", 3), num_classes=3, threshold=None)
    content, shown = report_content([run], details=False), interesting(run, reload_cases(run))
    assert [curve.name for curve in content.roc] == ["0", "1", "2"]
    assert content.confusion.counts.shape == (3, 3)
    right = np.flatnonzero(np.diag(content.confusion.counts))
    labels = reload_cases(run).labels
    assert [labels[index] for heading, index in shown if heading == RIGHT] == right.tolist()


def test_a_network_without_maps_is_reported_by_its_gradients(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"), name="cnn_volume_classifier")
    content = report_content([run])
    assert content.maps == []
    assert content.cases[0].attention is None
    assert list(content.deletion.marked) == ["gradients"]


def test_without_captum_the_page_stands_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "captum", None)
    content = report_content([make_run(write_data(tmp_path / "set.npz"))])
    assert content.cases[0].gradients is None
    assert content.cases[0].attention is not None
    assert "pip install 'multiway[volumes]'" in content.case_note


def test_data_that_are_gone_leave_the_rest_of_the_report(tmp_path):
    path = write_data(tmp_path / "set.npz")
    run = make_run(path)
    path.unlink()
    content = report_content([run])
    assert (content.cases, content.maps, content.check) == ((), (), None)
    assert content.confusion is not None
    assert 'id="scores"' in report([run])


def test_explain_takes_the_telling_cases_or_those_named(tmp_path):
    pytest.importorskip("nibabel")
    run = make_run(write_data(tmp_path / "set.npz"), folder=RunFolder(tmp_path))
    cases = reload_cases(run)
    lines = task.explain(run, tmp_path / "named", {"cases": (cases.names[20],)})
    assert sum(line.endswith(".png") for line in lines) == 1
    assert (tmp_path / "named" / f"case-{cases.names[20]}-attention.nii.gz").is_file()
    with pytest.raises(ConfigError, match="has no case 'nobody'"):
        task.explain(run, tmp_path / "none", {"cases": ("nobody",)})
    assert not (tmp_path / "none").exists()


def test_explain_begins_with_the_worst_error_in_the_runs_folder(tmp_path, monkeypatch):
    pytest.importorskip("nibabel")
    monkeypatch.setattr(task, "EXPLAINED", 1)
    run = make_run(write_data(tmp_path / "set.npz"), folder=RunFolder(tmp_path))
    task.explain(run, None, {})
    cases = reload_cases(run)
    worst = cases.names[interesting(run, cases)[0][1]]
    assert [path.name for path in (tmp_path / "explanation").glob("*.png")] == [f"case-{worst}.png"]


def test_a_run_on_arrays_cannot_be_explained_later(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"), folder=RunFolder(tmp_path))
    run.config = run.config.replace(data=None)
    with pytest.raises(ConfigError, match="fitted on arrays in memory"):
        task.explain(run, tmp_path, {})
    run.folder = None
    assert report_content([run]).title == "Volumes in memory"
