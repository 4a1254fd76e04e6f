"""Options of one task are refused by the others in one line; those that hold several numbers are read."""

import sys

import pytest
import typer

from multiway import workflows
from multiway.cli import options
from multiway.cli.main import run
from multiway.errors import ConfigError


def call(words, monkeypatch, capsys):
    """Run the command in this process; return its exit code and what it printed."""
    monkeypatch.setattr(sys, "argv", ["multiway", *words])
    with pytest.raises(SystemExit) as caught:
        run()
    captured = capsys.readouterr()
    return caught.value.code, captured.out, captured.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["train", "volumes", "--horizon", "4"], "--horizon is for forecast, not for volumes. Leave it out."),
        (["train", "volumes", "--gaps", "fill"], "--gaps is for forecast, not for volumes"),
        (["train", "volumes", "--mask", "m"], "--mask is for segment, not for volumes"),
        (["train", "segment", "--label", "m"], "--label is for volumes, not for segment"),
        (["train", "forecast", "--resample-to", "1,1,1"], "--resample-to is for volumes and segment, not for forecast"),
        (["train", "--recipe", "hot-organ", "--lookback", "4"], "--lookback is for forecast, not for volumes"),
        (["train", "volumes", "--recipe", "hot-ecl-96"], "hot-ecl-96 is one of the task forecast. Got volumes"),
        (["train", "volumes"], "there is no data. Give --data"),
        (["train", "volumes", "--texts", "a.jsonl"], "--texts is for stocks, not for volumes"),
        (["train", "forecast", "--modality", "price"], "--modality is for stocks, not for forecast"),
        (["train", "stocks", "--horizon", "4"], "--horizon is for forecast, not for stocks"),
        (["train", "stocks", "--label", "kind"], "--label is for volumes, not for stocks"),
        (["check", "sales.csv", "--task", "forecast", "--time-zone", "UTC"], "--time-zone is for stocks, not for fore"),
        (["check", "sales.csv", "--task", "forecast", "--size", "2,2,2"], "--size is for volumes and segment"),
        (["check", "scans.csv", "--task", "volumes", "--missing", "mask"], "--missing is for forecast"),
    ],
)
def test_an_option_of_another_task_is_one_line_and_leaves_nothing(words, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(words, monkeypatch, capsys)
    assert (code, out) == (1, "")
    assert err.startswith("multiway: error: ") and err.count("\n") == 1 and text in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["predict", "run", "--layout", "wide"], "--layout is for forecast, not for volumes"),
        (["predict", "run", "--levels", "80"], "--levels is for forecast, not for volumes"),
        (["backtest", "run"], "a backtest is of forecasts"),
        (["compress", "run", "--rule", ".*=nd"], "runs of forecast can be compressed here"),
    ],
)
def test_a_run_of_volumes_refuses_what_is_of_forecasts(words, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("task: volumes\n")
    code, out, err = call(words, monkeypatch, capsys)
    assert (code, out) == (1, "") and err.count("\n") == 1 and text in err


@pytest.mark.parametrize("words", [["predict", "run", "--maps", "m"], ["predict", "run", "--keep-going"]])
def test_a_forecast_refuses_what_is_of_volumes(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("task: forecast\n")
    code, out, err = call(words, monkeypatch, capsys)
    assert (code, out) == (1, "") and "not for forecast. Leave it out." in err


OF_STOCKS = [
    ["explain", "run", "--date", "2015-11-03"],
    ["explain", "run", "--tickers", "A,B"],
    ["predict", "run", "--texts", "a.jsonl"],
]


@pytest.mark.parametrize("words", OF_STOCKS, ids=lambda words: words[2])
def test_a_run_of_volumes_refuses_what_is_of_stocks(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("task: volumes\n")
    code, out, err = call(words, monkeypatch, capsys)
    assert (code, out) == (1, "") and "is for stocks, not for volumes. Leave it out." in err


def test_options_of_stocks_reach_their_sections(monkeypatch, capsys):
    asked = {}
    monkeypatch.setattr(workflows, "train", lambda given, **rest: asked.update(given, **rest) or Nothing())
    words = [
        "train",
        "stocks",
        "--data",
        "prices.csv",
        "--texts",
        "texts.jsonl",
        "--time-zone",
        "UTC",
        "--close",
        "15:30",
    ]
    words += ["--exchange-zone", "Asia/Tokyo", "--encoder", "hashed", "--protocol", "published-code"]
    words += ["--modality", "text"]
    assert call(words, monkeypatch, capsys)[0] == 0
    assert (asked["task"], asked["data"]) == ("stocks", "prices.csv")
    assert asked["read"] == {
        "texts": "texts.jsonl",
        "time_zone": "UTC",
        "close": "15:30",
        "exchange_zone": "Asia/Tokyo",
    }
    assert asked["text"] == {"encoder": "hashed"}
    assert asked["protocol"] == {"name": "published-code"}
    assert asked["model"] == {"modality": "text"}
    assert all(type(section[field]) is str for section in (asked["protocol"], asked["model"]) for field in section)


def test_options_of_volumes_reach_the_section_read(monkeypatch, capsys):
    asked = {}
    monkeypatch.setattr(workflows, "train", lambda given, **rest: asked.update(given, **rest) or Nothing())
    words = ["train", "volumes", "--data", "scans.csv", "--label", "kind", "--patient", "who", "--size", "64,64,32"]
    words += ["--spacing", "1,1,2.5", "--orientation", "RAS", "--window", "-100,300", "--axes", "x, y, z"]
    assert call(words, monkeypatch, capsys)[0] == 0
    assert (asked["task"], asked["data"]) == ("volumes", "scans.csv")
    assert asked["read"] == {
        "label": "kind",
        "patient": "who",
        "size": [64, 64, 32],
        "spacing": [1.0, 1.0, 2.5],
        "orientation": "RAS",
        "window": [-100.0, 300.0],
        "axes": ["x", "y", "z"],
    }


class Nothing:
    def lines(self):
        return []

    def table(self):
        return []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("size", "64,64", "give 3 whole numbers, separated by commas, got '64,64'"),
        ("size", "1.5,2,3", "give 3 whole numbers"),
        ("resample_to", "a,b,c", "give 3 whole numbers"),
        ("spacing", "1,1", "give 3 numbers"),
        ("window", "-100", "give 2 numbers"),
    ],
)
def test_too_few_numbers_are_wrong_usage(name, text, message):
    with pytest.raises(typer.BadParameter, match=message):
        options.reading("volumes", {name: text})


def test_only_what_was_given_is_passed_on():
    assert options.belonging("volumes", {"label": None, "layout": None, "out": "x"}) == {"out": "x"}
    with pytest.raises(ConfigError, match="--keep-going is for volumes and segment, not for forecast"):
        options.belonging("forecast", {"keep_going": True})
