"""A disk that is full, or a folder that is gone, in every command of every task: one line, and nothing half-written.

The system itself refuses: no file may become larger than some bytes, whichever library writes it.
"""

import hashlib
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from command import outcome, printed
from interruption import act_at, full_disk
from multiway.tasks.registry import TASKS
from tasks.tiny import TINY, Tiny

KEPT_ANEW = ("manifest.json", "preprocessing.json", "metrics.jsonl")
"""Files of a run that hold seconds, or hashes of files that do."""


class Made(NamedTuple):
    tiny: Tiny
    folder: Path
    run: Path


@pytest.fixture(scope="module", params=TASKS)
def made(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    tiny = TINY[request.param](folder)
    printed(*tiny.train(folder / "run", **tiny.still))
    tiny.alone(folder / "alone")
    return Made(tiny, folder, folder / "run")


def tree(folder):
    """Every file with a hash of its content, and every folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def settled(run):
    return {name: value for name, value in tree(run).items() if name not in KEPT_ANEW}


def refused(words, size):
    """The command under a limit; its one line, which names a path, what is needed and what is free."""
    with full_disk(size):
        code, out, err = outcome(*words)
    last = err.splitlines()[-1]
    assert (code, out) == (1, ""), err
    assert "Traceback" not in err and last.startswith("multiway: error: ") and " could not be written: " in last
    assert "bytes or more, and " in last and "bytes are free" in last, last
    return last


@pytest.mark.parametrize("share", [0.5, 0.999])
def test_a_training_goes_on_from_a_full_disk_to_the_same_files(share, made, tmp_path):
    sizes = [path.stat().st_size for path in made.run.rglob("*") if path.is_file()]
    least = (made.run / "config.yaml").stat().st_size
    last = refused(made.tiny.train(tmp_path / "run", **made.tiny.still), int(least + share * (max(sizes) - least)) + 1)
    assert f"Then continue: `multiway train --resume {tmp_path / 'run'}`" in last
    printed("train", "--resume", tmp_path / "run")
    assert settled(tmp_path / "run") == settled(made.run)


def test_a_training_that_cannot_begin_leaves_nothing(made, tmp_path):
    refused(made.tiny.train(tmp_path / "runs" / "run", **made.tiny.still), 10)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


QUICK, LONG = ("predict", "compress"), ("explain", "report")
OUT = {"predict": "predicted.csv", "explain": "explained", "report": "page.html", "compress": "small"}


@pytest.mark.parametrize("command", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_every_other_command_leaves_all_as_it_was(command, made):
    """Also where only the largest of several files does not fit, after others have been written."""
    out = made.folder / ("masks" if (command, made.tiny.task) == ("predict", "segment") else OUT[command])
    more = {"predict": ["--data", made.folder / "alone"], "compress": ["--rule", ".*=lowrank:rank=1"]}
    words, before = [command, made.run, "--out", out, *more.get(command, [])], tree(made.folder)
    outcome(*words)
    largest = max((path.stat().st_size for path in [out, *out.rglob("*")] if path.is_file()), default=11)
    shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)
    for size in (10, largest - 1):
        with full_disk(size):
            code, _, err = outcome(*words)
        assert code == 1 and err.count("\n") == 1 and "Traceback" not in err and "--resume" not in err, err
        assert tree(made.folder) == before


def test_a_folder_that_goes_while_it_is_trained_in_is_one_line_and_does_not_come_back(made, tmp_path, monkeypatch):
    act_at(monkeypatch, 2, lambda: shutil.rmtree(tmp_path / "run"))
    code, out, err = outcome(*made.tiny.train(tmp_path / "run", **made.tiny.still))
    assert (code, out) == (1, "") and "Its folder is gone" in err.splitlines()[-1] and "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
