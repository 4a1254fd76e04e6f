"""`multiway check` and `multiway data`: look at a file, fetch a data set."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import Encoder, Sets, Task, Texts
from multiway.cli.reading import with_reading

datasets = typer.Typer(help="Known data sets: where they are, and fetching them.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command()(with_reading(check))
    app.add_typer(datasets, name="data")


def check(
    file: Annotated[
        Path, typer.Argument(help="Series or prices: a file; scans: a table, an npz, a volume; a folder of either.")
    ],
    task: Annotated[Task | None, typer.Option(help="What the data are for; seen from the data if not given.")] = None,
    sets: Sets = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Say what is in a file, what is wrong with it, and how to fix each; exit 1 if it cannot be used so."""
    name = task.value if task else workflows.task_of_data(file)
    given = options.sections(name, reading)
    report = workflows.check(file, given, task=name, overrides=_sections(name, sets or []))
    show.lines(report.lines())
    if not report.is_usable:
        raise typer.Exit(1)


SECTIONS = {
    "forecast": ("read",),
    "volumes": ("read", "split"),
    "segment": ("read", "split"),
    "stocks": ("read", "protocol"),
}
EXAMPLES = {"forecast": "read.decimal=,", "stocks": "read.stamp=created_at"}


def _sections(task: str, sets: list[str]) -> dict[str, Any]:
    """What `--set` says of reading; it wins over the named options, as it does in `train`."""
    given, allowed = options.nested(sets), SECTIONS[task]
    if any(name not in allowed or not isinstance(fields, dict) for name, fields in given.items()):
        raise typer.BadParameter(
            f"a check takes fields of {' and '.join(allowed)} only: --set "
            f"{EXAMPLES.get(task, 'read.window=[-100,300]')}",
            param_hint="--set",
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
    texts: Texts = None,
    encoder: Encoder = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="Override one field: --set text.max_tokens=64.")
    ] = None,
) -> None:
    """Turn texts into vectors and keep them, so that training finds them; go on where it was stopped."""
    given = {"read": {"texts": texts} if texts else {}, "text": {"encoder": encoder} if encoder else {}}
    show.lines(workflows.encode(data, given, overrides=options.nested(sets or [])).lines())
