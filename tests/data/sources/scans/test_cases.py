"""Tables, datalists and folders of scans as cases: labels, patients, splits, and grids that agree."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.sources.scans import scans
from multiway.data.findings import Findings
from multiway.data.options import VolumeSplit
from multiway.data.sources.scans.bodies import find_body
from multiway.data.sources.scans.cases import _hash_of
from multiway.data.sources.scans.listing import case_names
from multiway.data.sources.scans.loading import check_listed, read_cases
from multiway.data.splitting import split
from multiway.errors import DataError
from multiway.tasks.scans import VolumeConfig
from multiway.tasks.scans.config import ClassOptions
from multiway.tasks.scans.task import CLASSES as TASK

SPLIT = VolumeSplit(validation=0.2, test=0.2)


def prepare(table, **read):
    return TASK.prepare(VolumeConfig(read=ClassOptions(**read), split=SPLIT), str(table))


def table(folder, rows=20, name="cases.csv", **columns):
    """Scans a0.npy ... and a table of them: two patients per class of four cases."""
    for row in range(rows):
        np.save(folder / f"a{row}.npy", scans.voxels((3, 4, 5), row))
    frame = pd.DataFrame({
        "path": [f"a{row}.npy" for row in range(rows)],
        "label": ["sick" if row // 2 % 2 else "healthy" for row in range(rows)],
        "patient": [f"{row // 2:03d}" for row in range(rows)],
    })  # fmt: skip
    frame = frame.assign(**columns)
    if name.endswith("parquet"):
        frame.to_parquet(folder / name)
    else:
        frame.to_csv(folder / name, index=False, sep="\t" if name.endswith("tsv") else ",")
    return folder / name


@pytest.mark.parametrize("name", ["cases.csv", "cases.tsv", "cases.parquet"])
def test_a_table(tmp_path, name):
    cases = read_cases(table(tmp_path, name=name))
    assert (len(cases), cases.classes) == (20, ("healthy", "sick"))
    assert (cases.inputs.header.channels, cases.inputs.sizes) == (1, (3, 4, 5))
    assert cases.labels.tolist() == [0, 0, 1, 1] * 5
    assert cases.groups[2:4] == ("001", "001")
    assert cases.names["case"][:2] == ("a0", "a1")
    assert np.array_equal(cases.inputs[[7]].stack()[0, 0], scans.voxels((3, 4, 5), 7))


@pytest.mark.parametrize("seed", range(5))
def test_splits_keep_patients_whole_and_classes_in_their_share(tmp_path, seed):
    cases, how = read_cases(table(tmp_path, 80)), VolumeSplit(validation=0.2, test=0.3, seed=seed)
    splits = split(cases, how)
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 40, "validation": 16, "test": 24}
    assert sorted(np.concatenate(list(splits.values()))) == list(range(80))
    patients = [{cases.groups[row] for row in rows} for rows in splits.values()]
    assert not patients[0] & patients[1] | patients[0] & patients[2] | patients[1] & patients[2]
    assert cases.take(splits["test"]).counts()["classes"] == {"healthy": 12, "sick": 12}
    repeated = split(read_cases(tmp_path / "cases.csv"), how)
    assert all(np.array_equal(repeated[name], rows) for name, rows in splits.items())


def test_seeds_differ(tmp_path):
    path = table(tmp_path, 80)
    first, second = (split(read_cases(path), VolumeSplit(seed=seed))["test"] for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_a_split_column_wins_and_leaks_are_refused(tmp_path):
    words = ["training"] * 12 + ["val"] * 4 + ["TEST"] * 4
    assert prepare(table(tmp_path, split=words)).splits["test"].tolist() == [16, 17, 18, 19]
    words[12] = "train"
    with pytest.raises(DataError, match=r"a patient must be in one split\. Patient '006' is in train and val"):
        prepare(table(tmp_path, split=words))
    words[12] = None
    with pytest.raises(DataError, match=r"line 14: a split is needed in every row, or in none \(1 lack it\)"):
        prepare(table(tmp_path, split=words))
    words[12] = "later"
    with pytest.raises(DataError, match=r"line 14: a split is train, validation or test\. Got 'later'"):
        prepare(table(tmp_path, split=words))


def test_without_validation_it_is_taken_from_training(tmp_path):
    words = ["train"] * 16 + ["test"] * 4
    prepared = prepare(table(tmp_path, split=words))
    assert {name: len(rows) for name, rows in prepared.splits.items()} == {"train": 12, "validation": 4, "test": 4}
    assert prepared.splits["test"].tolist() == [16, 17, 18, 19]
    held, trained = ({prepared.raw.groups[row] for row in prepared.splits[name]} for name in ("validation", "train"))
    assert not held & trained


def test_whole_numbers_are_sorted_as_numbers(tmp_path):
    path = table(tmp_path, label=[10, 9] * 10)
    prepared = prepare(path)
    assert prepared.raw.classes == ("9", "10")

    def later(*classes):
        return TASK.prepare(VolumeConfig(), str(path), prepared.state.replace(classes=classes)).raw

    assert later("9", "11", "10").labels[:2].tolist() == [2, 0]
    with pytest.raises(DataError, match=r"training, 9, 11. Got 10 in 10 cases, the first in .*line 2\. "):
        later("9", "11")


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        ({"path": [f"b{row}.npy" for row in range(20)]}, {}, r"line 2: there is no file 'b0\.npy' in .*Correct"),
        ({"path": ["../x.npy"] * 20}, {}, r"line 2: files must lie below .*'\.\./x\.npy'.*read\.root=FOLDER"),
        ({"path": ["/etc/hosts"] * 20}, {}, r"line 2: files must lie below"),
        ({"path": ["a0.npy"] * 20}, {}, r"a file must be listed once\. a0\.npy is in cases\.csv, line 2 and .*line 3"),
        ({"path": [None, *["a0.npy"] * 19]}, {}, r"line 2: a file is needed in 'path'"),
        ({"label": [None, *["x"] * 19]}, {}, r"line 2: a label is needed in every row, or in none"),
        ({"label": [0.5] * 20}, {}, r"cases\.csv: every case has the same number"),
        ({"label": ["x", *range(19)]}, {"kind": "number"}, r"line 2: a number is needed\. Got 'x'"),
        ({"label": [f"c{row}" for row in range(20)] }, {"label": "lable"}, r"no column 'lable' of labels\. Got path"),
        ({}, {"path": "file"}, r"no column 'file' of files\. Got path, label, patient\. Name it"),
        ({}, {"patient": "who"}, r"no column 'who' of patients"),
        ({"patient": [None, *["x"] * 19]}, {}, r"line 2: a patient is needed in every row"),
        ({}, {"orientation": "RAS"}, r"line 2: orientation needs an affine and a bare array has none"),
        ({}, {"spacing": (1, 1, 1)}, r"line 2: spacing needs an affine"),
    ],
    ids=["missing", "above", "absolute", "twice", "empty", "no-label", "fraction", "word", "column", "files",
         "patients", "no-patient", "orientation", "spacing"],
)  # fmt: skip
def test_flaws_of_a_table(tmp_path, columns, options, text):
    folder = tmp_path / "in"
    folder.mkdir()
    np.save(tmp_path / "x.npy", scans.voxels())
    with pytest.raises(DataError, match=text) as caught:
        TASK.prepare(VolumeConfig(read=ClassOptions(**options), split=SPLIT), str(table(folder, **columns)))
    assert "\n" not in str(caught.value)


def test_a_root_widens_what_is_allowed(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    path = table(folder, path=[f"in/a{row}.npy" for row in range(20)])
    assert len(read_cases(path, ClassOptions(root=str(tmp_path)))) == 20
    path = table(folder, path=[str(folder / f"a{row}.npy") for row in range(20)])
    assert len(read_cases(path)) == 20


def test_too_many_labels_are_no_classes(tmp_path):
    path = table(tmp_path, 120, label=[f"c{row}" for row in range(120)])
    with pytest.raises(DataError, match=r"120 different labels for 120 cases .*: c0, c1, c10, c100 and 116"):
        read_cases(path)


def test_too_few_cases_to_split(tmp_path):
    with pytest.raises(DataError, match=r"each split needs cases\. Got train 2, validation 0, test 0\."):
        prepare(table(tmp_path, 2, label=["a", "b"]))


def test_cases_that_differ_in_size(tmp_path):
    path = table(tmp_path)
    np.save(tmp_path / "a3.npy", scans.voxels((3, 4, 6)))
    with pytest.raises(DataError, match=r"cases differ in size: 3x4x5 in 19 \(a0\), 3x4x6 in 1 \(a3\)\. Set size"):
        read_cases(path)
    scans_of_two_sizes = read_cases(path, same_sizes=False).inputs
    assert scans_of_two_sizes.sizes is None
    with pytest.raises(DataError, match="volumes of one size are needed"):
        scans_of_two_sizes.stack()
    assert read_cases(path, ClassOptions(size=(4, 4, 4))).inputs.volumes.shape == (20, 1, 4, 4, 4)


def test_a_flaw_in_a_scan_names_the_row(tmp_path):
    path = table(tmp_path)
    (tmp_path / "a4.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"^cases\.csv, line 6: a4\.npy: it is no NumPy array"):
        read_cases(path)
    assert len(read_cases(path, opened=False)) == 20


def test_decathlon_datalist(tmp_path):
    for folder in ("imagesTr", "labelsTr", "imagesTs"):
        (tmp_path / folder).mkdir()
    for row in range(6):
        scans.nifti(tmp_path / "imagesTr" / f"c{row}.nii.gz", scans.voxels(seed=row))
        scans.nifti(tmp_path / "labelsTr" / f"c{row}.nii.gz", (scans.voxels(seed=row) > 200).astype(np.uint8))
    scans.nifti(tmp_path / "imagesTs" / "t.nii.gz")
    content = {
        "name": "x", "numTraining": 6, "test": ["./imagesTs/t.nii.gz"],
        "training": [{"image": f"./imagesTr/c{r}.nii.gz", "label": f"./labelsTr/c{r}.nii.gz"} for r in range(6)],
    }  # fmt: skip
    (tmp_path / "dataset.json").write_text(json.dumps(content))
    cases = read_cases(tmp_path / "dataset.json")
    assert (len(cases), cases.labels, cases.inputs.has_masks) == (6, None, True)
    assert cases.inputs.header.axes == ("x", "y", "z")
    assert np.array_equal(cases.inputs.mask(2).values[0], scans.voxels(seed=2) > 200)
    content = [{"image": f"imagesTr/c{r}.nii.gz", "label": r % 2, "patient_id": f"p{r}"} for r in range(6)]
    (tmp_path / "list.json").write_text(json.dumps(content))
    cases = read_cases(tmp_path / "list.json")
    (tmp_path / "named.json").write_text(json.dumps({"labels": {"0": "well", "1": "ill"}, "training": content}))
    assert read_cases(tmp_path / "named.json").classes == ("well", "ill")
    assert (cases.classes, cases.groups, cases.inputs.has_masks) == (
        ("0", "1"),
        tuple(f"p{r}" for r in range(6)),
        False,
    )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{", "it is no JSON"), ("[" * 100_000, "nested too deeply|it is no JSON"), ("3", r"a datalist .*Got int"),
        ("{}", r"a datalist is"), ("[7]", r"entry 0: an entry maps"), ('[{"image": ["a", "b"]}]', "one file and one"),
        ('["\\u0000"]', "NUL"), ('["x\\ud800.nii"]', "there is no file"),
    ],
)  # fmt: skip
def test_flaws_of_a_datalist(tmp_path, text, match):
    (tmp_path / "d.json").write_text(text)
    with pytest.raises(DataError, match=match) as caught:
        read_cases(tmp_path / "d.json")
    assert "\n" not in str(caught.value)


def test_a_folder(tmp_path):
    scans.nifti(tmp_path / "b.nii.gz")
    scans.series(tmp_path / "p 1" / "ct")
    scans.series(tmp_path / "p 2" / "ct")
    (tmp_path / ".hidden.nii").write_bytes(b"")
    (tmp_path / "readme.txt").write_text("x")
    cases = read_cases(tmp_path, opened=False)
    assert cases.names == {"case": ("b", "p_1-ct", "p_2-ct")}
    assert (cases.labels, cases.official, cases.inputs.sizes) == (None, None, None)
    assert cases.inputs.prepare(1).sizes == (5, 7, 4)
    assert read_cases(tmp_path / "b.nii.gz").names == {"case": ("b",)}
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="there is no scan in it"):
        read_cases(tmp_path / "empty")


def test_names_are_different_and_safe_in_file_names():
    files = [
        Path(name) for name in ("/d/a.nii", "/d/a.npy", "/d/d-a-2.nii", "/e/b.nii.gz", "/f/b.nii", "/f/../x y;*.npy")
    ]
    assert case_names(files) == ("d-a", "d-a-2", "d-a-2-2", "e-b", "f-b", "x_y__")
    assert case_names([Path("/d/a.nii")] * 3) == ("d-a", "d-a-2", "d-a-3")
    assert case_names([Path("/\u202e..nii"), Path("/.nii")]) == ("_.", "case")


def test_masks_must_lie_on_their_volume(tmp_path):
    scans.nifti(tmp_path / "a.nii")
    scans.nifti(tmp_path / "m.nii", affine=np.diag([1.5, 2.0, 3.5, 1]))
    pd.DataFrame({"path": ["a.nii"], "mask": ["m.nii"]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"m\.nii: a mask must lie on the grid .*3\.5 mm, RAS for 5x7x3 .*3 mm, RAS"):
        read_cases(tmp_path / "t.csv").inputs.mask(0)


def test_notes_say_what_differs(tmp_path):
    for row in range(8):
        affine = np.diag([-1.0 if row % 2 else 1, 1, 1 + row // 4, 1])
        scans.nifti(tmp_path / f"{row}.nii", affine=affine)
    frame = pd.DataFrame({"path": [f"{row}.nii" for row in range(8)], "label": ["a", "b"] * 4})
    frame["split"] = ["train"] * 4 + ["validation"] * 2 + ["test"] * 2
    frame["label"] = ["a", "b", "a", "b", "a", "b", "a", "a"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    notes = prepare(tmp_path / "t.csv").notes
    assert any("spacings differ: 1 x 1 x 1 mm in 4 (0), 1 x 1 x 2 mm in 4 (4). Set spacing" in note for note in notes)
    assert any("orientations differ: RAS in 4 (0), LAS in 4 (1). Set orientation" in note for note in notes)
    assert any("test has no cases of b: AUC is undefined" in note for note in notes)
    fixed = prepare(tmp_path / "t.csv", spacing=(1, 1, 1), orientation="LPS", size=(5, 7, 3))
    assert not any("differ" in note for note in fixed.notes)
    assert fixed.raw.inputs.prepare(5).orientation == "LPS"


@pytest.mark.parametrize("name", ["cases.csv", "cases.parquet"])
@pytest.mark.parametrize(
    ("label", "classes"),
    [(["01", "1", "2", "10"], ("01", "1", "2", "10")), (["TRUE", "false", "true", "FALSE"], ("False", "True"))],
)
def test_labels_are_what_is_written_as_in_any_table(tmp_path, name, label, classes):
    path = table(tmp_path, name=name, label=label * 5)
    cases = read_cases(path)
    assert cases.classes == classes and [cases.classes[row] for row in cases.labels[:4]] == [
        {"TRUE": "True", "true": "True", "FALSE": "False", "false": "False"}.get(each, each) for each in label
    ]
    findings = Findings("cases")
    check_listed(cases, findings)
    said = [finding.rule for finding in findings.found if finding.kind == "classes"]
    assert said == (["classes of 'label' are one number in several spellings: 01, 1"] if "01" in label else [])


def test_numbers_as_labels_of_a_datalist_are_those_of_a_table(tmp_path):
    table(tmp_path, label=[10, 9] * 10)
    content = [{"image": f"a{row}.npy", "label": 10 - row % 2} for row in range(20)]
    (tmp_path / "list.json").write_text(json.dumps(content))
    one, other = read_cases(tmp_path / "cases.csv"), read_cases(tmp_path / "list.json")
    assert one.classes == other.classes == ("9", "10") and one.labels.tolist() == other.labels.tolist()


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float64])
def test_a_digest_is_of_the_values_whatever_their_order_in_memory(dtype):
    values = np.random.default_rng(0).integers(0, 9, (2, 67, 13, 11)).astype(dtype)
    plainly = hashlib.sha256(f"{values.shape}{values.dtype.kind}".encode() + values.tobytes()).digest()
    assert _hash_of(values) == _hash_of(np.asfortranarray(values)) == plainly
    np.testing.assert_array_equal(find_body(values), find_body(np.asfortranarray(values)))
