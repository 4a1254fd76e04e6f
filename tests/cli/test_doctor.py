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
    [
        ((False, False), "not built, as there is no C compiler: torch does the work"),
        ((True, False), "without autograd in C++; to build that: python -m multiway.kernels"),
        ((True, True), "compiled, and loaded, autograd in C++ as well"),
    ],
)
def test_it_says_which_kernels_were_built(built, words, monkeypatch):
    for name, found in zip(("library", "nodes"), built, strict=True):
        monkeypatch.setattr(kernels, name, lambda found=found: found or None)
    assert words in json.loads(printed("doctor", "--json"))["facts"]["kernels"]


def test_every_extra_has_a_row():
    assert set(PROJECT["optional-dependencies"]) - WITHOUT_ROW == set(EXTRAS)
