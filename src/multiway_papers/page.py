"""One page with every published method and what was measured here, and published figures drawn anew."""

import datetime
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from multiway.report import Page, PagePart, render, text
from multiway.report.scales import title
from multiway.report.scores import half_width
from multiway.report.sections import Section, Table, TableCell, Text
from multiway.tasks.protocol import Row
from multiway.workflows.recipe import Recipe
from multiway_papers.cells import recipes_of
from multiway_papers.charts import Sizes, cost_bars, cost_chart, size_chart
from multiway_papers.printed import HIGHER_IS_BETTER, MEAN, Figure, Head, Line, PublishedTable, published_for
from multiway_papers.rows import FACTS, compared_lines, filled
from multiway_papers.verdicts import seed_values

SIDE = (
    "Lines in bold were measured here; ± is the standard deviation over seeds.",
    "The best of a column is marked, to the digits that the paper prints.",
)


def page_of(name: str, cells: Sequence[Row]) -> str:
    """One self-contained HTML page.

    name: Of the table of recipes.
    cells: Rows of `reproduce`.
    """
    table = published_for(name)
    lines = [] if table is None else compared_lines(name, table, cells)
    return render(
        Page(
            title=name,
            kicker="Published and measured",
            source=table.source if table else "",
            created=datetime.datetime.fromtimestamp(time.time(), datetime.UTC).isoformat(timespec="seconds"),
            parts=[
                PagePart(
                    id="published",
                    title="Published",
                    content=[_section(table, group) for group in _by_horizon(lines)],
                    side=SIDE,
                    lead=_verdict(table, lines) if lines else "",
                )
                if table
                else None,
                *((*curve_parts(name, table, cells), *cost_parts(name, table, cells)) if table else ()),
                PagePart(id="measured", title="Measured", content=[_measured(cells)]),
                _notes(name, table, cells),
            ],
        )
    )


def _verdict(table: PublishedTable, lines: Sequence[Line]) -> str:
    """How often we are the best, and how often as good as the paper's own method."""
    printed = [line for line in lines if line.horizon != MEAN]
    sentence = "Ours is the best or equal in {} of {} columns".format(*_won(table, printed))
    if table.own is None:
        return f"{sentence}."
    own = table.methods[table.own].title
    won, columns = _won(table, [line for line in printed if line.is_ours or line.method == own])
    return f"{sentence}, and as good as {own} or better in {won} of {columns}."


def _won(table: PublishedTable, lines: Sequence[Line]) -> tuple[int, int]:
    """Columns, horizon by horizon, in which one of ours is marked, and all of them."""
    heads = [head for head in table.heads if head[1] in HIGHER_IS_BETTER]
    groups = _by_horizon(lines)
    marked = [_marked_ours(group, head, table.decimals(head)) for group in groups for head in heads]
    known = [mark for mark in marked if mark is not None]
    return sum(known), len(known)


def _marked_ours(lines: Sequence[Line], head: Head, decimals: int) -> bool | None:
    """Whether one of ours is marked; None where there is none to mark."""
    ours = [
        cell
        for line, cell in zip(lines, _column(lines, head, decimals), strict=True)
        if line.is_ours and head in line.figures
    ]
    return any(cell.is_best for cell in ours) if ours else None


def _by_horizon(lines: Sequence[Line]) -> list[list[Line]]:
    return [list(group) for _, group in itertools.groupby(lines, key=lambda line: line.horizon)]


def _section(table: PublishedTable, lines: Sequence[Line]) -> Table:
    """Every method at one horizon."""
    heads = [head for head in table.heads if any(head in line.figures for line in lines)]
    facts = [fact for fact in FACTS if any(line.facts.get(fact) for line in lines)]
    facts_of = [[str(line.facts.get(fact) or "") for line in lines] for fact in facts]
    columns = [_column(lines, head, table.decimals(head)) for head in heads]
    horizon = lines[0].horizon
    return Table(
        columns=["Method", *(fact.capitalize() for fact in facts), *(metric.upper() for _, metric in heads)],
        rows=[list(row) for row in zip([line.method for line in lines], *facts_of, *columns, strict=True)],
        title="" if horizon is None else "Mean over the horizons" if horizon == MEAN else f"Horizon {horizon}",
        groups=[("", 1 + len(facts)), *_groups(heads)],
        strong=[row for row, line in enumerate(lines) if line.is_ours],
        style="numbers scores",
    )


def _groups(heads: Sequence[Head]) -> list[tuple[str, int]]:
    return [(title(column), len(list(group))) for column, group in itertools.groupby(heads, key=lambda head: head[0])]


def _column(lines: Sequence[Line], head: Head, decimals: int) -> list[TableCell]:
    """Figures of one metric, the best marked."""
    higher = HIGHER_IS_BETTER.get(head[1])
    values = [line.figures[head].value for line in lines if head in line.figures]
    has_best = higher is not None and len(values) > 1
    best = text.number((max if higher else min)(values), decimals) if has_best else ""
    return [_cell(line.figures.get(head), decimals, best) for line in lines]


def _cell(figure: Figure | None, decimals: int, best: str) -> TableCell:
    if figure is None:
        return TableCell(text.MISSING)
    words = text.number(figure.value, decimals)
    small = "" if figure.deviation is None else f"±\u202f{text.number(figure.deviation, decimals)}"
    return TableCell(words, small, is_best=words == best)


def _measured(cells: Sequence[Row]) -> Table:
    """All that was measured, baselines among it."""
    names = list(dict.fromkeys(name for cell in cells for name in cell))
    rows = filled([{name: cell.get(name) for name in names} for cell in cells])
    return Table(
        columns=[title(name) for name in rows[0]], rows=[[_shown(value) for value in row.values()] for row in rows]
    )


def _shown(value: object) -> str:
    return text.number(value, 4) if isinstance(value, float | None) else str(value)


def _notes(name: str, table: PublishedTable | None, cells: Sequence[Row]) -> PagePart:
    """What has to be known of the published figures, and of our cells."""
    recipes = recipes_of(name)
    unlike = [f"{metric}: {reason}" for metric, reason in table.incomparable.items()] if table else []
    notes = [*(table.notes if table else ()), *unlike, *(recipes[cell["recipe"]].note for cell in cells)]
    words = [note for note in dict.fromkeys(notes) if note]
    titles = {name: method.title for name, method in table.methods.items()} if table else {}
    slips = (
        f"{titles[slip.method]}, {slip.column} {slip.metric}: its other figures give {slip.implied:g}."
        for slip in (table.slips if table else ())
    )
    content = [Text(words=word, style="support") for word in (*words, *slips)]
    return PagePart(id="notes", title="Notes", content=content)


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
            seeds = [(recipe, seed_values(cell, metric)) for recipe, cell in known]
            halves = _curves(table, [(recipe, half_width(values)) for recipe, values in seeds if len(values) > 1])
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
    """Memory of all cells, and times of those of each device: seconds of one say nothing of another."""
    named = {", ".join(filter(None, (recipe.variant, recipe.form))) or recipe.row: cell for recipe, cell in cells}
    memory = {words: cell["step_bytes"] for words, cell in named.items()}
    yield cost_bars("Memory of a training step", memory, lambda value: text.magnitude(value, "B"))
    devices = list(dict.fromkeys(cell.get("device") for cell in named.values()))
    for device in devices:
        where = f" on {device or 'an unnamed device'}" if len(devices) > 1 else ""
        yield from _times(table, {words: cell for words, cell in named.items() if cell.get("device") == device}, where)


def _times(table: PublishedTable, named: dict[str, Row], where: str) -> Iterator[Section]:
    seconds = {words: cell["seconds"] / cell["seeds"] for words, cell in named.items()}
    memory = {words: cell["step_bytes"] for words, cell in named.items()}
    yield cost_bars(f"Time of a seed{where}", seconds, text.duration)
    for metric, heading in table.costs.items():
        scores = {words: cell[metric] for words, cell in named.items() if cell.get(metric) is not None}
        if scores:
            yield cost_chart(f"{heading}{where}", scores, seconds, memory)
