"""Rows of results/: which of them a cell has, and whether it ran what print names.

A row is whole where its stored settings are those of print: as many epochs, the same samples and sizes. A training that
validation stopped is whole where print or its public code stops so, or where `stopping_patience` says so.
"""

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

from multiway.config import leaves
from multiway.tasks.protocol import Row
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import Recipe, load_recipe

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
OWN = {"adrenal", "floor", "ndlinear-places", "peers", "segmentation", "stocknet-rescored", "tga-controls"}
CUT = {
    "ndlinear-figure-17",
    "ndlinear-opt",
    "ndlinear-table-7-small",
    "ndlinear-table-7-teacher",
    "ndlinear-table-7-tenth",
    "short-hot-tables-3-5",
}
"""Tables of recipes that are cut down themselves: fewer epochs, a narrower network or less text than print has."""
PARTS = {"cifar100_12k", "chlorine_partial"}
"""Data sets of which a part is here."""
OWN_TRAINING = "our training"
"""What the variant of a recipe says whose training is not print's."""
DECIDED = {"network": True, "read.decimal": "."}
"""What "auto" comes to in every recipe: each names its network or has 2,000 training windows, and its files write
points."""
EVIDENCE = 5
"""Cells of both a whole and a stopped training that a rule for stopping takes."""


class Training(NamedTuple):
    """What a text or its public code names of the training: epochs, and how many without a gain end it, if any do."""

    epochs: int
    patience: int | None = None


TRAININGS = {
    "hot-stocks-": Training(1000, 100),
    "hot-later-code": Training(50, 10),
    "hot-": Training(100),
    "ndlinear-table-3": Training(50),
    "ndlinear-table-7": Training(30),
}
"""By how the tables of recipes are called; the first that fits."""


@functools.cache
def recipe_rows() -> dict[str, Row]:
    """The row of each recipe: of several a whole one, then the one of most seeds, then the last."""
    found = dict[str, Row]()
    for row in all_rows():
        before = found.get(row["recipe"])
        if before is None or _rank(before) <= _rank(row):
            found[row["recipe"]] = row
    return found


def all_rows() -> list[Row]:
    """Rows of recipes, file by file."""
    rows = (row for path in sorted(RESULTS.glob("*.jsonl")) for row in read_rows(path))
    return [row for row in rows if "recipe" in row]


def read_rows(path: Path) -> list[Row]:
    """One row per line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def _rank(row: Row) -> tuple[bool, int]:
    return is_whole(load_recipe(row["recipe"]), row), row["seeds"] if "queue" in row else 0


def kind_of(recipe: Recipe, row: Row | None = None) -> str:
    """`short`, `own` or `paper`; without a row, what a whole one would be."""
    if is_cut(recipe) or (row is not None and not is_whole(recipe, row)):
        return "short"
    is_own = recipe.table in OWN or recipe.form not in (None, "paper") or OWN_TRAINING in (recipe.variant or "")
    return "own" if is_own or _is_frozen(recipe) else "paper"


def is_cut(recipe: Recipe) -> bool:
    """Whether a recipe has less than print itself: fewer epochs, a narrower network or a part of the data."""
    printed = training_of(recipe)
    fewer = printed is not None and epochs_of(recipe) < printed.epochs
    return fewer or recipe.table in CUT or recipe.data in PARTS


def _is_frozen(recipe: Recipe) -> bool:
    """Whether the encoder of a text is frozen where print tunes it."""
    return recipe.table.startswith("ndlinear-table-3") and recipe.settings.get("inputs") == "vectors"


def is_whole(recipe: Recipe, row: Row) -> bool:
    """Whether a row ran as many epochs, and all samples and sizes, as print names."""
    training, printed, differing = row["settings"]["training"], training_of(recipe), overridden(recipe, row)
    if is_cut(recipe) or first_of(recipe, row) or training["epochs"] < epochs_of(recipe):
        return False
    if any(name.startswith("model.") for name in differing):
        return False
    if printed is None:
        return "training.patience" not in differing
    enough = printed.patience or (stopping_patience() if recipe.table.startswith("hot-") else None)
    return not training["patience"] or (enough is not None and training["patience"] >= enough)


def training_of(recipe: Recipe) -> Training | None:
    """What print names of the training of a cell; None where it names nothing, or the form is ours."""
    names_none = recipe.table.startswith("ndlinear-table-3") and recipe.data != "cola"
    if recipe.form not in (None, "paper") or _is_frozen(recipe) or names_none:
        return None
    return next((each for name, each in TRAININGS.items() if recipe.table.startswith(name)), None)


def epochs_of(recipe: Recipe) -> int:
    """Those of the recipe itself."""
    return int(recipe.settings.get("training", {}).get("epochs", 0))


def first_of(recipe: Recipe, row: Row) -> int | None:
    """As many samples of each split as a row was cut to; None where its recipe has no more."""
    first: int | None = row["settings"].get("read", {}).get("first")
    return None if first == recipe.settings.get("read", {}).get("first") else first


@functools.cache
def stopping_patience() -> int | None:
    """Epochs without a gain after which HOT's trainings give what 100 epochs give; None where it is not shown.

    Every cell that has both a whole and a stopped training must have the same scores seed by seed, five cells at least.
    """
    rows = [row for row in all_rows() if "queue" in row and load_recipe(row["recipe"]).table.startswith("hot-")]
    whole = {_place(row): row for row in rows if not row["settings"]["training"]["patience"]}
    shown = dict[int, list[bool]]()
    for row in rows:
        patience, other = row["settings"]["training"]["patience"], whole.get(_place(row))
        if patience and other:
            pairs = zip(row["each"], other["each"], strict=False)
            shown.setdefault(patience, []).append(all(one == two for one, two in pairs))
    return min((each for each, same in shown.items() if len(same) >= EVIDENCE and all(same)), default=None)


def _place(row: Row) -> tuple[str, str]:
    return row["recipe"], str(row.get("horizons"))


def overridden(recipe: Recipe, row: Row) -> dict[str, Any]:
    """Settings that a row was measured with and its recipe does not have."""
    stated = _stated(recipe.task, json.dumps(recipe.settings_of_runs()[0]))
    measured = _decided(row["settings"])
    return {name: measured[name] for name in sorted(stated.keys() & measured) if measured[name] != stated[name]}


@functools.cache
def _stated(task: str, settings: str) -> dict[str, Any]:
    """All settings of a run by those that its recipe names, as JSON."""
    return _decided(task_of(task).configure(json.loads(settings)).plain())


def _decided(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings by their path, with what "auto" comes to in their place; what reading may take decides no score."""
    chosen = {name: value for name, value in leaves(settings).items() if name != "read.max_bytes"}
    return {name: DECIDED.get(name, value) if value == "auto" else value for name, value in chosen.items()}
