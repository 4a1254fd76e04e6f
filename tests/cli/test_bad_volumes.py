"""Every flaw of scans and their tables, at the command line: one line, exit 1, no traceback, nothing half-written."""

import csv
import gzip
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from command import assert_flaw_is_found, assert_one_line, assert_refused, call
from multiway.cli.main import run
from scan_files import SIZES, make_volume, write_scan, write_scans

TRAIN = ["train", "volumes", "--data", "scans.csv", "--out", "run", "--set", "training.epochs=1"]
SMALL = ["--set", "model.dim=16", "--set", "model.num_blocks=1", "--set", "draws=20"]
FIRST = Path("scans/scan-00.nii.gz")


def rows():
    with Path("scans.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(changed):
    with Path("scans.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(changed[0]))
        writer.writeheader()
        writer.writerows(changed)


def change_header(offset, form, value):
    """Overwrite a field of the first scan's NIfTI header."""
    content = bytearray(gzip.decompress(FIRST.read_bytes()))
    struct.pack_into(form, content, offset, value)
    FIRST.write_bytes(gzip.compress(bytes(content)))


def drop_column(name):
    write_rows([{key: value for key, value in row.items() if key != name} for row in rows()])


def set_cells(**cells):
    write_rows([{**row, **cells} for row in rows()])


def set_first(**cells):
    first, *rest = rows()
    write_rows([{**first, **cells}, *rest])


def write_first(volume):
    write_scan(FIRST, volume)


def split_a_patient():
    """One scan of the first patient in the training and one in the test rows."""
    write_rows([{**row, "split": "test" if index % 5 == 1 else "train"} for index, row in enumerate(rows())])


USABLE = ("no labels", "other sizes")
"""Flaws with which scans can be predicted on, or that the proposed command puts right: a check only remarks on them."""
GENERATOR = np.random.default_rng(1)
BAD = {
    "no labels": (lambda: drop_column("label"), "label"),
    "no paths": (lambda: drop_column("path"), "path"),
    "empty table": (lambda: Path("scans.csv").write_text(""), "scans.csv"),
    "header only": (lambda: Path("scans.csv").write_text("path,label\n"), "scans.csv"),
    "one class": (lambda: set_cells(label="healthy"), "class"),
    "missing label": (lambda: set_first(label=""), "line 2"),
    "missing file": (lambda: FIRST.unlink(), "scan-00.nii.gz"),
    "path upwards": (lambda: set_first(path="../scan.nii.gz"), ".."),
    "a patient on both sides": (split_a_patient, "p00"),
    "not NIfTI": (lambda: FIRST.write_bytes(gzip.compress(b"no volume" * 100)), "scan-00.nii.gz"),
    "truncated": (lambda: FIRST.write_bytes(FIRST.read_bytes()[:-400]), "scan-00.nii.gz"),
    "no gzip": (lambda: FIRST.write_bytes(b"\x1f\x8b" + b"0" * 50), "scan-00.nii.gz"),
    "empty file": (lambda: FIRST.write_bytes(b""), "scan-00.nii.gz"),
    "huge dims": (lambda: change_header(42, "<h", 32000), "scan-00.nii.gz"),
    "negative dims": (lambda: change_header(42, "<h", -16), "scan-00.nii.gz"),
    "NaN voxels": (lambda: write_first(np.full(SIZES, np.nan, np.float32)), "scan-00.nii.gz"),
    "other sizes": (lambda: write_first(make_volume(GENERATOR, is_lesion=False)[:-2]), "--size"),
    "four axes": (lambda: write_first(np.zeros((*SIZES, 3), np.int16)), "scan-00.nii.gz"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_scans(tmp_path, patients=5)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", BAD)
def test_training_refuses_in_one_line_and_leaves_nothing(case, folder, monkeypatch, capsys):
    damage, text = BAD[case]
    damage()
    assert_refused([*TRAIN, *SMALL], text, folder, monkeypatch, capsys)


@pytest.mark.parametrize("case", [name for name in BAD if name not in USABLE])
def test_check_says_it_and_exits_with_1(case, folder, monkeypatch, capsys):
    BAD[case][0]()
    assert_flaw_is_found(["check", "scans.csv", "--task", "volumes"], monkeypatch, capsys)


def test_a_check_of_scans_of_other_sizes_ends_with_a_command_that_trains(folder, monkeypatch, capsys):
    BAD["other sizes"][0]()
    code, out, _ = call(["check", "scans.csv"], monkeypatch, capsys)
    assert code == 0 and "train: multiway train volumes --data scans.csv --size 16,16,8" in out


def test_a_check_of_scans_without_labels_says_what_they_are_good_for(folder, monkeypatch, capsys):
    drop_column("label")
    code, out, _ = call(["check", "scans.csv"], monkeypatch, capsys)
    assert (
        code == 0
        and "no target is named or found, so cases can be predicted and not trained on. Name the column of" in out
    )


def test_check_sees_what_a_table_is_of(folder, monkeypatch, capsys):
    code, out, _ = call(["check", "scans.csv"], monkeypatch, capsys)
    assert code == 0, out
    assert "healthy" in out and "orientation" in out


def test_known_flaws_of_the_call(folder, monkeypatch, capsys):
    for words, text in (
        (["--label", "kind"], "kind"),
        (["--patient", "who"], "who"),
        (["--orientation", "XYZ"], "such as RAS. Got 'XYZ'"),
        (["--window", "5,-5"], "window must rise"),
        (["--set", "model.dims=4"], "did you mean dim?"),
        (["--set", "model.name=hot_volume_classifer"], "hot_volume_classifier"),
        (["--set", "baselines=[resnet]"], "resnet"),
    ):
        assert_one_line(call([*TRAIN, *words], monkeypatch, capsys), text)
        assert not Path("run").exists()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of one epoch."""
    folder = tmp_path_factory.mktemp("volumes")
    write_scans(folder, patients=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["multiway", *TRAIN, *SMALL])
        with pytest.raises(SystemExit) as caught:
            run()
        assert caught.value.code == 0
    return folder


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([*TRAIN, *SMALL], "run exists already"),
        (["predict", "run", "--data", "absent"], "absent"),
        (["predict", "run", "--data", "empty"], "empty"),
        (["predict", "run", "--data", "nan"], "nan.nii.gz"),
        (["predict", "run", "--data", "large"], "large.nii.gz"),
        (["predict", "run", "--data", "new-scans", "--out", "absent/classes.csv"], "there is no folder absent"),
        (
            ["predict", "run", "--data", "new-scans", "--out", "classes.ods"],
            "must end in .csv, .csv.gz, .parquet or .xlsx",
        ),
        (["predict", "run", "--data", "new-scans", "--levels", "80"], "--levels is for forecast"),
        (["evaluate", "run", "--data", "new-scans"], "label"),
        (["explain", "run", "--cases", "nobody"], "nobody"),
        (["backtest", "run"], "a run of volumes has no past moments to start from"),
        (["anomalies", "run"], "a run of volumes has no bands around past values"),
        (["compare", "run"], "at least two runs"),
    ],
    ids=lambda value: " ".join(value[:4]) if isinstance(value, list) else None,
)
def test_using_a_run_wrongly(words, text, trained, monkeypatch, capsys):
    monkeypatch.chdir(trained)
    Path("empty").mkdir(exist_ok=True)
    write_scan(Path("nan/nan.nii.gz"), np.full(SIZES, np.nan, np.float32))
    write_scan(Path("large/large.nii.gz"), np.zeros((20, 20, 20), np.int16))
    assert_refused(words, text, trained, monkeypatch, capsys)


def test_predictions_go_on_after_a_scan_that_cannot_be_read(trained, monkeypatch, capsys):
    monkeypatch.chdir(trained)
    write_scan(Path("mixed/good.nii.gz"), make_volume(GENERATOR, is_lesion=True))
    Path("mixed/bad.nii.gz").write_bytes(b"no volume")
    words = ["predict", "run", "--data", "mixed", "--out", "mixed.csv", "--keep-going"]
    code, out, err = call(words, monkeypatch, capsys)
    assert code == 0, err
    assert "bad.nii.gz" in out + err
    with Path("mixed.csv").open() as file:
        assert [Path(row["case"]).name.split(".")[0] for row in csv.DictReader(file)] == ["good"]


def test_a_missing_extra_is_one_line(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nibabel", None)
    assert_one_line(call([*TRAIN, *SMALL], monkeypatch, capsys), "pip install 'multiway[volumes]'")
    assert not Path("run").exists()
