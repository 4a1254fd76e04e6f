"""A check of scans says what is in a source, and each thing that is wrong with it."""

import numpy as np
import pandas as pd
import pydicom
import pytest

from data.sources.scans import scans
from multiway.data.sources.scans.checking import looks_like_volumes
from multiway.tasks.scans import VolumeConfig
from multiway.tasks.scans.task import CLASSES as TASK


def tabled(folder, rows=20, **columns):
    for row in range(rows):
        scans.nifti(folder / f"{row}.nii", scans.voxels(seed=row))
    frame = pd.DataFrame({"path": [f"{row}.nii" for row in range(rows)], "label": ["a", "b"] * (rows // 2)})
    frame.assign(**columns).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def check(path, split=None, **read):
    return TASK.kind.check(VolumeConfig.parse({"read": read, "split": split or {}}), str(path))


def kinds(report):
    return {finding.kind: finding for finding in report.findings}


def test_a_sound_table(tmp_path):
    report = check(tabled(tmp_path, patient=[f"p{row // 2}" for row in range(20)]), {"seed": 1})
    assert report.is_usable
    assert report.summary == {
        "cases": 20, "sizes": "5 x 7 x 3", "prepared sizes": None, "channels": "1", "axes": "x, y, z",
        "spacing": "1.5 x 2 x 3 mm", "orientation": "RAS", "type": "int16", "intensities": "-100 to 399",
        "kept by size": None, "masks": None, "target": "label", "classes": "a 10, b 10", "range": None, "repeated": 0,
        "groups": 10,
        "splits": "train 12, validation 4, test 4", "encoding": None,
    }  # fmt: skip
    assert set(kinds(report)) == {"geometry"}
    assert "voxels are no cubes: 1.5 x 2 x 3 mm in 20 (0)" in kinds(report)["geometry"].rule
    assert report.lines()[-1] == "The file can be used as it is."


def test_what_is_wrong_with_values(tmp_path):
    path = tabled(tmp_path)
    scans.nifti(tmp_path / "3.nii", np.zeros((5, 7, 3), np.int16))
    scans.nifti(tmp_path / "4.nii", np.full((5, 7, 3), 7, np.int16))
    scans.nifti(tmp_path / "6.nii", scans.voxels(seed=5))
    report = check(path)
    assert report.is_usable
    found = kinds(report)
    assert found["zero"].line() == "every voxel is 0: t.csv, line 5. Leave these cases out if that is not meant."
    assert "t.csv, line 6" in found["constant"].line()
    assert found["targets"].line().startswith("2 cases have equal inputs and different classes: 5; 6.")
    assert "duplicates" not in found and report.summary["repeated"] == 0


def test_duplicates_across_splits(tmp_path):
    path = tabled(tmp_path, split=["train"] * 12 + ["val"] * 4 + ["test"] * 4)
    scans.nifti(tmp_path / "18.nii", scans.voxels(seed=4))
    found = kinds(check(path))
    assert found["leak"].line().startswith("1 cases repeat one of another split: 18.")


def test_every_broken_file_is_named(tmp_path):
    path = tabled(tmp_path)
    (tmp_path / "2.nii").write_bytes(b"x")
    scans.patched(tmp_path / "9.nii", 112, np.array([np.nan], "<f4").tobytes())
    report = check(path)
    assert not report.is_usable
    errors = [finding.line() for finding in report.findings if finding.severity == "error"]
    assert errors[0].startswith("t.csv, line 4: 2.nii: it is no NIfTI file")
    assert errors[1].startswith("t.csv, line 11: 9.nii: its scaling must be finite")
    assert report.summary["cases"] == 20


def test_grids_that_differ_are_named_with_the_option_that_fixes_them(tmp_path):
    path = tabled(tmp_path)
    scans.nifti(tmp_path / "1.nii", scans.voxels((5, 7, 6)), np.diag([-1.5, 2, 1.5, 1]))
    report = check(path)
    lines = [finding.line() for finding in report.findings]
    assert any("spacings differ: 1.5 x 2 x 3 mm in 19 (0), 1.5 x 2 x 1.5 mm in 1 (1)" in line for line in lines)
    assert any("orientations differ: RAS in 19 (0), LAS in 1 (1). Set orientation" in line for line in lines)
    assert not report.is_usable
    assert any("cases differ in size: 5x7x3 in 19 (0), 5x7x6 in 1 (1). Set size" in line for line in lines)
    report = check(path, orientation="RAS", spacing=(1.5, 2, 3))
    assert report.is_usable
    assert report.summary["prepared sizes"] == "5 x 7 x 3"
    assert report.summary["sizes"] == "5 x 7 x 3 (19), 5 x 7 x 6 (1)"


def test_without_labels(tmp_path):
    scans.nifti(tmp_path / "a.nii.gz")
    report = check(tmp_path)
    assert report.is_usable
    assert "predicted and not trained on" in kinds(report)["target"].rule


def test_masks_are_counted(tmp_path):
    for row in range(8):
        values = (scans.voxels(seed=row) > 300).astype(np.uint8) * 2 * (row > 1)
        scans.nifti(tmp_path / f"m{row}.nii", values)
    path = tabled(tmp_path, 8, mask=[f"m{row}.nii" for row in range(8)], label=None)
    report = check(path, {"validation": 0.25, "test": 0.25})
    assert report.is_usable
    assert report.summary["masks"] == "8, values 0, 2, 2 empty"
    scans.nifti(tmp_path / "m3.nii", np.zeros((5, 7, 4), np.uint8))
    assert "m3.nii: a mask must lie on the grid of its volume" in check(path).findings[0].rule


def test_a_missing_source_is_a_finding(tmp_path):
    report = check(tmp_path / "no.csv")
    assert not report.is_usable
    assert "does not exist" in report.findings[0].rule


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.nii.gz", b"", True),
        ("a.npz", b"", True),
        ("a.json", b"", True),
        ("a.csv", b"path,label\nx/1.nii.gz,0\n", True),
        ("b.csv", b'file;age\n"scan.npy";3\n', True),
        ("c.csv", b"path,label\nfolder/one,0\n", True),
        ("d.csv", b"date,a,b\n2024-01-01,1,2\n", False),
        ("e.csv", b"", False),
        ("f.parquet", b"PAR1", False),
    ],
)
def test_what_looks_like_volumes(name, content, expected, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert looks_like_volumes(tmp_path / name) is expected
    assert looks_like_volumes(tmp_path / "absent.csv") is False


def test_a_folder_of_tables_alone_holds_no_scans(tmp_path):
    assert looks_like_volumes(tmp_path)
    (tmp_path / "labels.csv").write_bytes(b"path,label\nx/1.nii.gz,0\n")
    (tmp_path / "notes.parquet").write_bytes(b"PAR1")
    assert not looks_like_volumes(tmp_path)
    (tmp_path / "x").mkdir()
    assert looks_like_volumes(tmp_path)


def test_series_that_may_lack_slices_at_the_ends_are_named(tmp_path):
    """By the images that an acquisition counts, and by numbers that begin late; a series from 1 on is whole."""
    rows = []
    for name, first, planned in (("whole", 1, 4), ("late", 3, 0), ("few", 1, 9)):
        for file in scans.series(tmp_path / name, scans.voxels((5, 7, 4))).iterdir():
            data = pydicom.dcmread(file)
            data.InstanceNumber, data.ImagesInAcquisition = int(file.stem.split("-")[1]) + first, planned
            data.save_as(file)
        rows.append(f"{name},{'ab'[len(rows) % 2]},p{len(rows)}")
    table = tmp_path / "scans.csv"
    table.write_text("\n".join(["path,label,patient", *rows, ""]))
    said = [each.rule for each in check(table).findings if "may lack" in each.rule]
    assert len(said) == 1 and "of 2 of 3 scans" in said[0] and "whole" not in said[0]
    assert "late has instance numbers 3 to 6" in said[0] and "few has 4 of 9 images of its acquisition" in said[0]
