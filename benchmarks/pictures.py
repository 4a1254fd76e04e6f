"""`python -m benchmarks.pictures`: draw the published figures anew from results/, one SVG each in docs/papers.

A column per data set, a row per panel, as in print, and four columns beside one another at most. Level lines are
baselines. The rows that a picture shows stand in its metadata, by which a test holds it to results/.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.results_page import ROOT, recipe_rows
from multiway.papers.cells import recipes_of
from multiway.papers.figures import FigurePanel, panels
from multiway.papers.printed import load_published, published_tables
from multiway.report.scales import title

FOLDER = ROOT / "docs" / "papers"
COLOURS = ("#0b5fa5", "#d55e00", "#008a64")
DASHES = (":", "--")
WIDEST = 4
SMALL = {"svg.hashsalt": "multiway", "svg.fonttype": "none", "font.size": 8, "font.family": "sans-serif"}
"""Ids that are the same in every drawing, and words that stay words."""


def main() -> None:
    """Draw every figure that has measured rows."""
    for name, found in pictures():
        draw(name, found, FOLDER / f"{name}.svg")


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
    for (rival, value), dash in zip(panel.levels.items(), DASHES, strict=False):
        axis.axhline(value, color="#7d8793", linestyle=dash, linewidth=1, label=rival)
    axis.set_xscale("log", base=2)
    sizes = sorted({size for values in panel.lines.values() for size in values})
    axis.set_xticks(sizes, [str(size) for size in sizes], fontsize=6)
    if all(isinstance(value, int) for values in panel.lines.values() for value in values.values()):
        axis.set_yscale("log")
    axis.set_ylabel(words)
    axis.grid(color="#e9ecf0", linewidth=0.6)


def digest(found: Sequence[FigurePanel]) -> str:
    """SHA-256 of what a picture shows."""
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


if __name__ == "__main__":
    main()
