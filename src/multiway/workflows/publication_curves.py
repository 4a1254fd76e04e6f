"""A published figure drawn anew from measured cells: a line per method over its sizes, a part per data set."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from multiway.recipes import Recipe, recipes_of
from multiway.recipes.published import PublishedTable
from multiway.report import Part
from multiway.report.palette import title
from multiway.report.size_curves import Sizes, size_chart
from multiway.tasks.protocol import Row


class Panel(NamedTuple):
    """What one panel of a figure shows.

    row: The data set.
    words: What the values are.
    lines: Values by size, by method, in the table's order.
    levels: The figures of baselines, by their names.
    """

    row: str
    words: str
    lines: dict[str, Sizes]
    levels: dict[str, float]


def curve_parts(name: str, table: PublishedTable, cells: Sequence[Row]) -> list[Part]:
    """A part for each data set that was measured; none where the table draws no curves.

    name: Of the table of recipes, whose variants are called by a method and a size, as `tga-64`, or by a size.
    cells: Rows of `reproduce`, in the table's order.
    """
    over = table.curves.over if table.curves else ""
    groups = itertools.groupby(panels(name, table, cells), key=lambda panel: panel.row)
    return [
        Part(
            id=f"curves-{row}",
            title=title(row),
            content=[size_chart(each.words, each.lines, x_title=over, claims=each.levels) for each in group],
        )
        for row, group in groups
    ]


def panels(name: str, table: PublishedTable, cells: Sequence[Row]) -> Iterator[Panel]:
    """The panels of every data set that was measured; arguments as of `curve_parts`."""
    if table.curves is None:
        return
    for row, group in itertools.groupby(cells, key=lambda cell: recipes_of(name)[cell["recipe"]].row):
        own = list(group)
        for metric, words in table.curves.panels.items():
            if lines := _lines(name, table, own, metric):
                yield Panel(row, words, lines, _levels(own, metric, table.curves.rivals))


def _lines(name: str, table: PublishedTable, cells: Sequence[Row], metric: str) -> dict[str, Sizes]:
    """Values of a metric by size, for every method and form that has any, in the table's order."""
    found: dict[tuple[int, str], dict[int, float]] = {}
    for cell in cells:
        if cell.get(metric) is not None:
            number, words, size = _place(table, recipes_of(name)[cell["recipe"]])
            found.setdefault((number, words), {})[size] = cell[metric]
    return {words: found[number, words] for number, words in sorted(found, key=lambda place: place[0])}


def _place(table: PublishedTable, recipe: Recipe) -> tuple[int, str, int]:
    """Number and words of the line that a recipe is on, and its size: `tga-64`, or `4 heads` of the only method."""
    variant = str(recipe.variant)
    digits = "".join(filter(str.isdigit, variant))
    number = next((place for place, key in enumerate(table.methods) if variant == f"{key}-{digits}"), 0)
    method = list(table.methods.values())[number]
    return number, ", ".join(filter(None, (method.title, recipe.form))), int(digits)


def _levels(cells: Sequence[Row], metric: str, rivals: Sequence[str]) -> dict[str, float]:
    """Figures of baselines, each of the first cell that has one."""
    found = {
        rival: [cell[key] for cell in cells if cell.get(key := f"{rival}_{metric}") is not None] for rival in rivals
    }
    return {rival: values[0] for rival, values in found.items() if values}
