"""A search of any task: it looks at no test row, and training its best gives what the best was chosen by."""

import dataclasses
import json
import shlex

import numpy as np
import pytest
import yaml

from command import printed
from fewer import of_two
from multiway import workflows
from multiway.tasks import lifecycle
from multiway.tasks.registry import task_of
from multiway.tasks.run import load
from tasks.tiny import TASKS, TINY, leaves_of

SPACE = {"training.learning_rate": [0.003, 0.01], "model.num_heads": [1, 3]}
SPACES = {
    "tabular": {"training.learning_rate": [0.003, 0.01], "model.hidden": [[8], []]},
    "spectra": {"training.learning_rate": [0.003, 0.01], "model.hidden": [[8], []]},
    "text": {"training.learning_rate": [0.003, 0.01], "model.dim": [8, 0]},
    "grids": {"training.learning_rate": [0.003, 0.01], "model.num_heads": [1, 2]},
    "images": {"training.learning_rate": [0.003, 0.01], "model.hidden": [[3, 2, 2], []]},
}
CHOSEN_BY = ("validation_loss", "validation_score", "epoch")
NOWHERE = np.array([10**6])
"""Where no row is: whoever looks there fails."""


@pytest.fixture(params=TASKS)
def tiny(request, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    return TINY[request.param](folder)


def space_of(tiny):
    return SPACES.get(tiny.task, SPACE)


def settings_of(tiny):
    """Those of the tiny run but the fields that are searched."""
    model, training = (dict(tiny.settings[name]) for name in ("model", "training"))
    for field in space_of(tiny):
        part, name = field.split(".")
        (model if part == "model" else training).pop(name, None)
    return {**tiny.settings, "data": str(tiny.data), "model": model, "training": training}


def without_test_rows(prepared):
    """The same data, of which no test row can be looked at."""
    if hasattr(prepared, "windows"):
        return dataclasses.replace(prepared, windows={**prepared.windows, "test": None})
    if hasattr(prepared, "borders"):
        return dataclasses.replace(prepared, borders={**prepared.borders, "test": None})
    if hasattr(prepared, "cases"):
        splits = {**prepared.cases.splits, "test": NOWHERE}
        return dataclasses.replace(prepared, cases=dataclasses.replace(prepared.cases, splits=splits))
    return dataclasses.replace(prepared, splits={**prepared.splits, "test": NOWHERE})


def found(tuned):
    return [trial.plain() | {"seconds": None} for trial in (*tuned.trials, *tuned.refused)]


@of_two("tiny", TASKS)
def test_a_search_looks_at_no_test_row(tiny, monkeypatch):
    settings = settings_of(tiny)
    space = {name: values[:1] for name, values in space_of(tiny).items()}  # of several, their records alone are seen
    as_it_is = workflows.tune(tiny.task, settings, space=space)
    task = task_of(tiny.task)
    prepare = task.prepare

    def hidden(*args, **options):
        return without_test_rows(prepare(*args, **options))

    monkeypatch.setattr(task, "prepare", hidden)
    monkeypatch.setattr(lifecycle, "digest_of", lambda content: "its bytes are hashed, and nothing else")
    assert found(workflows.tune(tiny.task, settings, space=space)) == found(as_it_is)
    with pytest.raises((AssertionError, AttributeError, IndexError, TypeError)):
        lifecycle.fit_in_memory(task, task.configure(settings, as_it_is.best), str(tiny.data))


@of_two("tiny", TASKS)
def test_training_the_best_gives_what_it_was_chosen_by(tiny, tmp_path):
    space, folder = tmp_path / "space.yaml", tmp_path / "my search"
    space.write_text(yaml.safe_dump(space_of(tiny)))
    leaves = leaves_of({name: value for name, value in settings_of(tiny).items() if name != "data"})
    sets = [word for name, value in leaves.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    words = ["tune", tiny.task, "--data", tiny.data, "--space", space, "--trials", 1, "--out", folder, *sets]
    *_, command = printed(*words).splitlines()
    assert command == f"multiway train {tiny.task} --recipe {shlex.quote(str(folder / 'best.yaml'))}"
    printed(*shlex.split(command)[1:], "--out", tmp_path / "run", "--quiet")
    *_, trial = map(json.loads, (folder / "trials.jsonl").read_text().splitlines())
    best = load(tmp_path / "run").facts["best"][task_of(tiny.task).own]
    assert {name: trial[name] for name in CHOSEN_BY} == {name: best[name] for name in CHOSEN_BY}
