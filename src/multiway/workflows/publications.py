"""Published tables as rows, and lines measured here beside those that were published."""

import math
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from multiway.errors import ConfigError
from multiway.recipes import Recipe, recipes_of, table_names
from multiway.recipes.listing import filled
from multiway.recipes.published import (
    MEAN,
    Figure,
    Head,
    Horizon,
    Line,
    PublishedTable,
    Slip,
    load_published,
    published_beside,
    published_tables,
    with_mean,
)
from multiway.report import text
from multiway.tasks.protocol import OURS, Row

FACTS = ("year", "parameters", "complexity")
"""What is printed beside a method's figures."""


def list_published() -> list[Row]:
    """One row per published table or figure."""
    tables = {name: load_published(name) for name in published_tables()}
    return [
        {"table": name, "source": table.source, "methods": len(table.methods), "title": table.title}
        for name, table in tables.items()
    ]


def published(name: str) -> Row:
    """One published table: its lines as rows, its slips and its notes.

    Raises:
        ConfigError: None is called so; says where a table of recipes is.
    """
    if name in table_names() and name not in published_tables():
        raise ConfigError(_unpublished(name))
    table = load_published(name)
    return {
        "table": name,
        "title": table.title,
        "source": table.source,
        "rows": rows_of(table, table.lines()),
        "slips": [_slip_row(table, slip) for slip in table.slips],
        "notes": list(table.notes),
    }


def _unpublished(name: str) -> str:
    """What a table of recipes is that is none of a paper."""
    if any(recipe.figures for recipe in recipes_of(name).values()):
        figures = "`multiway recipes` lists its published figures"
    else:
        figures = "the paper prints no figures for it"
    return f"published: {name} is a table of recipes, and {figures}. Measure it: `multiway reproduce {name}`."


def _slip_row(table: PublishedTable, slip: Slip) -> Row:
    printed = table.figure(slip.method, slip.column, slip.metric)
    return {
        "method": table.methods[slip.method].title,
        "figure": f"{slip.column} {slip.metric}",
        "printed": printed.value if printed else None,
        "implied": slip.implied,
    }


def beside_published(name: str, cells: Sequence[Row]) -> list[Row]:
    """Rows of every published method and of ours, at the columns and horizons that were measured.

    name: Of the table of recipes.
    cells: Rows of `reproduce`.
    """
    table = published_beside(name)
    return [] if table is None else rows_of(table, lines_beside(name, table, cells))


def lines_beside(name: str, table: PublishedTable, cells: Sequence[Row]) -> list[Line]:
    """Published lines and ours, horizon by horizon; only what was measured."""
    order = [*table.horizons, MEAN, None]
    found = (line for cell in cells for line in _lines(name, table, cell))
    measured = [line for line in found if line.figures and line.horizon in order]
    ours = _with_means(_merged(measured), table.horizons)
    places = {(line.horizon, column) for line in ours for column, _ in line.figures}
    theirs = [_within(line, places) for line in _with_deviations(table)]
    return sorted([*(line for line in theirs if line.figures), *ours], key=lambda line: order.index(line.horizon))


def _with_deviations(table: PublishedTable) -> list[Line]:
    """Printed lines, with the deviations that another table has of the same figures."""
    others = load_published(table.deviations_in).lines() if table.deviations_in else []
    known = {(line.method, line.horizon, head): figure for line in others for head, figure in line.figures.items()}
    return [
        line._replace(figures={h: known.get((line.method, line.horizon, h), f) for h, f in line.figures.items()})
        for line in table.lines()
    ]


def _within(line: Line, places: set[tuple[Horizon, str]]) -> Line:
    """A line with the columns that were measured at its horizon."""
    known = {head: figure for head, figure in line.figures.items() if (line.horizon, head[0]) in places}
    return line._replace(figures=known)


def _merged(lines: Iterable[Line]) -> list[Line]:
    """One line per method and horizon, from one per cell."""
    found: dict[tuple[str, Horizon], Line] = {}
    for line in lines:
        known = found.get((line.method, line.horizon), line)
        found[line.method, line.horizon] = known._replace(figures={**known.figures, **line.figures})
    return list(found.values())


def _with_means(lines: Sequence[Line], horizons: Sequence[int]) -> list[Line]:
    methods = dict.fromkeys(line.method for line in lines)
    groups = ([line for line in lines if line.method == method] for method in methods)
    return [line for group in groups for line in with_mean(group, horizons)]


def _lines(name: str, table: PublishedTable, cell: Row) -> list[Line]:
    """A measured cell as a line, or as one per horizon where one model is scored on several."""
    recipe = recipes_of(name)[cell["recipe"]]
    if recipe.of_row(cell) is not recipe:  # some of the horizons whose mean is printed
        return []
    steps = [horizon for horizon in table.horizons if f"mse_{horizon}" in cell]
    return [_line(table, recipe, cell, horizon, f"_{horizon}") for horizon in steps] or [
        _line(table, recipe, cell, _horizon(table, recipe.horizons))
    ]


def _line(table: PublishedTable, recipe: Recipe, cell: Row, horizon: Horizon, tail: str = "") -> Line:
    """Figures of a cell; none where the published table has no column for it.

    tail: What follows the names of the metrics in the cell.
    """
    column = next((each for each in (recipe.row, recipe.data) if each and each in table.columns), "")
    apart = [recipe.variant, None if recipe.row == column else recipe.row, recipe.form]
    figures = {(column, metric): _figure(cell, metric + tail) for metric in table.columns.get(column, ())}
    return Line(
        method=", ".join([OURS, *(each for each in apart if each)]),
        horizon=horizon,
        figures={head: figure for head, figure in figures.items() if figure is not None},
        facts=_facts(table, cell),
        is_ours=True,
    )


def _figure(cell: Row, metric: str) -> Figure | None:
    value, deviation = (cell.get(name) for name in (metric, f"{metric}_sd"))
    return Figure(value, deviation if _is_number(deviation) else None) if _is_number(value) else None


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def _facts(table: PublishedTable, cell: Row) -> Row:
    """The number of parameters, where the table prints those of its methods."""
    is_printed = any(method.parameters for method in table.methods.values())
    count = cell.get("parameters")
    return {"parameters": text.magnitude(count)} if is_printed and isinstance(count, int) else {}


def _horizon(table: PublishedTable, horizons: Sequence[int]) -> Horizon:
    if not table.horizons:
        return None
    return horizons[0] if len(horizons) == 1 else MEAN


def rows_of(table: PublishedTable, lines: Sequence[Line]) -> list[Row]:
    """Lines as rows with the same columns; a column that no line fills is left out."""
    return filled([_row(line, table.heads) for line in lines])


def _row(line: Line, heads: Iterable[Head]) -> Row:
    row: Row = {"method": line.method, **{fact: line.facts.get(fact) for fact in FACTS}, "horizon": line.horizon}
    for head in heads:
        value, deviation = line.figures.get(head, (None, None))
        row |= {" ".join(head): value, f"{' '.join(head)} sd": deviation}
    return row
