"""Scans as strangers send them: other formats, links that lead out, no geometry; and no problem hides another."""

import json

import nibabel
import numpy as np
import pandas as pd
import pytest

from data.sources.scans import scans
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.reading import read_volume
from multiway.errors import DataError
from multiway.tasks.scans import VolumeConfig
from multiway.tasks.scans.task import CLASSES as TASK


def check(path):
    return TASK.kind.check(VolumeConfig(), str(path))


FOREIGN = {
    "x.mgz": "a volume of FreeSurfer", "x.mgh.gz": "a volume of FreeSurfer", "x.mnc": "a volume of MINC",
    "DICOMDIR": "a DICOMDIR, an index", "x.nrrd": "a volume of NRRD", "x.img": "half of a pair",
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_a_scan_in_another_form_is_called_what_it_is(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(b"\x1f\x8b\x00 no text")
    (tmp_path / "cases.csv").write_text(f"path,label\n{name},1\n")
    for read in (read_cases, read_volume):
        with pytest.raises(DataError, match=rf"{name}: it is {FOREIGN[name]}.* which is not read\. Give \.nii"):
            read(path)
    with pytest.raises(DataError, match=rf"it is {FOREIGN[name]}"):
        read_cases(tmp_path / "cases.csv", opened=False).inputs.read(0)
    with pytest.raises(DataError, match=rf"it is {FOREIGN[name]}"):
        read_cases(tmp_path)
    assert any(FOREIGN[name] in line for line in check(path).lines())


def test_a_link_that_leads_out_is_refused(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    scans.nifti(outside / "a.nii")
    (inside / "link").symlink_to(outside)
    (inside / "cases.csv").write_text("path,label\nlink/a.nii,1\n")
    with pytest.raises(DataError, match=r"files must lie below .*inside, links followed\. Got 'link/a\.nii'"):
        read_cases(inside / "cases.csv")


def test_a_folder_that_is_itself_a_link_is_no_way_out(tmp_path):
    (tmp_path / "real").mkdir()
    scans.nifti(tmp_path / "real" / "a.nii")
    (tmp_path / "real" / "cases.csv").write_text("path,label\na.nii,1\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert len(read_cases(tmp_path / "link" / "cases.csv")) == 1


def bare(path):
    """A NIfTI file whose header does not say how its voxels lie."""
    image = nibabel.Nifti1Image(scans.voxels(), None)
    image.header["qform_code"] = image.header["sform_code"] = 0
    nibabel.save(image, path)
    return path


def test_a_scan_without_geometry_is_no_silent_las(tmp_path):
    folder = tmp_path / "scans"
    folder.mkdir()
    bare(folder / "a.nii")
    scans.nifti(folder / "b.nii")
    said = "1 of 2 scans do not say how they lie (qform and sform codes are 0), so they are taken as LAS: a"
    (tmp_path / "cases.csv").write_text("path,label\n" + "scans/a.nii,0\nscans/b.nii,1\n")
    report = check(folder)
    assert [finding.severity for finding in report.findings if said in finding.rule] == ["warning"]
    with pytest.raises(DataError, match=r"orientation needs to know how the voxels lie, and the header does not say"):
        read_cases(folder, VolumeOptions(orientation="RAS"), opened=False).inputs.prepare(0)


@pytest.mark.parametrize("shape", [(10, 10, 10, 1), (28, 28, 28, 3)], ids=str)
def test_channels_that_stand_last_are_refused(shape, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(shape, np.uint8))
    text = rf"channels stand before the three sizes\. Got {shape[0]} channels of {shape[1]} x {shape[2]} x {shape[3]}"
    with pytest.raises(DataError, match=text):
        read_volume(tmp_path / "a.npy", channels=True)
    images = np.zeros((4, *shape), np.uint8)
    arrays = {f"{part}_{kind}": images if kind == "images" else np.array([0, 1, 0, 1])
              for part in ("train", "val", "test") for kind in ("images", "labels")}  # fmt: skip
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=text):
        read_cases(tmp_path / "a.npz", VolumeOptions(channels=True))


def test_few_channels_and_flat_volumes_are_taken(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 10, 10, 4), np.uint8))
    assert read_volume(tmp_path / "a.npy", channels=True).channels == 3


def test_a_check_lists_all_problems_at_once(tmp_path):
    rows = []
    for index in range(6):
        scans.nifti(tmp_path / f"good{index}.nii")
        rows.append((f"good{index}.nii", index % 2, "p", "train" if index else "test"))
    for index in range(16):
        (tmp_path / f"bad{index}.nii").write_bytes(b"no scan")
        rows.append((f"bad{index}.nii", 0, f"q{index}", "train"))
    rows += [("absent.nii", 0, "r", "train"), ("../out.nii", 1, "s", "train"), ("good1.nii", 1, "t", "tomorrow")]
    pd.DataFrame(rows, columns=["path", "label", "patient", "split"]).to_csv(tmp_path / "cases.csv", index=False)
    report = check(tmp_path / "cases.csv")
    said = "\n".join(report.lines())
    assert all(f"bad{index}.nii: it is no NIfTI file" in said for index in range(16))
    assert "there is no file 'absent.nii'" in said and "files must lie below" in said and "Got 'tomorrow'" in said
    assert "Patient 'p' is in test and train" in said
    assert report.summary["cases"] == 22 and report.summary["sizes"] == "5 x 7 x 3"
    with pytest.raises(DataError, match=r"no file 'absent\.nii'"):
        read_cases(tmp_path / "cases.csv")


def test_a_check_lists_all_problems_of_a_datalist(tmp_path):
    scans.nifti(tmp_path / "a.nii")
    items = [{"image": "a.nii", "label": 1}, {"image": "b.nii", "label": 0}, {"image": "c.nii", "label": 0}, 7]
    (tmp_path / "list.json").write_text(json.dumps(items))
    said = "\n".join(check(tmp_path / "list.json").lines())
    assert "'b.nii'" in said and "'c.nii'" in said and "an entry maps 'image' and 'label'" in said


def test_where_nothing_is_left_every_problem_is_still_listed(tmp_path):
    (tmp_path / "cases.csv").write_text("path,label\na.nii,0\nb.nii,1\n")
    said = "\n".join(check(tmp_path / "cases.csv").lines())
    assert "'a.nii'" in said and "'b.nii'" in said
