"""`python -m docs.build.pictures`: draw the published figures anew from results/, one SVG each in docs/papers.

A column per data set, a row per panel, as in print, and four columns next to one another at most. Level lines are
baselines. The rows that a picture shows stand in its metadata, by which a test holds it to results/.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from docs.build.rows import ROOT, kind_of, recipe_rows
from matplotlib.figure import Figure

from multiway.report.scales import title
from multiway.tasks.protocol import Row
from multiway.workflows.recipe import Recipe, load_recipe
from multiway_papers.cells import recipes_of
from multiway_papers.page import FigurePanel, panels
from multiway_papers.printed import load_published, published_tables
from multiway_papers.verdicts import verdicts

FOLDER = ROOT / "docs" / "papers"
COLOURS = ("#0b5fa5", "#d55e00", "#008a64")
DASHES = (":", "--")
WIDEST = 4
PAPERS = {
    "hot": ("hot-table-1", "hot-table-2", "floor", "adrenal"),
    "hot-stocks": ("hot-stocks-table-1", "hot-stocks-table-2", "hot-stocks-table-3"),
    "ndlinear": tuple(f"ndlinear-table-{number}" for number in (2, 3, 4, 5, 6)),
}
"""Tables whose rows are compared with a paper's printed figures; TGA prints none."""
VERDICT_COLOURS = {"better": "#008a64", "level": "#0b5fa5", "worse": "#d55e00"}
SMALL = {"svg.hashsalt": "multiway", "svg.fonttype": "none", "font.size": 8, "font.family": "sans-serif"}
"""Ids that are the same in every drawing, and words that stay words."""


def main() -> None:
    """Draw every figure that has measured rows, and each paper's printed figures and ours."""
    for name, found in pictures():
        draw(name, found, FOLDER / f"{name}.svg")
    for name, points in differences():
        draw_differences(points, FOLDER / f"{name}-differences.svg")


class Point(NamedTuple):
    """A measured figure's difference from the printed one and its interval, as shares of what is printed."""

    words: str
    value: float
    low: float
    high: float
    verdict: str


def differences() -> Iterator[tuple[str, list[Point]]]:
    """Names of the papers and what is compared with their printed figures, of rows that were not cut short."""
    rows = recipe_rows()
    for paper, tables in PAPERS.items():
        names = [name for table in tables for name in recipes_of(table) if name in rows]
        points = [point for name in names for point in _points(load_recipe(name), rows[name])]
        yield paper, points


def _points(recipe: Recipe, row: Row) -> Iterator[Point]:
    stated = verdicts(row, recipe)
    if kind_of(recipe, row) == "short":
        return
    for metric, printed in recipe.of_row(row).figures.items():
        parts = (f"{metric}_difference{side}" for side in ("", "_low", "_high"))
        if f"{metric}_verdict" in stated and printed:
            shares = (stated[part] / abs(printed) for part in parts)
            yield Point(f"{row['recipe']}, {metric}", *shares, stated[f"{metric}_verdict"])


def draw_differences(points: Sequence[Point], path: Path) -> None:
    """Write one picture: a line per figure, the difference from print and its interval, zero being print."""
    with mpl.rc_context(SMALL):
        figure = Figure(figsize=(6.4, 0.6 + 0.16 * len(points)), layout="constrained")
        axis = figure.subplots()
        for verdict, colour in VERDICT_COLOURS.items():
            kept = [(place, point) for place, point in enumerate(points) if point.verdict == verdict]
            sides = [[point.value - point.low for _, point in kept], [point.high - point.value for _, point in kept]]
            places, values = [place for place, _ in kept], [point.value for _, point in kept]
            axis.errorbar(values, places, xerr=sides, fmt=".", color=colour, label=verdict, linewidth=1, markersize=5)
        axis.axvline(0.0, color="#7d8793", linewidth=1)
        axis.set_yticks(range(len(points)), [point.words for point in points], fontsize=6)
        axis.set_ylim(len(points) - 0.5, -0.5)
        axis.set_xlabel("ours minus print, as a share of print, with its 95 % interval over seeds")
        axis.set_xscale("symlog", linthresh=0.1)
        axis.legend(frameon=False, loc="best")
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None, "Description": digest(points)})


def pictures() -> Iterator[tuple[str, list[FigurePanel]]]:
    """Names and panels of the figures that draw curves and have rows."""
    rows = recipe_rows()
    for name in published_tables():
        table = load_published(name)
        cells = [rows[recipe] for recipe in recipes_of(name) if recipe in rows] if table.curves else []
        if cells:
            yield name, list(panels(name, table, cells))


def draw(name: str, found: Sequence[FigurePanel], path: Path) -> None:
    """Write one figure."""
    columns = [list(group) for _, group in itertools.groupby(found, key=lambda panel: panel.row)]
    depth, width = len(columns[0]), min(len(columns), WIDEST)
    height = depth * math.ceil(len(columns) / width)
    table = load_published(name)
    with mpl.rc_context(SMALL):
        figure = Figure(figsize=(1.9 * width + 0.6, 1.7 * height + 0.5), layout="constrained")
        axes = figure.subplots(height, width, sharex=True, sharey="row", squeeze=False)
        for place, column in enumerate(columns):
            band, across = divmod(place, width)
            _draw_column(axes[band * depth : (band + 1) * depth, across], column, is_first=across == 0)
        for axis in axes.flat:
            axis.set_visible(axis.has_data())
        figure.supxlabel(table.curves.over if table.curves else "", fontsize=8)
        handles = {each.get_label(): each for axis in axes.flat for each in axis.get_lines()}
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles), frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None, "Description": digest(found)})


def _draw_column(axes: Sequence[Any], column: Sequence[FigurePanel], *, is_first: bool) -> None:
    axes[0].set_title(title(column[0].row))
    for axis, panel in zip(axes, column, strict=True):
        _draw_panel(axis, panel, words=panel.words if is_first else "")
    axes[-1].tick_params(labelbottom=True)


def _draw_panel(axis: Any, panel: FigurePanel, words: str) -> None:
    for (method, values), colour in zip(panel.lines.items(), COLOURS, strict=False):
        axis.plot(list(values), list(values.values()), ".-", color=colour, label=method, linewidth=1, markersize=4)
        halves = panel.halves.get(method, {})
        ends = [[values[size] + sign * halves[size] for size in halves] for sign in (-1, 1)]
        axis.fill_between(list(halves), *ends, color=colour, alpha=0.15, linewidth=0)
    for (rival, value), dash in zip(panel.levels.items(), DASHES, strict=False):
        axis.axhline(value, color="#7d8793", linestyle=dash, linewidth=1, label=rival)
    axis.set_xscale("log", base=2)
    sizes = sorted({size for values in panel.lines.values() for size in values})
    axis.set_xticks(sizes, [str(size) for size in sizes], fontsize=6)
    if all(isinstance(value, int) for values in panel.lines.values() for value in values.values()):
        axis.set_yscale("log")
    axis.set_ylabel(words)
    axis.grid(color="#e9ecf0", linewidth=0.6)


def digest(found: Sequence[FigurePanel | Point]) -> str:
    """SHA-256 of what a picture shows."""
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


if __name__ == "__main__":
    main()
