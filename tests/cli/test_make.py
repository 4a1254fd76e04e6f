"""`multiway data make`: a set to segment, out of volumes."""

import sys

import numpy as np
import pytest

from multiway.cli.main import run


def call(words, monkeypatch, capsys):
    """Run the command in this process; return its exit code and what it printed."""
    monkeypatch.setattr(sys, "argv", ["multiway", "data", "make", *words])
    with pytest.raises(SystemExit) as caught:
        run()
    captured = capsys.readouterr()
    return caught.value.code, captured.out, captured.err


@pytest.fixture
def volumes(tmp_path, monkeypatch):
    """An npz of three small volumes in each split."""
    monkeypatch.chdir(tmp_path)
    generator, arrays = np.random.default_rng(0), {}
    for split in ("train", "val", "test"):
        ball = generator.integers(0, 2, (3, 16, 16, 16), dtype=np.uint8) * 255
        arrays |= {f"{split}_images": ball, f"{split}_labels": np.array([[0], [1], [0]], dtype=np.uint8)}
    np.savez(tmp_path / "shapes.npz", **arrays)
    return tmp_path


def test_lesions_are_made_once_and_the_table_is_named(volumes, monkeypatch, capsys):
    words = ["lesions", "--from", "shapes.npz", "--out", "lesions", "--set", "format=npy", "--set", "limits=[2,1,1]"]
    assert call(words, monkeypatch, capsys) == (0, "lesions/cases.csv\n", "")
    lines = (volumes / "lesions" / "cases.csv").read_text().splitlines()
    assert lines[0] == "path,mask,split,patient" and len(lines) == 1 + 4
    code, out, err = call(words, monkeypatch, capsys)
    assert (code, out) == (1, "") and "lesions exists already. Choose another folder" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--from", "absent.npz"], "absent.npz does not exist"),
        (["--from", "shapes.npz", "--set", "lesion=[1]"], "lesions: lesion: Input should be a valid number"),
        (["--from", "shapes.npz", "--set", "colour=1"], "colour is not a known field"),
    ],
)
def test_what_is_wrong_is_one_line_and_leaves_nothing(words, text, volumes, monkeypatch, capsys):
    code, out, err = call(["lesions", "--out", "lesions", *words], monkeypatch, capsys)
    assert (code, out) == (1, "") and err.count("\n") == 1 and text in err
    assert [path.name for path in volumes.iterdir()] == ["shapes.npz"]
