"""`multiway check` and `multiway data`: look at a file, fetch a data set."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import Sets
from multiway.workflows import TASKS

Task = options.one_of("task", TASKS)
datasets = typer.Typer(help="Known data sets: where they are, and fetching them.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command()(options.with_task_options(check, "check", TASKS))
    app.add_typer(datasets, name="data")


def check(
    file: Annotated[str, typer.Argument(help="A file, a folder of files, or a known data set's name.")],
    task: Annotated[
        Task | None, typer.Option(help="What the data are for; seen from the data if not given.")  # type: ignore[valid-type]  # made of the registry's names
    ] = None,
    sets: Sets = None,
    *,
    own: dict[str, Any],
) -> None:
    """Say what is in a file, what is wrong with it, and how to fix each; exit 1 if it cannot be used so."""
    name = str(task or workflows.task_of_data(file))
    given = options.settings("check", name, own)
    report = workflows.check(file, given, task=name, overrides=_of_reading(name, sets or []))
    show.lines(report.lines())
    if not report.is_usable:
        raise typer.Exit(1)


def _of_reading(task: str, sets: list[str]) -> dict[str, Any]:
    """What `--set` says of reading; it wins over the named options, as it does in `train`."""
    given, allowed = options.nested(sets), workflows.sections_of_reading(task)
    if any(name not in allowed or not isinstance(fields, dict) for name, fields in given.items()):
        raise typer.BadParameter(
            f"a check takes fields of {' and '.join(allowed)} only: --set {allowed[0]}.FIELD=VALUE", param_hint="--set"
        )
    return given


@datasets.command("list")
def list_datasets() -> None:
    """Name the known data sets and where each lies on this machine."""
    show.table(workflows.list_datasets())


@datasets.command("fetch")
def fetch_dataset(name: Annotated[str, typer.Argument(help="A name from `multiway data list`.")]) -> None:
    """Download a data set from its official address, check its hash, and print its path."""
    show.lines([str(workflows.fetch_dataset(name))])


class Made(StrEnum):
    """What `data make` can make."""

    lesions = "lesions"


@datasets.command("make")
def make_dataset(
    name: Annotated[Made, typer.Argument(help="Lesions: a set to segment, of real volumes with lesions painted in.")],
    source: Annotated[str, typer.Option("--from", help="An npz of volumes, a table, or a known data set's name.")],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    sets: Annotated[list[str] | None, typer.Option("--set", help="Override one field: --set seed=1.")] = None,
) -> None:
    """Make a data set from another, the same one every time, and print the path of its table."""
    show.lines([str(workflows.make_lesions(source, out, options.nested(sets or [])))])


@datasets.command("encode")
def encode_dataset(
    data: Annotated[str, typer.Argument(help="Prices with texts beside them, or a known data set's name.")],
    texts: Annotated[str | None, typer.Option(help="Texts of each ticker: a file or folder.")] = None,
    encoder: Annotated[
        str | None, typer.Option(help="Turns texts into vectors: auto, minilm, finbert, hashed, a folder.")
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="Override one field: --set text.max_tokens=64.")
    ] = None,
) -> None:
    """Turn texts into vectors and keep them, so that training finds them; go on where it was stopped."""
    given = {"read": {"texts": texts} if texts else {}, "text": {"encoder": encoder} if encoder else {}}
    show.lines(workflows.encode(data, given, overrides=options.nested(sets or []), progress=True).lines())
