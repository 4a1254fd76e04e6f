"""A published figure drawn anew from measured cells: a line per method over its sizes, a part per data set."""

import itertools
from collections.abc import Iterator, Sequence

from multiway.recipes import recipes_of
from multiway.recipes.published import PublishedTable
from multiway.report import Part
from multiway.report.palette import title
from multiway.report.sections import Chart
from multiway.report.size_curves import size_chart
from multiway.tasks.protocol import Row


def curve_parts(name: str, table: PublishedTable, cells: Sequence[Row]) -> list[Part]:
    """A part for each data set that was measured; none where the table draws no curves.

    name: Of the table of recipes, whose variants are called by a method and a size, as `tga-64`.
    cells: Rows of `reproduce`, in the table's order.
    """
    if table.curves is None:
        return []
    groups = itertools.groupby(cells, key=lambda cell: recipes_of(name)[cell["recipe"]].row)
    return [
        Part(id=f"curves-{row}", title=title(row), content=list(_charts(name, table, list(group))))
        for row, group in groups
    ]


def _charts(name: str, table: PublishedTable, cells: Sequence[Row]) -> Iterator[Chart]:
    assert table.curves is not None
    for metric, words in table.curves.panels.items():
        lines = _lines(name, table, cells, metric)
        if lines:
            claims = {rival: found for rival in table.curves.rivals if (found := _claim(cells, f"{rival}_{metric}"))}
            yield size_chart(words, lines, x_title=table.curves.over, claims=claims)


def _lines(name: str, table: PublishedTable, cells: Sequence[Row], metric: str) -> dict[str, dict[int, float]]:
    """Values of a metric by size, for every method that has any, in the table's order."""
    found: dict[str, dict[int, float]] = {method.title: {} for method in table.methods.values()}
    for cell in cells:
        method, _, size = str(recipes_of(name)[cell["recipe"]].variant).rpartition("-")
        if cell.get(metric) is not None:
            found[table.methods[method].title][int(size)] = cell[metric]
    return {method: values for method, values in found.items() if values}


def _claim(cells: Sequence[Row], key: str) -> float | None:
    """A baseline's figure, of the first cell that has one."""
    return next((cell[key] for cell in cells if cell.get(key) is not None), None)
