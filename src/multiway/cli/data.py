"""`multiway check` and `multiway data`: look at a file, fetch a data set."""

from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import show
from multiway.cli.options import Duplicates, Gaps, Missing, Sets, Variates, nested, reading

datasets = typer.Typer(help="Known data sets: where they are, and fetching them.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command()(check)
    app.add_typer(datasets, name="data")


def check(
    file: Annotated[Path, typer.Argument(help="A CSV, CSV.gz or Parquet file of series.")],
    variates: Variates = None,
    missing: Missing = None,
    duplicates: Duplicates = None,
    gaps: Gaps = None,
    sets: Sets = None,
) -> None:
    """Say what is in a file, what is wrong with it, and how to mend each; exit 1 if it cannot be used so."""
    read = reading(variates, missing, duplicates, gaps) | _read_fields(sets or [])
    report = workflows.check(file, {"read": read})
    show.lines(report.lines())
    if not report.is_usable:
        raise typer.Exit(1)


def _read_fields(sets: list[str]) -> dict[str, Any]:
    """What `--set` says of reading; it wins over the named options, as it does in `train`."""
    given = nested(sets)
    read = given.pop("read", {})
    if given or not isinstance(read, dict):
        raise typer.BadParameter("a check takes fields of read only: --set read.decimal=,", param_hint="--set")
    return read


@datasets.command("list")
def list_datasets() -> None:
    """Name the known data sets and where each lies on this machine."""
    show.table(workflows.list_datasets())


@datasets.command("fetch")
def fetch_dataset(name: Annotated[str, typer.Argument(help="A name from `multiway data list`.")]) -> None:
    """Download a data set from its official address, check its hash, and print its path."""
    show.lines([str(workflows.fetch_dataset(name))])
