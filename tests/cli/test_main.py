"""The command as a user meets it: exit codes, one-line errors, nothing half-written."""

import pytest

import multiway
from documents import run_command


def test_version(tmp_path):
    done = run_command(["multiway", "--version"], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"multiway {multiway.__version__}\n", "")


@pytest.mark.parametrize("words", [["nonsense"], ["train"], ["train", "forecast", "--epochs", "3"], ["check"]])
def test_wrong_usage_exits_with_2(words, tmp_path):
    done = run_command(["multiway", *words], tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["check", "absent.csv"], "absent.csv"),
        (["train", "forecast", "--data", "absent.csv", "--horizon", "4", "--out", "run"], "absent.csv"),
        (["train", "--recipe", "hot-exchang-96"], "did you mean hot-exchange-96?"),
        (["train", "--resume", "absent"], "absent"),
        (["evaluate", "absent"], "absent is not a run folder"),
        (["reproduce", "hot-table-9"], "hot-table-1"),
        (["data", "fetch", "wether"], "weather"),
    ],
)
def test_a_users_error_is_one_line_and_exits_with_1(words, text, tmp_path):
    done = run_command(["multiway", *words], tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("multiway: error: ")
    assert done.stderr.count("\n") == 1
    assert text in done.stderr
    assert list(tmp_path.iterdir()) == []
