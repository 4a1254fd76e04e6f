"""Audit of volumes: each planted leak is found in a set that is sound without it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from multiway import workflows
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.errors import DataError
from multiway.tasks.scans.task import CLASSES as TASK
from tasks.scans.classes.blocks import make_config, make_volumes, write_npz, write_table


def found(report):
    return {finding.kind for finding in report.findings if finding.severity == "error"}


def table(folder, **columns):
    """The table of two scans a patient, with its own split by patient."""
    path = write_table(folder)
    frame = pd.read_csv(path)
    split = np.where(frame.index < 18, "train", np.where(frame.index < 24, "validation", "test"))
    frame.assign(split=split, **columns).to_csv(path, index=False)
    return path


def test_a_sound_set_passes(tmp_path):
    report = TASK.audit(make_config(write_npz(tmp_path / "set.npz")))
    assert not report.leaks and report.passed == (
        "none of 90 volumes is in two splits",
        "no volume has two labels",
        "none of 50 images is nearly a copy of one in another split",
        "the border of the images does not tell the class better than the inside does",
        "how images were stored does not tell the class",
        (
            "the grid of the scans cannot tell the class: "
            "sizes, spacing, orientation, type, step between intensities never vary"
        ),
        "intensities are scaled by fixed numbers, 0 to 255, and none was learnt",
    )
    assert report.findings[0].line().startswith("patients are not known")


def test_a_split_of_the_users_own_passes(tmp_path):
    report = TASK.audit(make_config(table(tmp_path)))
    assert not report.leaks and "none of 15 patients is in two splits" in report.passed


def test_a_patient_in_two_splits_is_reported_and_the_rest_is_looked_at(tmp_path):
    path = table(tmp_path)
    frame = pd.read_csv(path)
    frame.loc[29, "patient"] = "p0"
    frame.to_csv(path, index=False)
    report = TASK.audit(make_config(path))
    assert found(report) == {"groups"}
    assert "1 of 15 patients are in two splits: p0 in train and test" in report.findings[0].line()
    assert "none of 30 volumes is in two splits" in report.passed
    with pytest.raises(DataError, match="a patient must be in one split"):
        TASK.prepare(make_config(path), path)


def test_a_file_that_is_listed_in_two_splits_is_reported_and_the_rest_is_looked_at(tmp_path):
    path = table(tmp_path)
    frame = pd.read_csv(path)
    frame.loc[29, "path"] = "scan03.npy"
    frame.to_csv(path, index=False)
    report = TASK.audit(make_config(path))
    assert found(report) == {"groups", "duplicates"}
    lines = "\n".join(report.lines())
    assert "1 of 29 files are in two splits: scan03.npy in train and test. Give each file to one split" in lines
    assert "none of 15 patients" in lines and "the grid of the scans" in lines


@pytest.mark.parametrize(
    "change", [lambda values: 255 - values, lambda values: values[::-1]], ids=["negative", "mirror"]
)
def test_a_changed_copy_of_a_scan_is_found(change, tmp_path):
    parts = dict(np.load(write_npz(tmp_path / "set.npz")))
    parts["test_images"][3] = change(parts["train_images"][7])
    np.savez(tmp_path / "set.npz", **parts)
    report = TASK.audit(make_config(tmp_path / "set.npz"))
    assert found(report) == {"near"} and "test test-00003 ~ train-00007" in report.findings[0].line()


def test_a_type_for_each_class_is_found_where_classes_take_turns(tmp_path):
    volumes, labels = make_volumes(30)
    path = table(tmp_path)
    for row, (volume, label) in enumerate(zip(volumes, labels, strict=True)):
        np.save(tmp_path / f"scan{row:02d}.npy", volume.astype(np.int16 if label else np.uint8))
    assert found(TASK.audit(make_config(path))) == {"lookup"}


def test_a_scan_in_two_splits_and_with_two_labels_is_found(tmp_path):
    parts = dict(np.load(write_npz(tmp_path / "set.npz")))
    parts["test_images"][3] = parts["train_images"][6]
    np.savez(tmp_path / "set.npz", **parts)
    report = TASK.audit(make_config(tmp_path / "set.npz"))
    assert found(report) == {"duplicates", "labels"}
    lines = "\n".join(report.lines())
    assert "test test-00003 = train train-00006" in lines
    assert "copies of a volume have different labels: train-00006 (0) = test-00003 (1)" in lines


def test_empty_volumes_are_no_copies(tmp_path):
    parts = dict(np.load(write_npz(tmp_path / "set.npz")))
    for part in ("train", "test"):
        parts[f"{part}_images"][0] = 0
    np.savez(tmp_path / "set.npz", **parts)
    assert not TASK.audit(make_config(tmp_path / "set.npz")).leaks


def test_a_scanner_for_each_class_gives_the_class_away(tmp_path):
    volumes, labels = make_volumes(30)
    path = table(tmp_path)
    for row, (volume, label) in enumerate(zip(volumes, labels, strict=True)):
        np.save(tmp_path / f"scan{row:02d}.npy", volume[:, :, : 10 - label])
    report = TASK.audit(make_config(path, read={"size": [8, 9, 9]}))
    assert found(report) == {"lookup"}
    assert "the grid of the scans tells the class: a look-up of sizes alone" in report.findings[0].line()


@pytest.mark.parametrize("rows", ["train", "all"])
def test_scaling_by_all_volumes_is_found(rows, tmp_path):
    config = make_config(write_npz(tmp_path / "set.npz"), read={"normalise": "train"})
    prepared = TASK.prepare(config, tmp_path / "set.npz")
    used = prepared.rows(rows)
    scale = IntensityScale.fit(prepared.raw.inputs.volumes.__getitem__, used, config.read)
    run = SimpleNamespace(state=SimpleNamespace(scale=scale))
    assert found(TASK.audit(config, run)) == (set() if rows == "train" else {"statistics"})


def test_volumes_that_are_scaled_by_themselves_see_no_other(tmp_path):
    config = make_config(write_npz(tmp_path / "set.npz"), read={"normalise": "volume"})
    assert "each volume is scaled by itself" in TASK.audit(config).passed


@pytest.mark.slow
def test_real_adrenal_glands_pass(real_data):
    report = workflows.audit("volumes", {"data": "adrenalmnist3d"})
    assert not report.leaks and "none of 1,584 volumes is in two splits" in report.passed
