"""Configs refuse what they do not know, round-trip exactly, and speak in one line."""

import time

import pytest
from pydantic import Field

from multiway.config import Config, load_yaml, read_yaml
from multiway.errors import ConfigError


class Inner(Config):
    rate: float = Field(0.1, gt=0)
    modes: tuple[int, ...] = (0, 1)


class Outer(Config):
    epochs: int = Field(3, gt=0)
    inner: Inner = Inner()


def test_round_trip_keeps_tuples():
    config = Outer(epochs=5, inner=Inner(modes=(2,)))
    assert Outer.parse(config.plain()) == config
    assert config.replace(epochs=6).inner.modes == (2,)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"epoch": 3}, "epoch is not a known field, did you mean epochs"),
        ({"inner": {"rat": 1}}, r"inner\.rat is not a known field, did you mean rate"),
        ({"epochs": 0}, r"epochs: Input should be greater than 0 \(got 0\)"),
        ({"epochs": True}, "epochs: yes, no, on, off, true and false are truth values. Give another value"),
        ({"inner": {"modes": [0, False]}}, r"inner\.modes: yes, no, on, off, true and false are truth values"),
        ({"inner": read_yaml("rate: on")}, r"inner\.rate: yes, no, on, off, true and false are truth values"),
        ({"epochs": 10**29}, r"epochs: a whole number has 64 bits"),
        ({"inner": {"modes": [1, -(2**63)]}}, r"inner\.modes: a whole number has 64 bits"),
        ({"epochs": 0, "inner": {"rate": -1}}, r"epochs: .*; inner\.rate: "),
    ],
)
def test_a_mistake_is_named_in_one_line(values, text):
    with pytest.raises(ConfigError, match=text) as caught:
        Outer.parse(values, "mine.yaml")
    assert str(caught.value).startswith("mine.yaml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &x [1]\nb: *x\n", "without aliases"),
        ("- 1\n", "one mapping"),
        ("a: [1\n", "not readable YAML"),
        ("a: !!python/object/apply:os.system [ls]\n", "not readable YAML"),
        ("1: a\n", "one mapping"),
        ("a: " + "[" * 40_000, "more than 50 levels of nesting"),
        ("a: " + "{b: " * 40_000, "more than 50 levels of nesting"),
        ("- " * 40_000, "more than 50 levels of nesting"),
        ("a: " + "9" * 5000, "not readable YAML"),
        ("a" * 1_000_001, "bytes; a config has at most"),
    ],
)
def test_a_file_that_is_no_config_is_refused(text, words, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        load_yaml(path)


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.yaml is not a file"):
        load_yaml(tmp_path / "absent.yaml")


def test_forty_thousand_levels_are_refused_at_once():
    start = time.process_time()
    with pytest.raises(ConfigError, match="more than 50 levels"):
        read_yaml("[" * 40_000 + "]" * 40_000)
    assert time.process_time() - start < 2


def test_a_message_that_ends_in_a_question_has_no_full_stop_after_it():
    with pytest.raises(ConfigError, match=r"epoch is not a known field, did you mean epochs\?$"):
        Outer.parse({"epoch": 3})
    with pytest.raises(ConfigError, match=r"\(got 0\)\.$"):
        Outer.parse({"epochs": 0})
