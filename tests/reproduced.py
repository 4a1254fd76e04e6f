"""What a written `multiway reproduce` measures: its cells, and how their settings differ from a row's."""

import functools
import itertools
import shlex
from typing import Any

from docs.build.results_page import deciding

from multiway.cli.options import nest_settings
from multiway.config import merge
from multiway.tasks.protocol import Row
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import Recipe
from multiway_papers.reproducing import choose_cells

CHOICES = ("rows", "variants", "forms", "horizons")


@functools.cache
def reproduced(command: str) -> dict[str, Recipe]:
    """The cells that it chooses."""
    program, verb, table, *options = shlex.split(command)
    assert (program, verb) == ("multiway", "reproduce")
    given = dict(zip(options[::2], options[1::2], strict=True))
    chosen = {name: given[f"--{name}"].split(",") for name in CHOICES if f"--{name}" in given}
    return choose_cells(table, chosen)


def settings_apart(command: str, name: str, row: Row) -> dict[str, Any]:
    """Settings and seeds of a row that the command would not measure a cell with; what it sets has to be valid."""
    words = shlex.split(command)
    sets = nest_settings([value for option, value in itertools.pairwise(words) if option == "--set"])
    recipe = reproduced(command)[name]
    task_of(recipe.task).configure(recipe.settings_of_runs()[0], sets)
    changed = recipe.model_copy(update={"settings": merge(recipe.settings, sets)})
    seeds = int(words[words.index("--seeds") + 1])
    return {**deciding(changed, row), **({} if seeds == row["seeds"] else {"seeds": row["seeds"]})}
