"""What may be read: files of a folder and seconds, each lifted by an option of its own; bytes have tests by format."""

import pytest

from multiway.data.sources import bytes as budget
from multiway.data.sources.bytes import check_folder, spend, within
from multiway.data.sources.options import Limits
from multiway.errors import DataError


@pytest.fixture
def folder(tmp_path):
    """Nine files in two folders, so eleven entries; two hidden ones do not count."""
    for part in ("a", "b", ".git"):
        (tmp_path / part).mkdir()
        for name in ("1", "2", "3", ".4")[: 1 if part == ".git" else 4]:
            (tmp_path / part / name).write_text("x" * 100)
    for name in "123":
        (tmp_path / name).write_text("x")
    return tmp_path


def test_a_folder_may_hold_as_many_files_as_the_option_says(folder):
    check_folder(folder, 11)
    with within(Limits(max_files=11), folder, "no such file", None):
        pass
    with (
        pytest.raises(DataError, match=r"holds more than 10 files.*read\.max_files=100") as caught,
        within(Limits(max_files=10), folder),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_a_link_to_a_folder_above_is_not_followed(folder):
    (folder / "a" / "loop").symlink_to(folder)
    check_folder(folder, 12)


def test_time_is_earned_by_files_and_their_bytes(folder, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(budget.time, "monotonic", lambda: now[0])
    with within(Limits()):
        now[0] = budget.SECONDS + 1.9 * budget.PER_FILE
        with within(Limits(max_seconds=1)):  # part of the first
            with pytest.raises(DataError, match=r"1: reading has taken 60 s so far.*read\.max_seconds=600"):
                spend(folder / "1")
            spend(folder / "a" / "1")  # the second file is within the time
    spend(folder / "1")
    with within(Limits(max_seconds=3 * budget.SECONDS)):
        now[0] += 2.9 * budget.SECONDS
        spend(folder / "1")
        now[0] += 0.2 * budget.SECONDS
        with pytest.raises(DataError, match="are allowed"):
            spend(folder / "1")
