"""A write is seen whole or not at all."""

import errno
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

from interruption import full_disk
from multiway import files
from multiway.errors import RunError, StorageError


def test_a_write_replaces_whole_and_leaves_no_other_file(tmp_path):
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


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    with files.atomic_folder(tmp_path / "made") as folder:
        (folder / "a").touch()
        assert not (tmp_path / "made").exists()
    with pytest.raises(KeyError), files.atomic_folder(tmp_path / "other"):
        raise KeyError
    with pytest.raises(StorageError, match=f"^{tmp_path}/other/a could not be written"):
        with full_disk(10), files.atomic_folder(tmp_path / "other") as folder:
            files.write_text(folder / "a", "a" * 100)
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["made", "made/a"]


def write_result(path, *names, text=""):
    with files.atomic_folder(path, replace=True) as made:
        for name in names:
            files.write_text(made / name, text)


def seen(path):
    """Text of every file of a folder by its name, but for the list of what belongs to it."""
    return {file.name: file.read_text() for file in path.iterdir() if file.name != files.RESULT}


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_result_of_many_files_replaces_that_of_before_as_a_whole(can_exchange, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_exchange", files._exchange if can_exchange else lambda one, other: False)
    (tmp_path / "to").symlink_to(tmp_path / "out")
    write_result(tmp_path / "out", "a", "b", text="1")
    with files.atomic_folder(tmp_path / "to", replace=True) as made:
        files.write_text(made / "c", "2")
        assert seen(tmp_path / "out") == {"a": "1", "b": "1"}
    assert seen(tmp_path / "out") == {"c": "2"}
    with pytest.raises(KeyError), files.atomic_folder(tmp_path / "out", replace=True) as made:
        files.write_text(made / "d", "3")
        raise KeyError
    with files.atomic_folder(tmp_path / "out", replace=True):
        pass
    assert seen(tmp_path / "out") == {"c": "2"} and (tmp_path / "to").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "to"]


def test_nothing_but_an_earlier_result_is_replaced(tmp_path):
    write_result(tmp_path / "out", "a", text="1")
    (tmp_path / "empty").mkdir()
    write_result(tmp_path / "empty", "a", text="1")
    for mine in ("notes.txt", "sub"):
        place = tmp_path / "out" / mine
        place.mkdir() if mine == "sub" else place.write_text("mine")
        with pytest.raises(RunError, match=f"out holds {mine}, which is not of an earlier result"):
            write_result(tmp_path / "out", "a", text="2")
        place.rmdir() if mine == "sub" else place.unlink()
    with pytest.raises(RunError, match="out holds late, which"), files.atomic_folder(tmp_path / "out", replace=True):
        (tmp_path / "out" / "late").touch()
        files.write_text(next(tmp_path.glob(".out*")) / "a", "2")
    assert seen(tmp_path / "out") == {"a": "1", "late": ""}
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"file is a file, and several are written\. Give a folder"):
        write_result(tmp_path / "file", "a")


def test_what_is_made_goes_with_a_later_error(tmp_path):
    write_result(tmp_path / "old", "a", text="1")
    with pytest.raises(KeyError), files.all_or_nothing():
        write_result(tmp_path / "new", "a", text="2")
        raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_sha256_is_the_known_one(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    assert files.sha256_of(tmp_path / "abc").startswith("ba7816bf8f01cfea414140de5dae2223b00361a3")


def test_others_may_read_what_any_new_file_lets_them(tmp_path):
    """safetensors makes its own files private, and a shared run would not open."""
    (tmp_path / "plain").touch()
    files.write_with(tmp_path / "weights", lambda path: save_file({"a": torch.zeros(2)}, path))
    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "plain").stat().st_mode


def write_too_much(kind, path):
    """Ways in which libraries write, each by more than the limit of `full_disk`."""
    values = np.random.default_rng(0).random(50_000)
    if kind == "text":
        files.write_text(path, "a" * 400_000)
    elif kind == "tensors":
        files.write_tensors(path, {"a": torch.zeros(50_000)})
    elif kind == "parquet":
        files.write_with(path, pd.DataFrame({"a": values}).to_parquet)
    elif kind == "array":
        files.write_array(path, values[:12_499])  # but for the last bytes it would fit
    else:
        files.append_text(path, "a" * 400_000)


@pytest.mark.parametrize("kind", ["text", "tensors", "parquet", "array", "append"])
def test_a_full_disk_is_one_line_with_what_is_needed_and_free(kind, tmp_path):
    if kind != "append":
        files.write_text(tmp_path / "a", "old")
    with full_disk(100_000), pytest.raises(StorageError) as caught:
        write_too_much(kind, tmp_path / "a")
    message = str(caught.value)
    assert "\n" not in message and message.startswith(f"{tmp_path / 'a'} could not be written: ")
    needed, free = (int(number.replace(",", "")) for number in re.findall(r"([\d,]+) bytes", message))
    assert needed >= (200_000 if kind in ("text", "tensors") else 1) and free > 0
    if kind != "append":
        assert (tmp_path / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_is_gone_is_one_line(tmp_path):
    with pytest.raises(StorageError, match=r"No such file or directory\. Its folder is gone or was never there"):
        files.write_text(tmp_path / "gone" / "a", "new")


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, monkeypatch):
    def refuse(self, *_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    monkeypatch.setattr(Path, "touch", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StorageError, match=r"a could not be written: Read-only file system\. Write where you may"):
        files.write_text(tmp_path / "a", "new")


def test_what_a_block_made_goes_with_its_error(tmp_path):
    files.write_text(tmp_path / "old", "1")
    with pytest.raises(KeyError), files.all_or_nothing():
        files.make_folder(tmp_path / "out" / "sub")
        files.write_text(tmp_path / "out" / "sub" / "a", "1")
        files.write_text(tmp_path / "old", "2")
        raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_what_a_block_made_stays_without_one(tmp_path):
    with files.all_or_nothing():
        files.make_folder(tmp_path / "out")
        files.write_text(tmp_path / "out" / "a", "1")
    assert (tmp_path / "out" / "a").read_text() == "1"


def test_a_folder_that_holds_what_others_put_there_stays(tmp_path):
    with pytest.raises(KeyError), files.all_or_nothing():
        files.make_folder(tmp_path / "out")
        (tmp_path / "out" / "theirs").touch()
        raise KeyError
    assert (tmp_path / "out" / "theirs").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "is no name"),
        (".", "is no name"),
        ("/", "is no name"),
        ("..", "is no name"),
        ("a\udcff", "no UTF-8"),
        ("a" * 245, "245 bytes; the most is"),
        ("a" * 5000 + "/b", "5000 bytes; the most is"),
        ("file/b", "is a file"),
    ],
)
def test_a_place_where_nothing_can_be_made_is_refused(name, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=text) as caught:
        files.check_place(Path(name))
    assert str(caught.value).isprintable() and len(str(caught.value)) < 300


def test_the_longest_name_can_be_written(tmp_path):
    files.check_place(tmp_path / ("a" * files.LONGEST_NAME), None)
    files.write_text(tmp_path / ("a" * files.LONGEST_NAME), "1")
