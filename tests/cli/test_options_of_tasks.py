"""Options of one task are refused by the others and leave nothing; those that hold several numbers are read."""

import pytest
import typer

from command import call
from multiway import workflows
from multiway.cli import options
from multiway.tasks.run import FORMAT


@pytest.mark.parametrize(
    ("task", "option"),
    [
        ("volumes", ["--horizon", "4"]),
        ("volumes", ["--gaps", "fill"]),
        ("volumes", ["--mask", "m"]),
        ("volumes", ["--texts", "a.jsonl"]),
        ("segment", ["--label", "m"]),
        ("forecast", ["--resample-to", "1,1,1"]),
        ("forecast", ["--modality", "price"]),
        ("stocks", ["--horizon", "4"]),
        ("stocks", ["--label", "kind"]),
    ],
)
def test_training_knows_the_options_of_its_task_only(task, option, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(["train", task, "--data", "x.csv", *option], monkeypatch, capsys)
    assert (code, out) == (2, "") and f"No such option: {option[0]}" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["train", "volumes", "--recipe", "hot-ecl-96"], "hot-ecl-96 is one of the task forecast. Got volumes"),
        (["train", "volumes"], "there is no data. Give --data"),
        (["check", "sales.csv", "--task", "forecast", "--time-zone", "UTC"], "--time-zone is for stocks, not for fore"),
        (
            ["check", "sales.csv", "--task", "forecast", "--size", "2,2,2"],
            "--size is for images and volumes and segment",
        ),
        (["check", "scans.csv", "--task", "volumes", "--missing", "mask"], "--missing is for forecast"),
        (["predict", "run", "--layout", "wide"], "--layout is for forecast, not for volumes"),
        (["predict", "run", "--levels", "80"], "--levels is for forecast and grids, not for volumes"),
        (["predict", "run", "--texts", "a.jsonl"], "--texts is for stocks, not for volumes. Leave it out."),
        (["explain", "run", "--date", "2015-11-03"], "--date is for stocks, not for volumes. Leave it out."),
        (["explain", "run", "--tickers", "A,B"], "--tickers is for stocks, not for volumes. Leave it out."),
        (["predict", "series", "--maps", "m"], "--maps is for volumes, not for forecast. Leave it out."),
        (["predict", "series", "--keep-going"], "not for forecast. Leave it out."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_of_another_task_is_one_line_and_leaves_nothing(words, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, task in (("run", "volumes"), ("series", "forecast")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(f"format: {FORMAT}\ntask: {task}\n")
    code, out, err = call(words, monkeypatch, capsys)
    assert (code, out) == (1, "")
    assert err.startswith("multiway: error: ") and err.count("\n") == 1 and text in err
    assert {path.name for path in tmp_path.rglob("*")} == {"run", "series", "config.yaml"}


def test_a_value_that_cannot_be_read_is_said_once(monkeypatch, capsys):
    code, _, err = call(["train", "images", "--data", "pictures", "--size", "big"], monkeypatch, capsys)
    assert code == 2 and "give a whole number of at least 1" in err and err.count("'big'") == 1


def test_options_of_stocks_reach_their_sections(monkeypatch, capsys):
    given_to = {}
    monkeypatch.setattr(workflows, "train", lambda given, **rest: given_to.update(given, **rest) or Nothing())
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
    assert (given_to["task"], given_to["data"]) == ("stocks", "prices.csv")
    assert given_to["read"] == {
        "texts": "texts.jsonl",
        "time_zone": "UTC",
        "close": "15:30",
        "exchange_zone": "Asia/Tokyo",
    }
    assert given_to["text"] == {"encoder": "hashed"}
    assert given_to["protocol"] == {"name": "published-code"}
    assert given_to["model"] == {"modality": "text"}
    assert all(
        type(section[field]) is str for section in (given_to["protocol"], given_to["model"]) for field in section
    )


def test_options_of_volumes_reach_the_section_read(monkeypatch, capsys):
    given_to = {}
    monkeypatch.setattr(workflows, "train", lambda given, **rest: given_to.update(given, **rest) or Nothing())
    words = ["train", "volumes", "--data", "scans.csv", "--label", "kind", "--patient", "who", "--size", "64,64,32"]
    words += ["--spacing", "1,1,2.5", "--orientation", "RAS", "--window", "-100,300", "--axes", "x, y, z"]
    assert call(words, monkeypatch, capsys)[0] == 0
    assert (given_to["task"], given_to["data"]) == ("volumes", "scans.csv")
    assert given_to["read"] == {
        "label": "kind",
        "patient": "who",
        "size": [64, 64, 32],
        "spacing": [1.0, 1.0, 2.5],
        "orientation": "RAS",
        "window": [-100.0, 300.0],
        "axes": ["x", "y", "z"],
    }


class Nothing:
    def __init__(self):
        self.words, self.details = {}, ()

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
        options.read_options("train", "volumes", {name: text})


@pytest.mark.parametrize(
    ("word", "own"),
    [("--futr-exog-list=price", "--future"), ("--hist-exog-list", "--past"), ("--stat_exog_list", "--static"),
     ("--timestamp-column", "--time"), ("--prediction-length", "--horizon"), ("--freq", "--frequency"),
     ("--time-limit", "--budget"), ("--eval-metric", "--metric")],
)  # fmt: skip
def test_options_of_other_libraries_are_answered_with_ours(word, own, monkeypatch, capsys):
    code, out, err = call(["train", "forecast", "--data", "x.csv", word, "price"], monkeypatch, capsys)
    assert (code, out, err) == (2, "", f"multiway: error: {word.partition('=')[0]} is {own} here.\n")


@pytest.mark.parametrize(("command", "word", "own"), [
    ("predict", "--level", "--levels here"), ("predict", "--quantile-levels", "--quantiles here"),
    ("backtest", "--level=80", "--levels here"), ("backtest", "--n-windows", "--cutoffs here"),
    ("train", "--quantile-levels", "--quantiles of predict"),
])  # fmt: skip
def test_options_of_other_libraries_are_those_of_the_command(command, word, own, monkeypatch, capsys):
    code, out, err = call([command, "run", word, "80"], monkeypatch, capsys)
    assert (code, out, err) == (2, "", f"multiway: error: {word.partition('=')[0]} is {own}.\n")
