"""What killed processes left is removed, and nothing else."""

import pytest

from interruption import left_over
from multiway import files, leftovers


def test_partial_files_are_removed_anywhere_below_and_a_users_are_not(tmp_path):
    (tmp_path / "sub").mkdir()
    stray = tmp_path / "sub" / files.temporary_name("weights")
    kept = [tmp_path / "sub" / "weights", tmp_path / "notes.partial-report.txt"]
    for path in (stray, *kept):
        path.touch()
    (tmp_path / "x.partial-d").mkdir()
    leftovers.remove_all(tmp_path)
    assert all(path.exists() for path in (*kept, tmp_path / "x.partial-d")) and not stray.exists()


@pytest.mark.parametrize("name", ["a.csv", "[a]*.csv", ".a"])
def test_what_a_killed_process_left_goes_and_nothing_else(name, tmp_path):
    path = tmp_path / name
    folder, other = left_over(tmp_path / f".{name}"), left_over(tmp_path / f"b{name}")
    running, elsewhere = (
        path.with_name(files.temporary_name(name)),
        path.with_name(f"{name}.partial-{'0123abcd' * 3}"),
    )
    linked, users = left_over(path), tmp_path / f"{left_over(path).name}.txt"
    linked.symlink_to(users)
    (folder / "images").mkdir(parents=True)
    for each in (left_over(path), other, running, elsewhere, users, folder / "images" / "1.npy"):
        each.touch()
    leftovers.remove(path, None)
    assert set(tmp_path.iterdir()) == {other, running, elsewhere, linked, users}


def test_what_a_killed_process_left_inside_a_folder_goes_too(tmp_path):
    (tmp_path / "masks" / "sub").mkdir(parents=True)
    for name in ("masks/a.npy", "masks/sub/a.npy"):
        (tmp_path / name).touch()
        left_over(tmp_path / name).touch()
    leftovers.remove(tmp_path / "masks")
    assert {path.name for path in tmp_path.rglob("*.*")} == {"a.npy"}


def test_a_result_that_was_moved_aside_comes_back(tmp_path):
    """Where names cannot be exchanged, a process may be killed between two renames."""
    aside, half = left_over(tmp_path / ".masks"), left_over(tmp_path / ".masks")
    half.mkdir()
    with files.atomic_folder(tmp_path / "masks", replace=True) as made:
        (made / "a.npy").write_text("1")
    (tmp_path / "masks").rename(aside)
    leftovers.remove(tmp_path / "masks")
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.npy")} == {"masks/a.npy"}
    assert [path.name for path in tmp_path.iterdir()] == ["masks"]
