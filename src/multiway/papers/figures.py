"""Published figures drawn anew from measured cells: scores over sizes, and the memory and time that they cost."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from multiway.papers.cells import recipes_of
from multiway.papers.printed import PublishedTable
from multiway.papers.verdicts import half_width, seed_values
from multiway.report import PagePart, text
from multiway.report.curves import Sizes, size_chart
from multiway.report.diagnostics import cost_bars, cost_chart
from multiway.report.scales import title
from multiway.report.sections import Section
from multiway.tasks.protocol import Row
from multiway.workflows.recipe import Recipe


class FigurePanel(NamedTuple):
    """What one panel of a figure shows.

    row: The data set.
    words: What the values are.
    lines: Values by size, by method, in the table's order.
    levels: The figures of baselines, by their names.
    halves: Half the 95 % interval over seeds of each value that has one.
    """

    row: str
    words: str
    lines: dict[str, Sizes]
    levels: dict[str, float]
    halves: dict[str, Sizes]


def curve_parts(name: str, table: PublishedTable, cells: Sequence[Row]) -> list[PagePart]:
    """A part for each data set that was measured; none where the table draws no curves.

    name: Of the table of recipes, whose variants are called by a method and a size, as `tga-64`, or by a size.
    cells: Rows of `reproduce`, in the table's order.
    """
    over = table.curves.over if table.curves else ""
    groups = itertools.groupby(panels(name, table, cells), key=lambda panel: panel.row)
    return [
        PagePart(
            id=f"curves-{row}",
            title=title(row),
            content=[size_chart(panel.words, panel.lines, x_title=over, claims=panel.levels) for panel in group],
        )
        for row, group in groups
    ]


def panels(name: str, table: PublishedTable, cells: Sequence[Row]) -> Iterator[FigurePanel]:
    """The panels of every data set that was measured; arguments as of `curve_parts`."""
    if table.curves is None:
        return
    recipes = recipes_of(name)
    for row, group in itertools.groupby(cells, key=lambda cell: recipes[cell["recipe"]].row):
        own = list(group)
        for metric, words in table.curves.panels.items():
            known = [(recipes[cell["recipe"]], cell) for cell in own if cell.get(metric) is not None]
            lines = _curves(table, [(recipe, cell[metric]) for recipe, cell in known])
            spreads = [(recipe, half_width(seed_values(cell, metric))) for recipe, cell in known]
            halves = _curves(table, [(recipe, half) for recipe, half in spreads if half is not None])
            if lines:
                yield FigurePanel(row, words, lines, _levels(own, metric, table.curves.rivals), halves)


def _curves(table: PublishedTable, measured: Sequence[tuple[Recipe, float]]) -> dict[str, Sizes]:
    """Values by size, for every method and form that has any, in the table's order."""
    curves: dict[tuple[int, str], dict[int, float]] = {}
    for recipe, value in measured:
        number, words, size = _position(table, recipe)
        curves.setdefault((number, words), {})[size] = value
    return {words: curves[number, words] for number, words in sorted(curves, key=lambda key: key[0])}


def _position(table: PublishedTable, recipe: Recipe) -> tuple[int, str, int]:
    """Number and words of the line that a recipe is on, and its size: `tga-64`, or `4 heads` of the only method."""
    variant = str(recipe.variant)
    digits = "".join(filter(str.isdigit, variant))
    number = next((at for at, key in enumerate(table.methods) if variant == f"{key}-{digits}"), 0)
    method = list(table.methods.values())[number]
    return number, ", ".join(filter(None, (method.title, recipe.form))), int(digits)


def _levels(cells: Sequence[Row], metric: str, rivals: Sequence[str]) -> dict[str, float]:
    """Figures of baselines, each of the first cell that has one."""
    figures = ((rival, cell.get(f"{rival}_{metric}")) for rival in rivals for cell in reversed(cells))
    return {rival: figure for rival, figure in figures if figure is not None}


def cost_parts(name: str, table: PublishedTable, cells: Sequence[Row]) -> list[PagePart]:
    """A part for each table of recipes and data set; none where the figure is not of costs.

    name: Of the published figure.
    cells: Rows of `reproduce`, in the table's order.
    """
    recipes = recipes_of(name)
    known = [(recipes[cell["recipe"]], cell) for cell in cells if table.costs and cell.get("step_bytes")]
    groups = itertools.groupby(known, key=lambda pair: (pair[0].table, pair[0].row))
    return [
        PagePart(id=f"costs-{source}-{row}", title=f"{title(row)}, {source}", content=list(_costs(table, [*group])))
        for (source, row), group in groups
    ]


def _costs(table: PublishedTable, cells: Sequence[tuple[Recipe, Row]]) -> Iterator[Section]:
    named = {", ".join(filter(None, (recipe.variant, recipe.form))) or recipe.row: cell for recipe, cell in cells}
    seconds = {words: cell["seconds"] / cell["seeds"] for words, cell in named.items()}
    memory = {words: cell["step_bytes"] for words, cell in named.items()}
    yield cost_bars("Memory of a training step", memory, lambda value: text.magnitude(value, "B"))
    yield cost_bars("Time of a seed", seconds, text.duration)
    for metric, heading in table.costs.items():
        scores = {words: cell[metric] for words, cell in named.items() if cell.get(metric) is not None}
        if scores:
            yield cost_chart(heading, scores, seconds, memory)
