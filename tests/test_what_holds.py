"""The page that says what holds quotes rows of results/, recipes that exist, and commands that are understood."""

import re
import shlex
from pathlib import Path

import pytest
from benchmarks.results_page import overridden, recipe_rows

from loops import check_all
from multiway.models.target_baselines import usual_baselines
from multiway.papers.cells import recipes_of
from multiway.workflows.recipe import Recipe, load_recipe

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers" / "README.md").read_text()
METRICS = {
    "forecast": ("mse", "mae"),
    "volumes": ("auc", "acc"),
    "stocks": ("acc", "mcc"),
    "text": ("acc",),
    "language": ("ppl",),
    "images": ("acc",),
}
QUOTED = re.findall(r"\| ([-.\d]+(?: / [-.\d]+)?) \(`([\w-]+)`\)", PAGE)

ROWS = recipe_rows()


def test_a_quoted_figure_is_that_of_its_row():
    assert len(QUOTED) >= 18
    check_all(check_quoted, QUOTED)


def check_quoted(figures, name):
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
    "adrenal-resnet18": {"training.epochs", "training.precision"}, "text-sst2-ndlinear": {"text.encoder", "baselines"},
    "hot-exchange-96": {"model.patch_length", "training.precision"},
    **{
        f"image-cifar10-{each}": {"training.precision"}
        for each in ("linear-logits", "ndlinear", "matched-logits", "low-rank-logits")
    },
    "image-cifar10-ndlinear-ours": {"training.precision"},
    **{f"image-cifar100-12k-{each}": {"training.precision"} for each in ("linear-logits", "ndlinear")},
}  # fmt: skip
SHORT = re.compile(
    r"hot-adrenal(-trainable)?|hot-(type|order|heads|components)-adrenal-.*|hot-components-.*"
    r"|hot-(type|order|heads)-(ettm1|exchange)-.*|hot-later-code-.*"
)
"""Cells of the paper's tables: one epoch of 100, in bfloat16."""

MEANS = re.compile(r"hot-components-(?:ettm1|weather)-|hot-order-ettm1-")
"""Of these, rows with the mean over patches, where the recipe now takes them all."""


def may_differ(name: str) -> set[str]:
    """Settings of a row that are not its recipe's, which the tables say; texts may have had a smaller encoder.

    A recipe of a table names no baselines, which are the usual ones of its target.
    """
    if SHORT.fullmatch(name):
        return {"training.epochs", "training.precision", *(["model.pooling"] if MEANS.match(name) else [])}
    if name.startswith("tabular-"):
        return {"baselines"}
    return OVERRIDDEN.get(name, {"text.encoder"})


def test_a_measured_row_has_the_settings_of_its_recipe():
    differing = {name: overridden(load_recipe(name), row).keys() - may_differ(name) for name, row in ROWS.items()}
    assert {name: fields for name, fields in differing.items() if fields} == {}


def test_a_row_has_every_score_of_each_baseline_in_its_settings():
    scores = {
        (name, f"{baseline}_{metric}")
        for name, row in ROWS.items()
        for baseline in baselines_of(row)
        for metric in row["each"][0].keys() & row.keys() & {"acc", "auc", "mse", "mae", "rmse", "ppl", "weighted_f1"}
    }
    assert len(scores) > 600 and {score for score in scores if score[1] not in ROWS[score[0]]} == set()


def baselines_of(row) -> tuple[str, ...]:
    """Names of a row's baselines; those of tables stand there as they were called when these rows were measured."""
    names = tuple(row["settings"].get("baselines") or ())
    return usual_baselines(None, is_class="acc" in row) if names == ("constant", "linear", "trees") else names


def test_commands_name_tables_and_recipes_that_exist():
    commands = [shlex.split(line) for line in re.findall(r"`(multiway reproduce [^`]+)`", PAGE)]
    assert len(commands) >= 8
    for words in commands:
        recipes = list(recipes_of(words[2]).values())
        options = dict(zip(words[3::2], words[4::2], strict=True))
        assert options.get("--rows", recipes[0].row) in {recipe.row for recipe in recipes}
        assert options.get("--variants", recipes[0].variant) in {recipe.variant for recipe in recipes}
