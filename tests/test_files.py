"""A write is seen whole or not at all."""

import errno

import pytest
import torch
from safetensors.torch import save_file

from multiway import files
from multiway.errors import RunError


def test_a_write_replaces_whole_and_leaves_nothing_beside(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    files.write_text(path, "new é")
    assert path.read_bytes() == "new é".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")

    def half(temporary):
        temporary.write_text("ha")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RunError, match=r"a\.txt could not be written: No space left on device"):
        files.write_with(path, half)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_programming_error_passes_and_cleans_up(tmp_path):
    with pytest.raises(KeyError), files.atomic_path(tmp_path / "a") as temporary:
        temporary.write_text("ha")
        raise KeyError("mine")
    assert list(tmp_path.iterdir()) == []


def test_partial_files_are_removed_anywhere_below(tmp_path):
    (tmp_path / "sub").mkdir()
    kept, stray = tmp_path / "sub" / "weights", tmp_path / "sub" / f"weights{files.TEMPORARY_MARK}ab12ab12"
    kept.touch(), stray.touch()
    files.remove_partial(tmp_path)
    assert kept.exists() and not stray.exists()


def test_sha256_is_the_known_one(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    assert files.sha256_of(tmp_path / "abc").startswith("ba7816bf8f01cfea414140de5dae2223b00361a3")


def test_others_may_read_what_any_new_file_lets_them(tmp_path):
    """safetensors makes its own files private, and a shared run would not open."""
    (tmp_path / "plain").touch()
    files.write_with(tmp_path / "weights", lambda path: save_file({"a": torch.zeros(2)}, path))
    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "plain").stat().st_mode
