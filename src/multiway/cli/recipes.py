"""`multiway recipes`, `published` and `reproduce`: cells of published tables, and the tables as printed."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import papers
from multiway.cli import options, show
from multiway.cli.options import Quiet, Sets
from multiway.cli.show import Output


def recipes_command(
    pattern: Annotated[
        str, typer.Argument(help="Shell pattern, such as 'hot-*-96'.", autocompletion=options.complete_recipes)
    ] = "*",
) -> Output:
    """List the recipes, each one cell of a published table, with the published figure; of one, its settings.

    Each setting of a single recipe has its source: the paper's text, its public code, or ours and why.
    """
    listed = papers.list_recipes(pattern)
    if pattern not in papers.recipe_names():
        return show.table(listed)
    settings = [each._asdict() for each in papers.recipe_settings(pattern)]
    document = {"recipe": listed[0], "settings": settings}
    return Output(lines=_recipe_lines(listed, settings), document=lambda: document)


def _recipe_lines(listed: Sequence[dict[str, Any]], settings: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield from [*show.aligned(listed), ""]
    yield from show.aligned([{name: _plain(value) for name, value in each.items()} for each in settings])
    yield from ["", "What is not listed is the library's default."]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def published_command(
    table: Annotated[
        str | None,
        typer.Argument(help="A table's name; lists them all if not given.", autocompletion=options.complete_published),
    ] = None,
) -> Output:
    """Print a published table as it stands in its paper: every method, with means over horizons."""
    if table is None:
        return show.table(papers.list_published())
    answer = papers.published(table)
    return Output(lines=_published_lines(answer), document=lambda: answer)


def _published_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    yield from [f"{answer['source']}: {answer['title']}", ""]
    yield from show.aligned(answer["rows"])
    if answer["slips"]:
        yield from ["", "Figures that other figures of the paper contradict:", *show.aligned(answer["slips"])]
    yield from ["", *answer["notes"]] if answer["notes"] else []


def reproduce_command(
    table: Annotated[
        str, typer.Argument(help="A table's name, such as hot-table-1.", autocompletion=options.complete_tables)
    ],
    rows: Annotated[
        str | None, typer.Option(help="Only these data sets, separated by commas; all if not given.")
    ] = None,
    variants: Annotated[
        str | None, typer.Option(help="Only these variants, separated by commas; all if not given.")
    ] = None,
    horizons: Annotated[
        str | None, typer.Option(help="Only these horizons, separated by commas; all if not given.")
    ] = None,
    forms: Annotated[
        str | None,
        typer.Option(
            help="Only these forms of the model (paper, per_mode, trainable), separated by commas; all if not given."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per cell.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Append one JSON line per cell to this file.", show_default="none")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(help="Keep the run folders here, and use those that are there; not kept if not given."),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option("--from", help="Read cells that --out wrote earlier, and run nothing.", show_default="none"),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Draw published and measured as one HTML page.", show_default="none")
    ] = None,
    sets: Sets = None,
    quiet: Quiet = False,
) -> Output:
    """Run the recipes of a table and print measured and published figures, then every published method with ours."""
    cells = papers.reproduce(
        table,
        rows=options.listed_names(rows),
        variants=options.listed_names(variants),
        horizons=options.listed_names(horizons),
        forms=options.listed_names(forms),
        seeds=seeds,
        out=out,
        runs=runs,
        overrides=options.nested(sets or []),
        measured=measured,
        report=report,
        progress=not quiet,
    )
    return Output(lines=_measured_lines(table, cells), document=lambda: _measured_document(table, list(cells)))


def _measured_lines(table: str, cells: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Each cell as it is done, then the published table."""
    done = []
    for cell in cells:
        done.append(cell)
        yield from show.aligned([cell])
    rows = papers.compare_published(table, done)
    yield from ["", *show.aligned(rows)] if rows else []


def _measured_document(table: str, cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    rows = papers.compare_published(table, cells)
    return {"measured": show.uniform(cells), "published": show.uniform(rows)}
