"""Nothing is ever written onto an input, whatever the task, the command, and the name by which it is called."""

import hashlib
import json
import os
import re
import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from command import outcome, printed
from fewer import of_two
from multiway import files
from multiway.errors import RunError
from multiway.tasks.settings import TASKS
from tasks.finished import finished
from tasks.scans.masks.lesion_files import FAST, write_boxes
from tasks.tiny import leaves_of

REFUSED = "is an input of this command, and nothing is written onto an input. Choose another place."


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


def assert_spared(words, *places):
    before = content(*places)
    code, out, err = outcome(*words)
    assert (code, out) == (1, "") and REFUSED in err and err.count("\n") == 1, err
    assert content(*places) == before


def commands(run, data, out, other):
    """Every command that writes where it is told, and may replace what lies there."""
    yield "predict", run, "--data", data, "--out", out, "--overwrite"
    yield "report", run, "--out", out
    yield "compare", run, other, "--out", out


@pytest.mark.parametrize("through", ["its name", "a symbolic link", "a hard link", "another spelling"])
@of_two("made", TASKS, "images")
def test_no_command_writes_onto_the_data(made, through, tmp_path):
    data, run = made.tiny.data, made.run
    out = tmp_path / f"out{data.suffix}"
    if through == "its name" or (through == "a hard link" and data.is_dir()):
        out = data
    elif through == "a symbolic link":
        out.symlink_to(data)
    elif through == "a hard link":
        os.link(data, out)
    else:
        out = data.parent / ".." / data.parent.name / data.name
    for words in commands(run, data, out, shutil.copytree(run, tmp_path / "other")):
        assert_spared(words, data, run)


def test_explanations_do_not_go_into_the_folder_of_the_data(made):
    if made.tiny.data.is_dir():
        assert_spared(("explain", made.run, "--out", made.tiny.data), made.tiny.data)


def test_no_report_is_written_onto_a_file_of_the_run(made):
    for name in ("config.yaml", "weights.safetensors", "manifest.json"):
        assert_spared(("report", made.run, "--out", made.run / name), made.run)


def test_a_new_run_takes_no_place_of_its_data(made):
    data = made.tiny.data
    before = content(data)
    code, _, err = outcome("train", made.tiny.task, "--data", data, "--out", data)
    assert code == 1 and f"{data} exists already" in err
    assert content(data) == before


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


def test_masks_go_next_to_a_table_whose_scans_lie_elsewhere(masked, tmp_path):
    table, run = masked
    shutil.copytree(table.parent, tmp_path / "mine")
    before = content(tmp_path / "mine")
    printed("predict", run, "--data", tmp_path / "mine" / table.name, "--out", tmp_path / "mine", "--overwrite")
    after = content(tmp_path / "mine")
    assert before.items() <= after.items() and len(after) > len(before)
    printed("predict", run, "--data", tmp_path / "mine" / table.name, "--out", tmp_path / "mine", "--overwrite")


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
