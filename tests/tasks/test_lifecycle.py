"""Stored values that are not those of a run are said to be so in one line; the hash of data sees every part of it."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from multiway.errors import ConfigError, RunError
from multiway.tasks.run import Models, digest_of, readable


@pytest.mark.parametrize("error", [KeyError("scale"), TypeError("scale"), ValueError("scale"), OSError("scale")])
def test_an_absent_value_is_named(error):
    with pytest.raises(RunError, match=r"^run holds no run of stocks that this version can read \('?scale'?\)\.$"):
        with readable(Path("run"), "run of stocks"):
            raise error


def test_an_error_of_ours_says_what_it_says():
    with pytest.raises(ConfigError, match=r"^model\.dim must be even\.$"), readable(Path("run"), "run of stocks"):
        raise ConfigError("model.dim must be even.")


def test_other_values_names_shapes_and_types_are_other_data():
    values = np.arange(6.0)
    contents = [
        ("a", values),
        ("b", values),
        ("a", values + 1),
        ("a", values.reshape(2, 3)),
        ("a", values.astype(np.float32)),
        ("a", values.astype("datetime64[D]")),
        ("a", values.astype(object)),
        ("a",),
    ]
    assert len({digest_of(content) for content in contents}) == len(contents)
    assert digest_of(("a", values[::-1])) == digest_of(iter(("a", values[::-1].copy())))


def test_whether_a_model_is_there_is_known_without_making_it():
    models = Models(SimpleNamespace(names=lambda config, state: ("network", "trees")), None, None)
    assert "trees" in models and "forest" not in models and list(models) == ["network", "trees"]
