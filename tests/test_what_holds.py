"""The page that says what holds quotes rows of results/, recipes that exist, and commands that are understood."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from multiway.recipes import Recipe, load_recipe, recipe_names, recipes_of, table_names
from multiway.tasks.registry import task_of

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers" / "README.md").read_text()
METRICS = {"forecast": ("mse", "mae"), "volumes": ("auc", "acc"), "stocks": ("acc", "mcc"), "text": ("acc",)}
QUOTED = re.findall(r"\| ([-.\d]+(?: / [-.\d]+)?) \(`([\w-]+)`\)", PAGE)


LINES = [json.loads(line) for file in (ROOT / "results").glob("*.jsonl") for line in file.read_text().splitlines()]
ROWS = {row["recipe"]: row for row in LINES if "recipe" in row}
"""What was measured, the last row of each recipe."""


@pytest.mark.parametrize(("figures", "name"), QUOTED)
def test_a_quoted_figure_is_that_of_its_row(figures, name):
    recipe = load_recipe(name)
    wanted = METRICS.get(recipe.task) or published_metrics(recipe)
    row = ROWS[name]
    for text, metric in zip(figures.split(" / "), wanted, strict=True):
        places = len(text.partition(".")[2])
        assert float(text) == pytest.approx(round(row[metric], places), abs=1e-9), metric


def published_metrics(recipe: Recipe) -> tuple[str, ...]:
    """Those that are printed of a cell; of a twin without printed figures, those of its row."""
    siblings = (each for each in recipes_of(recipe.table).values() if each.row == recipe.row)
    return tuple(recipe.figures) or next(tuple(each.figures) for each in siblings if each.figures)


OVERRIDDEN = {
    "adrenal-resnet18": {"training.epochs", "training.precision"}, "text-sst2-ndlinear": {"text.encoder", "baselines"}
}  # fmt: skip
"""Rows that were measured with settings of their own, which the tables say; texts may have had a smaller encoder."""


def flat(settings: dict[str, Any], head: str = "") -> dict[str, Any]:
    """All fields under their dotted names."""
    named = ((f"{head}{name}", value) for name, value in settings.items())
    return {
        key: each
        for name, value in named
        for key, each in (flat(value, f"{name}.") if isinstance(value, dict) else {name: value}).items()
    }


@pytest.mark.parametrize("name", sorted(set(recipe_names()) & ROWS.keys()))
def test_a_measured_row_has_the_settings_of_its_recipe(name):
    recipe = load_recipe(name)
    stated = flat(task_of(recipe.task).configure(recipe.settings_of_runs()[0]).plain())
    measured = flat(ROWS[name]["settings"])
    both = stated.keys() & measured.keys() - OVERRIDDEN.get(name, {"text.encoder"})
    assert {key: measured[key] for key in both} == {key: stated[key] for key in both}


def test_the_page_quotes_figures():
    assert len(QUOTED) >= 18


def test_commands_name_tables_and_recipes_that_exist():
    commands = [shlex.split(line) for line in re.findall(r"`(multiway reproduce [^`]+)`", PAGE)]
    assert len(commands) >= 8
    for words in commands:
        assert words[2] in table_names()
        options = dict(zip(words[3::2], words[4::2], strict=True))
        recipes = [load_recipe(name) for name in recipe_names() if load_recipe(name).table == words[2]]
        assert options.get("--rows", recipes[0].row) in {recipe.row for recipe in recipes}
        assert options.get("--variants", recipes[0].variant) in {recipe.variant for recipe in recipes}
