"""`multiway audit`: exit 0 without a leak, 1 with one, and one line for what is wrong."""

import numpy as np
import pandas as pd
import pytest
import yaml

from command import assert_one_line, call
from market_files import write_stocks


@pytest.fixture
def sales(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(0).normal(size=(120, 2)).cumsum(0)
    days = pd.date_range("2024-01-01", periods=120, freq="D")
    pd.DataFrame(values, columns=["a", "b"]).assign(date=days).to_csv("sales.csv", index=False)
    return ["audit", "forecast", "--data", "sales.csv", "--lookback", "6", "--horizon", "2"]


def test_a_sound_split_exits_with_0_and_a_leak_with_1(sales, monkeypatch, capsys):
    code, out, err = call(sales, monkeypatch, capsys)
    assert (code, err) == (0, "") and out.splitlines()[-1] == "No leak was found."
    code, out, err = call([*sales, "--protocol", "leaky_random_windows"], monkeypatch, capsys)
    assert (code, err) == (1, "") and out.count("\n  leak: ") == 3
    assert out.splitlines()[-1] == "This split leaks in 3 ways: scores on it say little."


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["audit", "forecast"], "audit: there is no data. Give --data FILE"),
        (["audit", "forecast", "--data", "absent.csv"], "absent.csv does not exist"),
        (["audit", "nothing"], "nothing is no task and no run folder. Tasks are forecast, series, images, volumes"),
        (["audit", "."], "is not a run folder: no config.yaml"),
        (["audit", ".", "--recipe", "hot-ecl-96"], "is a run and has its own data and settings. Leave out the options"),
        (["audit", "volumes", "--recipe", "hot-ecl-96"], "one of the task forecast. Got volumes; write forecast."),
        (["audit", "language", "--data", "sales.csv", "--vocabulary", "3"], "vocabulary"),
        (["audit", ".", "--horizon", "3"], "is a run and has its own data and settings. Leave out the options"),
        (
            ["audit", "volumes", "--data", "sales.csv", "--horizon", "3"],
            "--horizon is for forecast and grids, not for volumes",
        ),
        (["audit", "forecast", "--data", "sales.csv", "--set", "split.protocl=dates"], "did you mean protocol?"),
        (["audit", "forecast", "--data", "sales.csv", "--horizon", "100"], "one window needs"),
    ],
)
def test_what_cannot_be_audited_is_one_line(words, text, sales, monkeypatch, capsys):
    assert_one_line(call(words, monkeypatch, capsys), text)


def test_a_series_that_knows_another_exits_with_1(sales, monkeypatch, capsys):
    frame = pd.read_csv("sales.csv")
    frame.assign(c=frame["a"].shift(-1).ffill()).to_csv("sales.csv", index=False)
    code, out, err = call(sales, monkeypatch, capsys)
    assert (code, err) == (1, "") and "series know the future of others" in out and "c knows a (" in out


def test_stocks_take_their_own_options(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_stocks(tmp_path)
    words = ["audit", "stocks", "--data", "prices.csv", "--texts", "texts.jsonl"]
    code, out, _ = call(words, monkeypatch, capsys)
    assert code == 0 and "texts that are shown" in out and "chronological" in out.splitlines()[0]
    assert_one_line(call([*words, "--protocol", "stocknet"], monkeypatch, capsys), "every split needs days")


def test_a_recipe_stands_under_what_is_given(sales, monkeypatch, capsys, tmp_path):
    """The same lines as by options; what is given wins over the recipe."""
    expected = call([*sales, "--protocol", "leaky_random_windows"], monkeypatch, capsys)
    settings = {"lookback": 60, "split": {"protocol": "leaky_random_windows"}}
    recipe = {
        "task": "forecast",
        "table": "own",
        "row": "a",
        "data": "sales.csv",
        "horizons": [2],
        "settings": settings,
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(recipe))
    assert call(["audit", "forecast", "--recipe", "own.yaml", "--lookback", "6"], monkeypatch, capsys) == expected
