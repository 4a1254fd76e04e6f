"""`multiway recipes` and `multiway reproduce`: cells of published tables."""

from pathlib import Path
from typing import Annotated

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import Sets


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command()(recipes)
    app.command()(reproduce)


def recipes(pattern: Annotated[str, typer.Argument(help="Shell pattern, such as 'hot-*-96'.")] = "*") -> None:
    """List the recipes, each one cell of a published table, with the published figure."""
    show.table(workflows.list_recipes(pattern))


def reproduce(
    table: Annotated[str, typer.Argument(help="A table's name, such as hot-table-1.")],
    rows: Annotated[str | None, typer.Option(help="Only these data sets, separated by commas.")] = None,
    variants: Annotated[str | None, typer.Option(help="Only these variants, separated by commas.")] = None,
    horizons: Annotated[str | None, typer.Option(help="Only these horizons, separated by commas.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per cell.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Append one JSON line per cell to this file.")] = None,
    runs: Annotated[Path | None, typer.Option(help="Keep the run folders here.")] = None,
    sets: Sets = None,
) -> None:
    """Run the recipes of a table and print published beside measured."""
    for row in workflows.reproduce(
        table,
        rows=options.names(rows),
        variants=options.names(variants),
        horizons=options.names(horizons),
        seeds=seeds,
        out=out,
        runs=runs,
        overrides=options.nested(sets or []),
        progress=True,
    ):
        show.table([row])
