"""What the doctor says of this installation."""

import importlib.metadata
import json
import tomllib
from pathlib import Path

import pytest
import torch

from command import printed
from multiway.cli.doctor import EXTRAS
from multiway.kernels import library as kernels

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
WITHOUT_ROW = {"benchmarks", "dev", "docs"}


def test_it_says_what_is_installed_and_what_is_missing(monkeypatch):
    known = importlib.metadata.version

    def version(name):
        if name == "optuna":
            raise importlib.metadata.PackageNotFoundError
        return known(name)

    extras = PROJECT["optional-dependencies"]
    needed = [f"{line}; extra == '{extra}'" for extra, lines in extras.items() for line in lines]
    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: needed)
    said = json.loads(printed("doctor", "--json"))
    assert said["facts"]["torch"] == known("torch") and said["facts"]["threads"] == str(torch.get_num_threads())
    rows = {row["extra"]: row for row in said["extras"]}
    assert rows["tune"]["missing"] == "optuna" and "multiway tune" in rows["tune"]["brings"]
    assert "tune" in printed("doctor").splitlines()[-1]


@pytest.mark.parametrize(
    ("built", "words"),
    [(None, "not built, as there is no C compiler: torch does the work"), (True, "compiled, and loaded")],
)
def test_it_says_whether_kernels_were_built(built, words, monkeypatch):
    monkeypatch.setattr(kernels, "library", lambda: built)
    assert json.loads(printed("doctor", "--json"))["facts"]["kernels"] == words


def test_every_extra_has_a_row():
    assert set(PROJECT["optional-dependencies"]) - WITHOUT_ROW == set(EXTRAS)
