"""Recipes, published tables, and cells measured here and those that were published: all as rows of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeGuard

from multiway.errors import ConfigError, closest
from multiway.workflows.recipe import Recipe, load_recipe
from multiway_papers.cells import OPEN, RANKS, recipe_names, recipes_of, table_names
from multiway_papers.printed import (
    MEAN,
    Figure,
    Head,
    Horizon,
    Line,
    PublishedTable,
    Slip,
    load_published,
    published_for,
    published_tables,
    with_mean,
)

if TYPE_CHECKING:
    from multiway.tasks.protocol import Row

FACTS = ("year", "parameters", "complexity")
"""What is printed with a method's figures."""


def list_recipes(pattern: str = "*") -> list[Row]:
    """One row per recipe: its cell and the published figures; a column that no recipe fills is left out.

    Raises:
        ConfigError: None fits the pattern.
    """
    recipes = {name: load_recipe(name) for name in recipe_names(pattern)}
    if not recipes:
        wider = f"*{pattern}*"
        near = f"; did you mean '{wider}'?" if recipe_names(wider) else closest(pattern.strip("*"), recipe_names())
        raise ConfigError(f"recipes: nothing fits {pattern}{near} `multiway recipes` lists them all.")
    metrics = list(dict.fromkeys(metric for recipe in recipes.values() for metric in recipe.figures))
    return filled([_recipe_row(name, recipe, metrics) for name, recipe in recipes.items()])


def _recipe_row(name: str, recipe: Recipe, metrics: Sequence[str]) -> Row:
    return {
        "recipe": name,
        "table": recipe.table,
        "row": recipe.row,
        "variant": recipe.variant,
        "form": recipe.form,
        "horizons": ",".join(map(str, recipe.horizons)) or None,
        **{metric: recipe.figures.get(metric) for metric in metrics},
        "source": recipe.published.source if recipe.published else "",
    }


def filled(rows: Sequence[Row]) -> list[Row]:
    """Rows without the columns that are None in all of them."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    return [{name: row[name] for name in names} for row in rows]


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
        "rows": published_rows(table, table.lines()),
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


def published_rows(table: PublishedTable, lines: Sequence[Line]) -> list[Row]:
    """Lines as rows with the same columns; a column that no line fills is left out."""
    return filled([_row(line, table.heads) for line in lines])


def _row(line: Line, heads: Iterable[Head]) -> Row:
    row: Row = {"method": line.method, **{fact: line.facts.get(fact) for fact in FACTS}, "horizon": line.horizon}
    for head in heads:
        value, deviation = line.figures.get(head, (None, None))
        row |= {" ".join(head): value, f"{' '.join(head)} sd": deviation}
    return row


def compare_published(name: str, cells: Sequence[Row]) -> list[Row]:
    """Rows of every published method and of ours, at the columns and horizons that were measured.

    name: Of the table of recipes.
    cells: Rows of `reproduce`.
    """
    if name in OPEN:
        from multiway_papers.open_benchmarks import compare_open_benchmark  # which imports torch

        return compare_open_benchmark(name, cells)
    table = None if name == RANKS else published_for(name)
    return [] if table is None else published_rows(table, compared_lines(name, table, cells))


def compared_lines(name: str, table: PublishedTable, cells: Sequence[Row]) -> list[Line]:
    """Published lines and ours, horizon by horizon; only what was measured."""
    order = [*table.horizons, MEAN, None]
    lines = (line for cell in cells for line in _lines(name, table, cell))
    ours = _merged((line for line in lines if line.figures and line.horizon in order), table.horizons)
    measured = {(line.horizon, column) for line in ours for column, _ in line.figures}
    theirs = [_only(line, measured) for line in _with_deviations(table)]
    return sorted([*(line for line in theirs if line.figures), *ours], key=lambda line: order.index(line.horizon))


def _with_deviations(table: PublishedTable) -> list[Line]:
    """Printed lines, with the deviations that another table has of the same figures."""
    others = load_published(table.deviations_in).lines() if table.deviations_in else []
    known = {(line.method, line.horizon, head): figure for line in others for head, figure in line.figures.items()}
    return [
        line._replace(figures={h: known.get((line.method, line.horizon, h), f) for h, f in line.figures.items()})
        for line in table.lines()
    ]


def _only(line: Line, measured: set[tuple[Horizon, str]]) -> Line:
    """A line with the columns that were measured at its horizon."""
    figures = {head: figure for head, figure in line.figures.items() if (line.horizon, head[0]) in measured}
    return line._replace(figures=figures)


def _merged(lines: Iterable[Line], horizons: Sequence[int]) -> list[Line]:
    """One line per method and horizon, from one per cell, and the means over all horizons."""
    methods: dict[str, dict[Horizon, Line]] = {}
    for line in lines:
        known = methods.setdefault(line.method, {})
        figures = {**known[line.horizon].figures, **line.figures} if line.horizon in known else line.figures
        known[line.horizon] = known.get(line.horizon, line)._replace(figures=figures)
    return [line for known in methods.values() for line in with_mean(list(known.values()), horizons)]


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
    from multiway.tasks.protocol import OURS  # which imports torch; a list of recipes does without

    column = table.column_of(recipe.row, recipe.data) or ""
    apart = [recipe.variant, None if recipe.row == column else recipe.row, recipe.form]
    metrics = [metric for metric in table.columns.get(column, ()) if metric not in table.incomparable]
    figures = {(column, metric): _figure(cell, metric + tail) for metric in metrics}
    return Line(
        method=", ".join([OURS, *filter(None, apart)]),
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
    from multiway.report import text

    is_printed = any(method.parameters for method in table.methods.values())
    count = cell.get("parameters")
    return {"parameters": text.magnitude(count)} if is_printed and isinstance(count, int) else {}


def _horizon(table: PublishedTable, horizons: Sequence[int]) -> Horizon:
    if not table.horizons:
        return None
    return horizons[0] if len(horizons) == 1 else MEAN
