"""A published figure of costs drawn anew: memory and time of what was measured, and its score over both."""

import itertools
from collections.abc import Iterator, Sequence

from multiway.recipes import Recipe, recipes_of
from multiway.recipes.published import PublishedTable
from multiway.report import Part, text
from multiway.report.cost_charts import cost_bars, cost_chart
from multiway.report.palette import title
from multiway.report.sections import Section
from multiway.tasks.protocol import Row


def cost_parts(name: str, table: PublishedTable, cells: Sequence[Row]) -> list[Part]:
    """A part for each table of recipes and data set; none where the figure is not of costs.

    name: Of the published figure.
    cells: Rows of `reproduce`, in the table's order.
    """
    recipes = recipes_of(name)
    known = [cell for cell in cells if table.costs and cell.get("step_bytes")]
    groups = itertools.groupby(known, key=lambda cell: (recipes[cell["recipe"]].table, recipes[cell["recipe"]].row))
    return [
        Part(
            id=f"costs-{source}-{row}",
            title=f"{title(row)}, {source}",
            content=list(_sections(recipes, table, [*group])),
        )
        for (source, row), group in groups
    ]


def _sections(recipes: dict[str, Recipe], table: PublishedTable, cells: Sequence[Row]) -> Iterator[Section]:
    named = {_words(recipes[cell["recipe"]]): cell for cell in cells}
    seconds = {words: cell["seconds"] / cell["seeds"] for words, cell in named.items()}
    memory = {words: cell["step_bytes"] for words, cell in named.items()}
    yield cost_bars("Memory of a training step", memory, lambda value: text.magnitude(value, "B"))
    yield cost_bars("Time of a seed", seconds, text.duration)
    for metric, heading in table.costs.items():
        scores = {words: cell[metric] for words, cell in named.items() if cell.get(metric) is not None}
        if scores:
            yield cost_chart(heading, scores, seconds, memory)


def _words(recipe: Recipe) -> str:
    return ", ".join(filter(None, (recipe.variant, recipe.form))) or recipe.row
