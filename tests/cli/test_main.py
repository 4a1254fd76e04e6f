"""The command as a user meets it: exit codes, one-line errors, nothing half-written."""

from pathlib import Path

import pytest

import multiway
from command import assert_one_line, assert_refused, call
from documents import run_command
from fewer import fit_fewer
from multiway import workflows
from multiway.tasks.run import FORMAT
from tasks.forecasting.panels import make_frame


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
        (["reproduce", "hot-table-99"], "hot-table-1"),
        (["reproduce", "hot-table-1", "--from", "absent.jsonl"], "absent.jsonl is not a file"),
        (["published", "hot-table-99"], "did you mean hot-table-"),
        (["data", "fetch", "wether"], "weather"),
        (["check", "wether"], "did you mean weather?"),
        (["train", "forecast", "--data", "wether"], "did you mean weather?"),
        (["audit", "forcast", "--data", "x.csv"], "did you mean forecast?"),
        (["recipes", "zzz"], "recipes: nothing fits zzz. `multiway recipes` lists them all."),
        (["recipes", "hot-exchang-96"], "nothing fits hot-exchang-96; did you mean hot-exchange-96?"),
        (["recipes", "exchange"], "nothing fits exchange; did you mean '*exchange*'?"),
        (["train", "forecast", "--data", "x.csv", "--set", "trainig.epochs=3"], "did you mean training?"),
        (["train", "forecast", "--data", "x.csv", "--set", "training.epoch=3"], "did you mean epochs?"),
        (["train", "forecast", "--data", "x.csv", "--epochs", "3", "--set", "training.epochs=4"], "same setting"),
    ],
)
def test_a_users_error_is_one_line_and_exits_with_1(words, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert_refused(words, text, tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("out", "text"),
    [
        ("", "is no name for what is written"),
        (".", "is no name for what is written"),
        ("/", "is no name for what is written"),
        ("\udcff", r"'\udcff' holds bytes that are no UTF-8"),
        ("a" * 245, "245 bytes; the most is 221"),
        ("x.csv/run", "is a file"),
        ("x.csv", "is an input of this command"),
    ],
)
def test_a_place_where_nothing_can_be_made_is_refused_before_the_data_are_read(
    out, text, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("no series at all")
    words = ["train", "forecast", "--data", "x.csv", "--out", out]
    assert_refused(words, text, tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("words", [["predict", "run"], ["explain", "run"], ["report", "run"], ["compare", "a", "b"]])
def test_other_commands_look_at_the_place_first_too(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("run", "a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(f"format: {FORMAT}\ntask: forecast\n")
    assert_refused([*words, "--out", "a" * 245], "the most is 221", tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("words", [["--out", "b"], ["--data", "x.csv"], ["--epochs", "3"], ["--set", "horizon=3"]])
def test_a_run_is_resumed_as_it_was_started(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert_one_line(call(["train", "--resume", "run", *words], monkeypatch, capsys), f"Leave out {words[0]}.")


@pytest.mark.parametrize("task", ["forcast", "forecats"])
def test_an_unknown_task_names_the_nearest(task, tmp_path, monkeypatch, capsys):
    code, _, err = call(["train", task], monkeypatch, capsys)
    assert code == 2 and "Did you mean 'forecast'?" in " ".join(err.split())


def test_a_file_is_replaced_only_on_request(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fit_fewer(monkeypatch)
    make_frame(rows=300).to_csv("loads.csv", index=False)
    workflows.train(
        {"data": "loads.csv", "lookback": 4, "horizon": 2, "network": False}, task="forecast", out=Path("run")
    )
    text = "old.csv exists already. Choose another path, or replace it (--overwrite)"
    for command in (["predict", "run"], ["backtest", "run", "--cutoffs", "2"]):
        (tmp_path / "old.csv").write_text("mine")
        words = [*command, "--out", "old.csv"]
        assert_refused(words, text, tmp_path, monkeypatch, capsys)
        assert (tmp_path / "old.csv").read_text() == "mine"
        assert call([*words, "--overwrite"], monkeypatch, capsys)[0] == 0
        assert (tmp_path / "old.csv").read_text() != "mine"
