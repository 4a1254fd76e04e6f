"""The papers' room adds to the registries below it, is imported when a name of it is used, and not before."""

import importlib

import pytest

import children
from multiway import lazy

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


def test_every_module_that_is_named_as_an_addition_is_there():
    every = [module for modules in lazy._EXTENSIONS.values() for module in modules]
    named = [module for module in every if module.startswith("multiway_papers")]
    assert named and all(importlib.import_module(module).__name__ == module for module in named)


def test_every_published_protocol_is_an_addition(tmp_path):
    """In a process that imports none of them otherwise."""
    done = children.run_program(PROTOCOLS, tmp_path)
    assert done.stdout.split() == ["chronological", "stocknet", "published-code"], done.stderr


def test_a_registry_imports_its_own_additions_alone(monkeypatch):
    monkeypatch.setattr(lazy, "_EXTENSIONS", {})
    lazy.extend("things", "no.such.module")
    lazy.load_extensions("others")
    with pytest.raises(ModuleNotFoundError):
        lazy.load_extensions("things")
