"""What every task promises of a training on data told in another way: in another unit, with classes of other names."""

import re
import shutil

import numpy as np
import pytest

from command import printed
from fewer import few, fit_fewer, of_two
from tasks.answered import answered, assert_same_answers, own_answers
from tasks.finished import SEED, finished
from tasks.grids.fields import make_field, write_npz
from tasks.later_data import NUMBERS, TARGET, copied, read
from tasks.relations import NO_CLASSES
from tasks.tiny import TASKS, TINY

FACTOR = 4.0
"""A power of two, by which every number is as exact as before."""
NO_UNIT = {
    "text": "words have no unit", "language": "words have no unit", "images": "pixels are bytes from 0 to 255",
    "volumes": "bytes and numbers are normalised in ways of their own",
}  # fmt: skip


def answers_of(later, folder):
    """Train as the finished run on changed data, and predict for them."""
    (folder / "data").mkdir(parents=True)
    tiny = TINY[later.task](folder / "data")
    shutil.rmtree(folder / "data")
    later.folder.rename(folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        fit_fewer(patch)
        printed(*tiny.train(folder / "run", training__seed=SEED))
    return answered(later.task, folder / "run", tiny.data, folder / "out")


@of_two("task", [task for task in TASKS if task not in NO_UNIT], indirect=False)
def test_another_unit_changes_no_more_than_the_unit_of_the_answer(task, tmp_path_factory, tmp_path):
    made = finished(task, tmp_path_factory)
    expected, later = own_answers(made, tmp_path), copied(made, tmp_path / "later")
    for path in later.folder.glob("image*.npy"):
        np.save(path, np.load(path) * FACTOR)
    if task == "grids":
        write_npz(later.data, make_field(60) * FACTOR)
    names = set(NUMBERS.get(task, ()))
    later.rewritten(lambda rows: rows.assign(**{name: rows[name].astype(float) * FACTOR for name in names & {*rows}}))
    assert_same_answers(
        answers_of(later, tmp_path / "other"), expected, FACTOR if task in ("forecast", "grids") else 1.0
    )


def renamed(later):
    """New names of classes, in the order of the old ones; the old name of each."""
    if later.task == "images":
        for place, name in enumerate(("bar", "dot")):
            (later.data / name).rename(later.data / f"{'mn'[place]} {name}")
        return {"m bar": "bar", "n dot": "dot"}
    if later.task == "segment":
        for path in later.folder.glob("mask*.npy"):
            np.save(path, np.load(path) * 7)
        return {"voxels 7": "voxels 1"}
    column = TARGET[later.task]
    old = sorted(set(read(later.tables[0])[column]))
    new = {name: f"{'mn'[place]} {name}" for place, name in enumerate(old)}
    later.rewritten(lambda rows: rows.assign(**{column: rows[column].map(new)}))
    return {name: key for key, name in new.items()}


@pytest.mark.parametrize("task", few((task for task in TASKS if task not in NO_CLASSES), "images", "tabular"))
def test_classes_of_other_names_have_the_same_answers(task, tmp_path_factory, tmp_path):
    made = finished(task, tmp_path_factory)
    expected, later = own_answers(made, tmp_path), copied(made, tmp_path / "later")
    names = renamed(later)
    words = re.compile("|".join(names))

    def old(text):
        return words.sub(lambda name: names[name[0]], text)

    table = answers_of(later, tmp_path / "other").rename(columns=old, index=old)
    table = table.assign(**{name: table[name].map(old) for name in table.filter(regex="^predicted")})
    assert_same_answers(table.drop(columns="mask", errors="ignore"), expected.drop(columns="mask", errors="ignore"))


def test_every_relation_holds_of_a_task_or_says_why_not():
    assert set(NO_UNIT) | set(NO_CLASSES) < set(TASKS)
