"""`multiway recipes` and `multiway reproduce`: cells of published tables."""

from pathlib import Path
from typing import Annotated

import typer

from multiway import workflows
from multiway.cli import commands, completion, options, show
from multiway.cli.options import Quiet, Sets
from multiway.cli.show import Answer


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    commands.add(app, recipes)
    commands.add(app, reproduce)


def recipes(
    pattern: Annotated[
        str, typer.Argument(help="Shell pattern, such as 'hot-*-96'.", autocompletion=completion.recipes)
    ] = "*",
) -> Answer:
    """List the recipes, each one cell of a published table, with the published figure."""
    return show.table(workflows.list_recipes(pattern))


def reproduce(
    table: Annotated[
        str, typer.Argument(help="A table's name, such as hot-table-1.", autocompletion=completion.tables)
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
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per cell.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Append one JSON line per cell to this file.", show_default="none")
    ] = None,
    runs: Annotated[Path | None, typer.Option(help="Keep the run folders here; not kept if not given.")] = None,
    sets: Sets = None,
    quiet: Quiet = False,
) -> Answer:
    """Run the recipes of a table and print published beside measured."""
    cells = workflows.reproduce(
        table,
        rows=options.names(rows),
        variants=options.names(variants),
        horizons=options.names(horizons),
        seeds=seeds,
        out=out,
        runs=runs,
        overrides=options.nested(sets or []),
        progress=not quiet,
    )
    return Answer(
        lines=(line for cell in cells for line in show.aligned([cell])), document=lambda: show.uniform(list(cells))
    )
