"""The command as a user meets it: exit codes, one-line errors, nothing half-written."""

import pytest

import multiway
from command import assert_one_line, assert_refused, call
from documents import run_command


def test_version(tmp_path):
    done = run_command(["multiway", "--version"], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"multiway {multiway.__version__}\n", "")


def test_an_error_of_a_process_is_one_line(tmp_path):
    done = run_command(["multiway", "check", "absent.csv"], tmp_path)
    assert_one_line((done.returncode, done.stdout, done.stderr), "absent.csv")


@pytest.mark.parametrize("words", [["nonsense"], ["train"], ["train", "forecast", "--epoch-count", "3"], ["check"]])
def test_wrong_usage_exits_with_2(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(words, monkeypatch, capsys)
    assert code == 2 and "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["train", "forecast", "--data", "absent.csv", "--horizon", "4", "--out", "run"], "absent.csv"),
        (["train", "--recipe", "hot-exchang-96"], "did you mean hot-exchange-96?"),
        (["train", "--resume", "absent"], "absent"),
        (["evaluate", "absent"], "absent is not a run folder"),
        (["reproduce", "hot-table-9"], "hot-table-1"),
        (["data", "fetch", "wether"], "weather"),
    ],
)
def test_a_users_error_is_one_line_and_exits_with_1(words, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert_refused(words, text, tmp_path, monkeypatch, capsys)
