"""Nothing is ever written onto an input, whatever the task, the command, and the name by which it is called."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from command import outcome, printed
from fewer import of_two
from multiway import files
from multiway.errors import RunError
from tasks.finished import finished
from tasks.scans.masks.lesion_files import FAST, write_boxes
from tasks.tiny import TASKS, TINY, UNEXPLAINED, leaves_of

REFUSED = "is an input of this command, and nothing is written onto an input. Choose another place."
AMONG = "which is an input of this command. Choose a place outside."
OTHERS = "which is not of an earlier result, and the folder is replaced as a whole. Choose another folder."


@pytest.fixture(scope="module", params=TASKS)
def made(request, tmp_path_factory):
    return finished(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    """A table of scans and of masks, which lie in a folder each under the same names, and a run on them."""
    folder = tmp_path_factory.mktemp("masked")
    table, run = folder / "data" / "cases.csv", folder / "run"
    write_boxes(folder)
    for kind in ("image", "mask"):
        (folder / "data" / kind).mkdir(parents=True)
        for file in folder.glob(f"{kind}*.npy"):
            file.rename(folder / "data" / kind / file.name.replace(kind, "case"))
    table.write_text(re.sub(r"(image|mask)(\d+)\.npy", r"\1/case\2.npy", (folder / "cases.csv").read_text()))
    sets = [word for name, value in leaves_of(FAST).items() for word in ("--set", f"{name}={json.dumps(value)}")]
    printed("train", "segment", "--data", table, "--out", run, *sets)
    return table, run


def content(*places):
    """Hash of every file at or below some places."""
    every = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in every if file.is_file()}


def assert_spared(words, *places, text=REFUSED):
    before = content(*places)
    code, out, err = outcome(*words)
    assert (code, out) == (1, "") and text in err and err.count("\n") == 1, err
    assert content(*places) == before


def onto(made, out, other):
    """Every command that writes where it is told, be it a file or a folder, and whatever it may replace."""
    task, data, run = made.tiny.task, made.tiny.data, made.run
    space = run.parent / "space.json"
    space.write_text('{"training.learning_rate": [0.01]}')
    yield "train", task, "--data", data, "--out", out
    yield "tune", task, "--data", data, "--space", space, "--out", out
    yield "predict", run, "--data", data, "--out", out, "--overwrite"
    yield "report", run, "--out", out
    yield "compare", run, other, "--out", out
    yield "explain", run, "--out", out
    if task not in ("stocks", "language"):
        yield "compress", run, "--rule", ".*=lowrank:rank=1", "--out", out
        yield "compress", run, "--rule", ".*=lowrank:rank=1", "--report", out
    if task in ("forecast", "stocks", "grids"):
        yield "backtest", run, "--data", data, "--out", out, "--overwrite"
    if task == "forecast":
        yield "anomalies", run, "--data", data, "--out", out, "--overwrite"
        yield "update", run, "--data", data, "--out", out
    if task == "volumes":
        yield "predict", run, "--data", data, "--maps", out
        yield "data", "make", "lesions", "--from", data, "--out", out


@pytest.mark.parametrize("through", ["its name", "a symbolic link", "a hard link", "another spelling", "from near"])
@of_two("made", TASKS, "images", "stocks", "volumes")
def test_no_command_writes_onto_the_data(made, through, tmp_path, monkeypatch):
    data, run = made.tiny.data, made.run
    out = tmp_path / f"out{data.suffix}"
    if through == "its name" or (through == "a hard link" and data.is_dir()):
        out = data
    elif through == "a symbolic link":
        out.symlink_to(data)
    elif through == "a hard link":
        os.link(data, out)
    elif through == "from near":
        monkeypatch.chdir(data.parent)
        out = Path(data.name)
    else:
        out = data.parent / ".." / data.parent.name / data.name
    for words in onto(made, out, shutil.copytree(run, tmp_path / "other")):
        needs_new = words[0] in ("compress", "update", "explain") and "--report" not in words
        assert_spared(words, data, run, text=" " if needs_new else REFUSED)


@of_two("made", TASKS, "images", "stocks")
def test_no_command_writes_among_the_data(made, tmp_path):
    data, run = made.tiny.data, made.run
    if data.is_dir():
        for words in onto(made, data / "new" / "out.csv", shutil.copytree(run, tmp_path / "other")):
            assert_spared(words, data, run, text=AMONG)


@pytest.mark.parametrize("through", [None, os.symlink, os.link], ids=["its name", "a symbolic link", "a hard link"])
def test_no_command_writes_onto_another_table_of_the_training(through, tmp_path):
    data, shops, space, run = (tmp_path / name for name in ("sales.csv", "shops.csv", "space.json", "run"))
    rows = [f"{shop},2024-{day // 28 + 1:02d}-{day % 28 + 1:02d},{day % 7}" for shop in "ab" for day in range(112)]
    data.write_text("\n".join(["shop,day,sales", *rows]))
    shops.write_text("shop,size\na,1\nb,2\n")
    space.write_text('{"ridge": [1.0]}')
    words = ("forecast", "--data", data, "--static-data", shops, "--horizon", 7, "--lookback", 14)
    words = (*words, "--gaps", "ignore", "--set", "training.epochs=1")
    printed("train", *words, "--out", run)
    other = shutil.copytree(run, tmp_path / "other")
    for place in (shops, space):
        out = place if through is None else tmp_path / f"out-{place.name}"
        if through is not None:
            through(place, out)
        if place == space:
            assert_spared(("tune", *words, "--space", space, "--out", out), tmp_path)
            continue
        for command in ("predict", "backtest", "anomalies"):
            assert_spared((command, run, "--data", data, "--out", out, "--overwrite"), tmp_path)
        for named in (("report", run, "--out", out), ("compare", run, other, "--out", out)):
            assert_spared(named, tmp_path)


def test_vectors_of_texts_are_not_kept_among_the_data(tmp_path):
    data = TINY["stocks"](tmp_path).data
    for cache in (data, data / "vectors", data / "prices.csv"):
        assert_spared(("data", "encode", data, "--encoder", "hashed", "--set", f"text.cache={cache}"), data, text=" ")


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_reproduction_writes_onto_no_cells_that_it_reads(option, tmp_path):
    cells = shutil.copy(Path(__file__).parents[2] / "results" / "forecasting.jsonl", tmp_path / "cells.jsonl")
    (tmp_path / "link.jsonl").symlink_to(cells)
    for place in (cells, tmp_path / "link.jsonl"):
        assert_spared(("reproduce", "hot-table-1", "--rows", "exchange", "--from", cells, option, place), tmp_path)


def test_a_folder_that_holds_anything_else_is_no_place_for_a_result(made, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    task = made.tiny.task
    none = {"text": f"a run of {task} has no explanation"} if task in UNEXPLAINED else {}
    assert_spared(("explain", made.run, "--out", tmp_path / "mine"), tmp_path, **({"text": OTHERS} | none))
    assert_spared(("explain", made.run, "--out", made.run), made.run, **none)


def test_no_report_is_written_onto_a_file_of_the_run(made):
    for name in ("config.yaml", "weights.safetensors", "manifest.json"):
        assert_spared(("report", made.run, "--out", made.run / name), made.run)


def test_predicted_masks_replace_no_scan(masked, tmp_path):
    table, run = masked
    folder = table.parent
    shutil.copytree(folder / "image", tmp_path / "mine")
    with_table = [("predict", run, "--data", table, "--out", out, "--overwrite")
                  for out in (folder / "image", folder / "mask")]  # fmt: skip
    linked = tmp_path / "linked"
    linked.symlink_to(tmp_path / "mine")
    in_folder = [("predict", run, "--data", tmp_path / "mine", "--out", out, "--overwrite")
                 for out in (tmp_path / "mine", linked)]  # fmt: skip
    scan = next((tmp_path / "mine").iterdir())
    alone = ("predict", run, "--data", scan, "--out", tmp_path / "mine", "--overwrite")
    training = ("predict", run, "--data", tmp_path / "mine", "--out", folder / "image", "--overwrite")
    for words in (*with_table, *in_folder, alone, training):
        assert_spared(words, folder, tmp_path / "mine")


def test_the_table_of_masks_replaces_no_table_of_scans(masked, tmp_path):
    table, run = masked
    shutil.copytree(table.parent, tmp_path / "mine")
    listed = (tmp_path / "mine" / table.name).rename(tmp_path / "mine" / "volumes.csv")
    assert_spared(("predict", run, "--data", listed, "--out", listed.parent, "--overwrite"), tmp_path / "mine")


def test_masks_do_not_go_next_to_a_table_of_scans(masked, tmp_path):
    table, run = masked
    shutil.copytree(table.parent, tmp_path / "mine")
    words = ("predict", run, "--data", tmp_path / "mine" / table.name, "--out", tmp_path / "mine", "--overwrite")
    assert_spared(words, tmp_path / "mine")


def test_masks_replace_masks_of_before_as_a_whole(masked, tmp_path):
    table, run = masked
    scans, out = sorted((table.parent / "image").iterdir()), tmp_path / "masks"
    for scan in scans[:2]:
        printed("predict", run, "--data", scan, "--out", out, "--overwrite")
        assert {path.name for path in out.glob("*")} == {files.RESULT, "volumes.csv", scan.name}
    (out / "corrected.npy").write_text("mine")
    assert_spared(("predict", run, "--data", scans[2], "--out", out, "--overwrite"), out, text=OTHERS)


def test_maps_do_not_go_into_the_folder_of_the_scans(tmp_path_factory, tmp_path):
    made = finished("volumes", tmp_path_factory)
    shutil.copytree(made.tiny.data.parent, tmp_path / "mine", ignore=shutil.ignore_patterns("run", "*.html"))
    assert_spared(("predict", made.run, "--data", tmp_path / "mine", "--maps", tmp_path / "mine"), tmp_path / "mine")


def test_the_plan_of_a_compression_replaces_neither_data_nor_model(tmp_path):
    model, data = tmp_path / "model", tmp_path / "rows.safetensors"
    model.mkdir()
    (model / "config.json").write_text("{}")
    save_file({"inputs": np.zeros((2, 3), np.float32)}, data)
    for report in (data, model / "config.json"):
        words = ("compress", model, "--rule", ".*=tt:rank=2", "--data", data, "--report", report)
        assert_spared(words, model, data)


def test_what_was_read_before_a_command_may_be_replaced_by_it(tmp_path):
    path = tmp_path / "a"
    files.write_text(path, "old")
    with files.sparing_inputs():
        files.add_input(path)
        with files.sparing_inputs(), pytest.raises(RunError, match="nothing is written onto an input"):
            files.append_text(path, "new")
        with pytest.raises(RunError, match="nothing is written onto an input"):
            files.write_text(path, "new")
    assert path.read_text() == "old"
    files.write_text(path, "new")
    with files.sparing_inputs():
        files.write_text(path, "newer")
    assert path.read_text() == "newer"


@contextlib.contextmanager
def within(seconds):
    """Fail where something waits for what never comes."""

    def fail(number, frame):
        raise AssertionError(f"it took more than {seconds} s")

    old = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


@pytest.mark.parametrize("kind", ["pipe", "device"])
@of_two("made", TASKS, "images", "volumes", "segment")
def test_what_need_not_end_is_refused_among_the_data(made, kind, tmp_path):
    kept = shutil.ignore_patterns("run", "*.html", "space.json")
    mine = shutil.copytree(made.tiny.data.parent, tmp_path / "mine", ignore=kept)
    data = mine / made.tiny.data.name
    one = data if data.is_file() else min(file for file in data.rglob("*") if file.is_file())
    one.unlink()
    os.mkfifo(one) if kind == "pipe" else one.symlink_to("/dev/zero")
    for words in (
        ("check", data, "--task", made.tiny.task),
        ("train", made.tiny.task, "--data", data, "--out", tmp_path / "run"),
        ("predict", made.run, "--data", data, "--out", tmp_path / "out.csv"),
    ):
        with within(60):
            code, out, err = outcome(*words)
        assert code == 1 and "error: " in out + err and "Traceback" not in err, (words, out, err)
