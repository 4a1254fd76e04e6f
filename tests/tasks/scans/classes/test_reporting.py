"""The report says what the predictions say, shows the worst errors, and does without what is not there."""

import base64
import dataclasses
import io
import re
import struct
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.image import imread

from multiway.data.sources.scans.cases import splits_named
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.errors import ConfigError, DataError
from multiway.metrics import classes
from multiway.models import create_model
from multiway.tasks.lifecycle import fit_in_memory
from multiway.tasks.run import Run, digest_of
from multiway.tasks.scans import class_page as sections
from multiway.tasks.scans.class_page import PAGE, SUBJECT
from multiway.tasks.scans.config import VolumeConfig
from multiway.tasks.scans.encode import VolumeState
from multiway.tasks.scans.explain import explain_case, interesting, reload_cases
from multiway.tasks.scans.task import CLASSES as task
from multiway.tasks.target_page import target_headline
from multiway.tasks.targets import ERRORS, RIGHT
from multiway.training import RunFolder
from report_pages import Page
from tasks.scans.classes.blocks import make_config, write_table

SIZES = (8, 8, 8)
COUNTS = {"train": 8, "val": 6, "test": 12}


def write_data(path, num_classes=2, sizes=SIZES):
    chance = np.random.default_rng(3)
    arrays = {}
    for split, count in COUNTS.items():
        arrays[f"{split}_images"] = chance.integers(0, 256, (count, *sizes), dtype=np.uint8)
        arrays[f"{split}_labels"] = (np.arange(count) % num_classes).astype(np.uint8)[:, None]
    np.savez(path, **arrays)
    return path


def make_run(path, num_classes=2, seed=0, name="hot_volume_classifier", sizes=SIZES, read=None, **changes):
    """Predictions are drawn, not made, so that the report cannot pass by computing them again."""
    chance = np.random.default_rng(100 + seed)
    torch.manual_seed(seed)
    fields = {"dim": 16, "num_heads": 2, "stem_channels": 4} if name.startswith("hot") else {}
    own = {"name": name, **fields}
    run = Run(
        task=task,
        config=VolumeConfig(data=str(path), model=own, training={"seed": seed}, read=read or {}),
        models={"network": create_model(name, sizes=sizes, num_classes=num_classes, **fields).eval()},
        state=VolumeState(
            classes=("0", "1", "2")[:num_classes],
            channels=1,
            sizes=sizes,
            axes=("depth", "height", "width"),
            scale=IntensityScale(centre=(0.0,), spread=(255.0,)),
        ),
        calibration={} if num_classes > 2 else {"network": torch.tensor(0.42, dtype=torch.float64)},
        scores=[
            {"model": model, "split": "test", "metric": metric, "value": value + seed / 100, "low": 0.4, "high": 0.9}
            for model, value in (("network", 0.7), ("resnet18_3d", 0.6))
            for metric in ("auc", "acc", "ece")
        ],
        facts={
            "best": {},
            "notes": ["Seen once."],
            "parameters": {"network": 12345},
            "seconds": {"network": 9.0, "reading": 1.0},
            "splits": {"test": {"samples": 12, "classes": {"0": 6, "1": 6}}},
        },
    )
    run.facts["data_sha256"] = digest_of(task.prepare(run.config, str(path)).content())
    cases = reload_cases(run)
    frames = []
    for model in ("network", "resnet18_3d"):
        rows = splits_named(cases)["test"]
        probabilities = chance.dirichlet(np.ones(num_classes), len(rows))
        frames.append(
            pd.DataFrame(
                {
                    "case": [cases.names["case"][row] for row in rows],
                    "patient": None,
                    "model": model,
                    "split": "test",
                    "label": [cases.classes[cases.labels[row]] for row in rows],
                    "predicted": np.array(run.state.classes)[probabilities.argmax(1)],
                    **{f"p_{name}": probabilities[:, place] for place, name in enumerate(run.state.classes)},
                }
            )
        )
    return dataclasses.replace(run, tables={"predictions": pd.concat(frames, ignore_index=True)}, **changes)


@pytest.fixture(autouse=True)
def few_deletions(monkeypatch):
    monkeypatch.setattr(sections, "DELETION_CASES", 2)


def signed(words):
    return float(words.replace("\u2212", "-"))


def parts_of(run, with_data=True):
    cases = reload_cases(run) if with_data else None
    return {part.id: part.content for part in sections.sections([run], cases)}


def test_the_parts_say_what_the_predictions_say(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"))
    matrix, roc = parts_of(run, with_data=False)["errors"]
    own = run.tables["predictions"][run.tables["predictions"]["model"] == "network"]
    right = ((own["p_1"] > 0.5).astype(int).astype(str) == own["label"]).sum()
    counts = np.array([[int(cell.text) for cell in row[1:3]] for row in matrix.rows])
    assert np.trace(counts) == right
    assert counts.sum(axis=1).tolist() == [6, 6]
    labels, probabilities = own["label"].astype(int).to_numpy(), own[["p_0", "p_1"]].to_numpy()
    area = classes.auc(labels, probabilities)
    assert roc.legend[0][0] == f"network, AUC {area:.3f}"
    assert roc.legend[1][0].startswith("ResNet-18 3D, ")
    assert target_headline(SUBJECT, run).endswith(" of 12 test cases are named correctly.")


def test_the_report_says_how_far_answers_can_be_trusted(tmp_path):
    """Tables against the predictions, and the curve against acting on every case."""
    run = make_run(write_data(tmp_path / "set.npz"))
    assert "trust" not in parts_of(run, with_data=False)
    drawn, tested = np.random.default_rng(8), run.tables["predictions"]
    held = pd.concat([tested.assign(split="validation")] * 2, ignore_index=True)
    held["p_1"] = drawn.random(len(held))
    run.tables = {"predictions": pd.concat([held.assign(p_0=1 - held["p_1"]), tested], ignore_index=True)}
    refer, sets, benefit = parts_of(run, with_data=False)["trust"]
    own = run.tables["predictions"].query(f"model == '{run.answer.name}'")
    validation, test = (own[own["split"] == split] for split in ("validation", "test"))
    surest = [part[["p_0", "p_1"]].max(axis=1).to_numpy() for part in (validation, test)]
    right = ((test["p_1"] > 0.5).astype(int).astype(str) == test["label"].astype(str)).to_numpy()
    for share, row in zip((1.0, 0.9, 0.8, 0.7, 0.5), refer.rows, strict=True):
        limit = np.quantile(surest[0], 1 - share)
        kept = surest[1] >= limit
        assert row[0].startswith(f"{100 * share:.0f}") and row[2].startswith(f"{100 * kept.mean():.0f}")
        assert row[3].startswith(f"{100 * right[kept].mean():.1f}" if kept.any() else "–")
    assert [row[:2] for row in sets.rows] == [["0", "12"], ["1", "12"]]
    assert len(benefit.legend) == 3 and "Net benefit" in benefit.title


def test_subgroups_are_scored_apart(tmp_path):
    """By word and in halves, as columns of the table; those that are not there, or are of predictions, are refused."""
    path = write_table(tmp_path, count=40)
    frame = pd.read_csv(path)
    frame["scanner"] = ["old", "new", "", "new"] * 10
    frame["age"] = np.arange(40) + 30.5
    frame.to_csv(path, index=False)
    config = make_config(path, read={"subgroups": ["scanner", "age"]}, training={"epochs": 1})
    run = fit_in_memory(task, config, str(path))
    own = run.tables["predictions"].query(f"model == '{run.answer.name}'")
    merged = own.merge(frame.assign(case=frame["path"].str.removesuffix(".npy")), on="case", suffixes=("", "_read"))
    assert (merged["age"].astype(float) == merged["age_read"]).all()
    (part,) = sections.subgroup_part([run])
    middle = merged["age_read"].median()
    test = merged[merged["split"] == "test"]
    sides = {f"age: up to {middle:g}": test["age_read"] <= middle, f"age: above {middle:g}": test["age_read"] > middle}
    words = {f"scanner: {name or 'not known'}": test["scanner"] == name for name in ("new", "old", "")}
    expected = {name: chosen for name, chosen in {**sides, **words}.items() if chosen.any()}
    assert {row[0] for row in part.content[0].rows} == set(expected)
    for name, count, area, share in part.content[0].rows:
        chosen = test[expected[name]]
        right = (chosen["label"] == chosen["predicted"]).mean()
        assert int(count) == len(chosen) and share.startswith(f"{100 * right:.1f}")
        assert (area == "–") == (chosen["label"].nunique() < 2)
    with pytest.raises(DataError, match="there is no column 'site' of subgroups"):
        task.prepare(make_config(path, read={"subgroups": ["site"]}), str(path))
    with pytest.raises(ConfigError, match="subgroups are no columns that predictions have of their own"):
        make_config(path, read={"subgroups": ["label"]})


def test_the_worst_errors_come_first_then_a_right_case_of_each_class(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"))
    cases = reload_cases(run)
    own = run.tables["predictions"][run.tables["predictions"]["model"] == "network"].set_index("case")
    found = interesting(run, cases)
    named = [(heading, own.loc[cases.names["case"][index]]) for heading, index in found]
    errors = [row for heading, row in named if heading == ERRORS]
    confidences = [row[f"p_{1 - int(row['label'])}"] for row in errors]
    assert confidences == sorted(confidences, reverse=True)
    assert min(confidences) > 0.5
    wrong = [max(row["p_0"], row["p_1"]) for _, row in own.iterrows() if row[f"p_{row['label']}"] < 0.5]
    assert confidences[0] == max(wrong)
    assert [row["label"] for heading, row in named if heading == RIGHT] == ["0", "1"]


def test_a_report_shows_cases_attention_and_the_deletion_test(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"))
    found = parts_of(run)
    heading, view = found["cases"][:2]
    assert heading.words == ERRORS and view.overlays == ["attention", "gradients"]
    maps, _, words, _, areas = found["attention"]
    assert [figure.mode for figure in maps.figures] == ["depth", "height", "width"]
    assert maps.figures[0].sample == "mean over 12 test cases"
    assert maps.figures[0].rows.names == ["slices 1–4", "slices 5–8"]  # as the planes count them
    assert view.films[0].words[-1] == "slice 8 of 8"
    assert "in the mean over 2 test cases" in words.words
    assert [row[0].text for row in areas.rows] == ["attention", "gradients", "at random"]
    page = Page(PAGE.report([run]))
    assert page.sections() == [
        "cases", "scores", "errors", "wrong", "calibration", "attention", "data-check", "gradients", "splits",
        "environment",
    ]  # fmt: skip
    assert "None" not in page.text
    (table,) = found["gradients"]
    assert [row[0] for row in table.rows] == [item.name for item in found["cases"] if hasattr(item, "films")]
    cases = reload_cases(run)
    item = explain_case(run, cases, cases.names["case"].index(table.rows[1][0]), deletion=False)
    (total, change), row = item.sums, [signed(words) for words in table.rows[1][1:4]]
    assert row == [96, pytest.approx(total, abs=0.006), pytest.approx(change, abs=0.006)]
    assert table.rows[1][4] == f"{100 * abs(total - change) / abs(change):.0f}\u202f%"


def test_the_first_screen_of_volumes_says_nothing_of_log_odds_and_the_method_does(tmp_path):
    first, method = PAGE.report([make_run(write_data(tmp_path / "set.npz"))]).split('<details id="method">')
    assert "log odds" not in first and "even look, up to" not in first
    assert "Their sum should be the change of the log odds" in method
    assert "orange speaks for the predicted class, blue against it" in first


def test_a_scan_that_a_size_cuts_is_shown_whole_with_what_is_left_bright(tmp_path):
    cut = make_run(write_data(tmp_path / "set.npz", sizes=(11, 8, 13)), read={"size": SIZES})
    scan, left = reload_cases(cut).inputs.find_uncut(0)
    np.testing.assert_array_equal(scan.values[0, 1:9, :, 2:10], reload_cases(cut).inputs.prepare(0).values[0])
    assert left[1:9, :, 2:10].all() and left.sum() == 8**3
    *_, heading, whole = parts_of(cut)["cases"]
    assert heading.words == "The whole scan" and whole.sentence == "The network sees the bright box."
    depth = imread(io.BytesIO(base64.b64decode(str(whole.films[0].scan).partition(",")[2])))
    outer, inner = depth.reshape(11, 8, 13)[~left], depth.reshape(11, 8, 13)[left]
    assert outer.max() <= 0.31 * inner.max()


@pytest.mark.parametrize(("patient", "words"), [("15", ", patient 15"), ("Patient 15", ", Patient 15"), (None, "")])
def test_a_case_names_its_patient_once(patient, words, tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"))
    item = explain_case(run, reload_cases(run), 0, gradients=False, deletion=False)
    assert sections._show_case(run, dataclasses.replace(item, patient=patient)).remark == words


@pytest.mark.slow
def test_pictures_of_volumes_of_a_real_size_are_whole_and_few(tmp_path):
    """Of large volumes, two errors and one right case are shown."""
    sizes = (64, 64, 64)
    page = Page(PAGE.report([make_run(write_data(tmp_path / "set.npz", sizes=sizes), sizes=sizes)]))
    assert "within 10 % of the change, 17 at most" in page.text
    assert len(re.findall(r"test-\d+ (?:9|17) [+−]?\d+\.\d\d [+−]?\d+\.\d\d \d+ %", page.text)) == 3
    images = page.all("img")
    assert sum(attrs.get("class") == "over gradients" for attrs in images) == 3 * 3
    assert len(images) > 3 * 9
    for attrs in images:
        content = base64.b64decode(attrs["src"].removeprefix("data:image/png;base64,"), validate=True)
        width, height = struct.unpack(">2I", content[16:24])
        assert content[-8:-4] == b"IEND"
        shown = imread(io.BytesIO(content))
        assert shown.shape[:2] == (height, width) and shown[..., :3].any()


def test_seeds_are_averaged_and_compared(tmp_path):
    path = write_data(tmp_path / "set.npz")
    runs = [make_run(path, seed=seed) for seed in range(3)]
    scores = SUBJECT.scores(runs)
    assert scores.get("network", "auc").value == pytest.approx(0.71)
    assert scores.get("network", "auc").num_seeds == 3
    page = Page(PAGE.compare([runs[:1], runs[1:]]))
    assert page.sections() == ["scores", "baselines", "differences"]
    assert "2 runs side by side" in page.text and "set (2)" in page.text
    assert "cannot be compared" not in page.text


def test_other_test_cases_are_warned_of_and_one_run_is_nothing_to_compare(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"))
    other = dataclasses.replace(run, facts={**run.facts, "splits": {"test": {"samples": 9}}})
    assert (
        "scored on different test cases: their scores cannot be compared" in Page(PAGE.compare([[run], [other]])).text
    )
    with pytest.raises(DataError, match=r"give 2 to 16 runs\. Got 1"):
        PAGE.compare([[run]])


def test_several_classes_have_a_curve_each(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz", 3), num_classes=3)
    (matrix, roc), shown = parts_of(run, with_data=False)["errors"], interesting(run, reload_cases(run))
    assert [name.split(",")[0] for name, _ in roc.legend] == ["0", "1", "2"]
    right = [place for place, row in enumerate(matrix.rows) if int(row[1 + place].text)]
    labels = reload_cases(run).labels
    assert [labels[index] for heading, index in shown if heading == RIGHT] == right


def test_a_network_without_maps_is_reported_by_its_gradients(tmp_path):
    found = parts_of(make_run(write_data(tmp_path / "set.npz"), name="cnn_volume_classifier"))
    assert found["cases"][1].overlays == ["gradients"]
    assert [row[0].text for row in found["attention"][-1].rows] == ["gradients", "at random"]


def test_without_captum_the_page_stands_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "captum", None)
    found = parts_of(make_run(write_data(tmp_path / "set.npz")))
    assert found["cases"][1].overlays == ["attention"]
    assert "pip install 'multiway[volumes]'" in found["cases"][-1].words


def test_data_that_are_gone_leave_the_rest_of_the_report(tmp_path):
    path = write_data(tmp_path / "set.npz")
    run = make_run(path)
    path.unlink()
    page = Page(PAGE.report([run]))
    assert page.sections() == ["cases", "scores", "errors", "wrong", "calibration", "splits", "environment"]
    assert "which could not be reread" in page.text


def test_explain_takes_the_telling_cases_or_those_named(tmp_path):
    pytest.importorskip("nibabel")
    run = make_run(write_data(tmp_path / "set.npz"), folder=RunFolder(tmp_path))
    cases = reload_cases(run)
    name = cases.names["case"][20]
    answer = task.explain(run, tmp_path / "named", {"cases": (name,)})
    assert sum(path.suffix == ".png" for path in answer.files) == 1
    assert (tmp_path / "named" / f"case-{name}-attention.nii.gz").is_file()
    with pytest.raises(ConfigError, match="has no case 'nobody'"):
        task.explain(run, tmp_path / "none", {"cases": ("nobody",)})
    assert not (tmp_path / "none").exists()


def test_explain_begins_with_the_worst_error_in_the_runs_folder(tmp_path, monkeypatch):
    pytest.importorskip("nibabel")
    monkeypatch.setattr("multiway.tasks.scans.explain.EXPLAINED", 1)
    run = make_run(write_data(tmp_path / "set.npz"), folder=RunFolder(tmp_path))
    task.explain(run, None, {})
    cases = reload_cases(run)
    worst = cases.names["case"][interesting(run, cases)[0][1]]
    assert [path.name for path in (tmp_path / "explanation").glob("*.png")] == [f"case-{worst}.png"]


def test_a_run_on_arrays_cannot_be_explained_later(tmp_path):
    run = make_run(write_data(tmp_path / "set.npz"), folder=RunFolder(tmp_path))
    run.config = run.config.replace(data=None)
    with pytest.raises(ConfigError, match="fitted on what was in memory"):
        task.explain(run, tmp_path, {})
    run.folder = None
    assert "Data in memory" in Page(PAGE.report([run])).text
