"""How `--set` and comma lists are read."""

import pytest
import typer

from multiway.cli import options
from multiway.config import read_names
from multiway.errors import ConfigError


def test_sets_nest_and_read_yaml():
    given = [
        "training.epochs=5",
        "training.loss=mae",
        "model.attended_modes=[0, 1]",
        "network=false",
        "split.test_start=2024-05-01",
        "protocol.borders=[2024-05-01, 2024-07-01]",
    ]
    assert options.nest_settings(given) == {
        "training": {"epochs": 5, "loss": "mae"},
        "model": {"attended_modes": [0, 1]},
        "network": False,
        "split": {"test_start": "2024-05-01"},
        "protocol": {"borders": ["2024-05-01", "2024-07-01"]},
    }


def test_a_mark_whose_quotes_the_shell_took_is_that_mark():
    assert options.nest_settings(["read.decimal=,"]) == {"read": {"decimal": ","}}
    assert options.nest_settings(["read.decimal=','"]) == {"read": {"decimal": ","}}
    assert options.nest_settings(["read.frequency=~"]) == {"read": {"frequency": None}}


@pytest.mark.parametrize(
    "text",
    [
        *("training.epochs", "=5", "training..epochs=5", "a=[1", "a=["),
        *("a=" + "[" * 5000, "a=" + "9" * 5000, "a=2024-13-45", "a." * 5000 + "b=1"),
    ],
    ids=lambda text: text[:20],
)
def test_a_set_that_is_none_is_refused(text):
    with pytest.raises(typer.BadParameter) as caught:
        options.nest_settings([text])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_a_setting_is_given_once():
    assert options.settings("train", "series", {"epochs": "3"}) == {"training": {"epochs": 3}}
    assert options.overrides("series", {"epochs": "3"}, ["training.batch_size=4"]) == {"training": {"batch_size": 4}}
    with pytest.raises(ConfigError, match=r"--epochs and --set training\.epochs are the same setting"):
        options.overrides("series", {"epochs": "3"}, ["training.epochs=4"])


def test_a_set_through_a_value_is_refused():
    with pytest.raises(typer.BadParameter, match="goes through a"):
        options.nest_settings(["a=1", "a.b=2"])


def test_names_are_split_at_commas():
    assert read_names(" a, b,,c ") == ["a", "b", "c"]


def test_levels_are_read_as_numbers():
    assert options.read_options("predict", "forecast", {"levels": "80, 95"}) == {"levels": (80.0, 95.0)}
    with pytest.raises(typer.BadParameter, match="eighty"):
        options.read_options("predict", "forecast", {"levels": "eighty"})
