"""The kinds of mutants: which file of a tiny run is changed, and what is done with it then."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from attacks.changes import change_bytes, change_file
from attacks.strangers import in_other_format, trained_with
from attacks.tiny_runs import Task, inside, predicting
from resealing import reseal
from tasks.tiny import leaves_of

SEALED_COMMANDS = ("predict", "predict", "predict", "evaluate", "resume", "report", "explain", "compress")
OPTIONS = {"training.learning_rate": [0.003, 0.01], "model.dropout": [0.0, 0.1], "training.batch_size": [8, 16]}
"""A space of every task."""
SCORED = 0.2
"""Share of the changed data that is scored, and of those that are checked."""


class Mutant(NamedTuple):
    """A command on changed files, and what tells which files they are."""

    words: list[object]
    result: Path
    change: str


def of_data(task: Task, folder: Path, chance: random.Random) -> Mutant:
    """One file of the data."""
    shutil.copytree(task.folder / "data", folder / "data")
    path = chance.choice([path for path in inside(folder / "data") if path.suffix != ".json"])
    change = change_file(path, chance)
    data = folder / "data" / task.tiny.data.relative_to(task.folder / "data")
    return _read_with(task, data, folder, chance, f"{path.name}: {change}")


def of_format(task: Task, folder: Path, chance: random.Random) -> Mutant:
    """The data in another format, one file of which is changed."""
    shutil.copytree(task.folder / "data", folder / "data")
    name, data = in_other_format(task, folder, chance)
    path = chance.choice([path for path in inside(folder / "data") if path.suffix == name])
    change = change_file(path, chance)
    return _read_with(task, data, folder, chance, f"{name} {path.name}: {change}")


def _read_with(task: Task, data: Path, folder: Path, chance: random.Random, change: str) -> Mutant:
    kind = chance.random()
    if kind < SCORED:
        words: list[object] = ["check", data, "--task", task.tiny.task]
    elif kind < 2 * SCORED:
        words = ["evaluate", task.run, "--data", data]
    else:
        words = predicting(task.tiny, task.run, folder / "out", data)
    return Mutant(words, folder / "out", change)


def of_recipe(task: Task, folder: Path, chance: random.Random) -> Mutant:
    """A recipe that trains the run."""
    settings = {**task.tiny.settings, "data": str(task.tiny.data)}
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump({"task": task.tiny.task, "settings": settings}))
    change = change_file(path, chance)
    return Mutant(["train", "--recipe", path, "--out", folder / "run"], folder / "run", change)


def of_space(task: Task, folder: Path, chance: random.Random) -> Mutant:
    """A space that is searched, or the folder of a search that goes on."""
    path = folder / "space.yaml"
    path.write_text(yaml.safe_dump(OPTIONS))
    if chance.random() < 0.3:
        study = shutil.copytree(task.folder / "study", folder / "study")
        file = chance.choice(list(inside(study)))
        change = f"study {file.name}: {change_file(file, chance)}"
        return Mutant(tuning(task, path, study, trials=2), study, change)
    change = change_file(path, chance)
    return Mutant(tuning(task, path, folder / "study", trials=1), folder / "study", change)


def tuning(task: Task, space: Path, out: Path, trials: int) -> list[object]:
    """Words of a short search."""
    searched = {**dict.fromkeys(OPTIONS), "data": None}
    leaves = {name: value for name, value in leaves_of(task.tiny.settings).items() if name not in searched}
    sets = [word for name, value in {**leaves, "training.epochs": 1}.items() for word in ("--set", _set(name, value))]
    return ["tune", task.tiny.task, "--data", task.tiny.data, "--space", space, "--out", out, "--trials", trials, *sets]


def _set(name: str, value: Any) -> str:
    return f"{name}={yaml.safe_dump(value, default_flow_style=True, width=10**6).removesuffix('...' + chr(10)).strip()}"


def of_stranger(task: Task, folder: Path, chance: random.Random) -> Mutant:
    """A folder of somebody else's network: an encoder, a tokenizer or a teacher."""
    network = shutil.copytree(task.folder / "network", folder / "network")
    path = chance.choice(list(inside(network)))
    change = change_file(path, chance)
    return Mutant(trained_with(task, network, folder / "run"), folder / "run", f"{path.name}: {change}")


def of_sealed_run(task: Task, folder: Path, chance: random.Random) -> Mutant:
    """A file of a finished run."""
    run = shutil.copytree(task.run, folder / "run")
    path = chance.choice(list(inside(run)))
    change = change_bytes(path, chance) if chance.random() < 0.7 else change_file(path, chance)
    return _using(task, run, folder, chance, f"{path.name}: {change}")


def of_resealed_run(task: Task, folder: Path, chance: random.Random) -> Mutant:
    """The same, by somebody who makes the hashes anew."""
    run = shutil.copytree(task.run, folder / "run")
    path = chance.choice([path for path in inside(run) if path.name != "manifest.json"])
    change = change_file(path, chance)
    reseal(run)
    return _using(task, run, folder, chance, f"{path.name}: {change}")


def _using(task: Task, run: Path, folder: Path, chance: random.Random, change: str) -> Mutant:
    command = chance.choice(SEALED_COMMANDS)
    words = {
        "evaluate": ["evaluate", run],
        "resume": ["train", "--resume", run],
        "report": ["report", run, "--out", folder / "report.html"],
        "explain": ["explain", run, "--out", folder / "explained"],
        "compress": ["compress", run, "--rule", ".*=lowrank:rank=1", "--out", folder / "smaller"],
    }.get(command) or predicting(task.tiny, run, folder / "out")
    return Mutant(words, folder / "out", change)


def of_state(task: Task, folder: Path, chance: random.Random) -> Mutant:
    """A run that was stopped half-way and goes on."""
    run = shutil.copytree(task.folder / "stopped", folder / "run")
    path = chance.choice(list(inside(run)))
    change = change_bytes(path, chance) if chance.random() < 0.6 else change_file(path, chance)
    return Mutant(["train", "--resume", run], run, f"stopped {path.name}: {change}")


MUTATIONS: dict[str, Callable[[Task, Path, random.Random], Mutant]] = {
    "data": of_data,
    "format": of_format,
    "recipe": of_recipe,
    "space": of_space,
    "stranger": of_stranger,
    "sealed": of_sealed_run,
    "resealed": of_resealed_run,
    "state": of_state,
}
MEANT = ("data", "format", "recipe", "space", "stranger", "resealed")
"""Kinds of files that somebody may have meant as they are: nothing tells them from others."""
