"""The papers' room adds to the registries below it, is imported when a name of it is used, and not before."""

import tomllib
from pathlib import Path

import pytest

import children
from multiway import lazy
from multiway.errors import ConfigError

OWN_FILES = """
import sys
from multiway.models import create_model
from multiway.workflows import load_recipe, load_space
create_model("hot_forecaster", num_variates=2)
load_space({"model.dim": [1]})
print([name for name in sys.modules if name.startswith("multiway_papers")])
print(type(create_model("dlinear", num_variates=2)).__module__, load_recipe("hot-ecl-96").row)
"""

PROTOCOLS = "from multiway_papers.stocks.protocols import protocol_names; print(*protocol_names())"


def test_who_asks_for_nothing_of_the_papers_never_meets_them(tmp_path):
    done = children.run_program(OWN_FILES, tmp_path)
    assert done.stdout.splitlines() == ["[]", "multiway_papers.peers.linear_forecasters ecl"], done.stderr


def test_every_entry_point_of_the_papers_is_there():
    """Such as they are declared, and as this environment knows them."""
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["entry-points"]
    for group, places in declared.items():
        found = lazy.extensions(group.removeprefix("multiway."))
        assert places.items() <= found.items(), f"{group}: install the checkout anew (bin/environment)"
        assert all(lazy.load_extension(group.removeprefix("multiway."), name) is not None for name in places)


def test_every_published_protocol_is_an_addition(tmp_path):
    """In a process that imports none of them otherwise."""
    done = children.run_program(PROTOCOLS, tmp_path)
    assert done.stdout.split() == ["chronological", "stocknet", "published-code"], done.stderr


def test_a_registry_imports_its_own_additions_alone(monkeypatch):
    monkeypatch.setattr(lazy, "_OURS", {})
    lazy.extend("things", "no.such.module")
    assert lazy.load_extensions("others") == {}
    with pytest.raises(ConfigError, match=r"no\.such\.module is listed among the things .* No module named 'no'"):
        lazy.load_extensions("things")


def test_an_estimator_of_the_papers_is_a_name_of_the_library():
    import multiway
    from multiway_papers.language import LanguageModel
    from multiway_papers.stocks import StockMovementClassifier

    assert multiway.StockMovementClassifier is StockMovementClassifier and multiway.LanguageModel is LanguageModel
    assert {"StockMovementClassifier", "LanguageModel"} <= set(dir(multiway))
