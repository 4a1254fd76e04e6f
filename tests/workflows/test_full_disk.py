"""A disk that is full, or a folder that is gone, in every command of every task: one line, and nothing half-written.

The system itself refuses: no file may become larger than some bytes, whichever library writes it.
"""

import errno
import hashlib
import os
import resource
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from cli.test_make import volumes as volumes
from command import outcome, printed
from data.encoders.slow_encoder import SlowEncoder
from fewer import of_two, show_fewer
from interruption import act_at, full_disk
from multiway.data.encoders import encoding
from multiway.data.sources.scans import lesions
from papers.test_encode import stocks as stocks
from tasks.tiny import OUT, TASKS, TINY, Tiny

KEPT_ANEW = ("manifest.json", "preprocessing.json", "metrics.jsonl", "page.json")
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


@pytest.mark.parametrize("share", [0.5, pytest.param(0.999, marks=pytest.mark.slow)])
@of_two("made", TASKS, "images")
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


TIMES = 64
"""Bytes by which a page may be shorter the second time: the times that it measures have another number of digits."""
QUICK, LONG = ("predict",), ("compress", "explain", "report")
PLACES = {"predict": "out.csv", "explain": "explained", "report": "page.html", "compress": "small"}


@pytest.mark.parametrize("command", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_every_other_command_leaves_all_as_it_was(command, made, monkeypatch):
    """Also where only the largest of several files does not fit, after others have been written."""
    show_fewer(monkeypatch)
    place = OUT.get(made.tiny.task) if command == "predict" else None
    out = made.folder / (place or PLACES[command])
    more = {"predict": ["--data", made.tiny.data], "compress": ["--rule", ".*=lowrank:rank=1"]}
    words, before = [command, made.run, "--out", out, *more.get(command, [])], tree(made.folder)
    code, _, err = outcome(*words)
    assert code == 0, err
    largest = max((path.stat().st_size for path in [out, *out.rglob("*")] if path.is_file()), default=11)
    shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)
    for size in (10, max(largest - TIMES, 11)):
        with full_disk(size):
            code, _, err = outcome(*words)
        assert code == 1 and err.count("\n") == 1 and "Traceback" not in err and "--resume" not in err, err
        assert tree(made.folder) == before


def test_a_folder_that_goes_while_it_is_trained_in_is_one_line_and_does_not_come_back(made, tmp_path, monkeypatch):
    act_at(monkeypatch, 2, lambda: shutil.rmtree(tmp_path / "run"))
    code, out, err = outcome(*made.tiny.train(tmp_path / "run", **made.tiny.still))
    assert (code, out) == (1, "") and "Its folder is gone" in err.splitlines()[-1] and "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


ENCODE = ("data", "encode", "prices.csv", "--texts", "texts.jsonl", "--set", "text.cache=kept")
MAKE = ("data", "make", "lesions", "--from", "shapes.npz", "--out", "new/lesions")


class Narrowing(SlowEncoder):
    """Encodes a chunk while there is room for it, and a second one after the disk has become full."""

    def encode(self, texts):
        vectors = super().encode(texts)
        if list(Path("kept").rglob("*.safetensors")):
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
        return vectors


def test_an_encoding_without_room_leaves_nothing(stocks, monkeypatch):
    monkeypatch.setattr(encoding, "make_encoder", lambda options: SlowEncoder(0))
    before = tree(stocks)
    assert "the same command resumes" in refused(ENCODE, 10)
    assert tree(stocks) == before


def test_an_encoding_goes_on_from_a_full_disk(stocks, monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 16)
    monkeypatch.setattr(encoding, "make_encoder", lambda options: Narrowing(0))
    assert "the same command resumes" in refused(ENCODE, 100_000)
    assert not list(stocks.rglob("*.partial-*")) and len(list(stocks.rglob("*.safetensors"))) == 1
    monkeypatch.setattr(encoding, "make_encoder", lambda options: SlowEncoder(0))
    assert "20 encoded in" in printed(*ENCODE)


def test_a_set_that_cannot_be_made_leaves_nothing(volumes):
    """Room for nothing, or for all but the largest file; what is refused has the requested name."""
    pytest.importorskip("nibabel")
    before = tree(volumes)
    printed(*MAKE)
    largest = max(path.stat().st_size for path in Path("new").rglob("*") if path.is_file())
    shutil.rmtree("new")
    for size in (10, largest - 1):
        assert "error: new/lesions/" in refused(MAKE, size)
        assert tree(volumes) == before


def test_a_set_whose_folder_goes_while_it_is_made_does_not_come_back(volumes, monkeypatch):
    def painted(*_):
        shutil.rmtree("new")
        return np.zeros((2, 16, 16, 16), np.uint8)

    before = tree(volumes)
    monkeypatch.setattr(lesions, "paint_lesions", painted)
    code, out, err = outcome(*MAKE, "--set", "format=npy")
    assert (code, out, err.count("\n")) == (1, "", 1) and "Its folder is gone" in err
    assert tree(volumes) == before


@pytest.mark.parametrize("words", [ENCODE, MAKE], ids=["encode", "make"])
def test_a_place_that_is_read_only_is_one_line(words, stocks, volumes, monkeypatch):
    def refuse(path, *_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    before = tree(volumes)
    monkeypatch.setattr(encoding, "make_encoder", lambda options: SlowEncoder(0))
    monkeypatch.setattr(os, "mkdir", refuse)
    code, out, err = outcome(*words)
    assert (code, out, err.count("\n")) == (1, "", 1) and "Read-only file system. Write where you may" in err
    assert tree(volumes) == before
