"""`multiway check` and `multiway data`: look at a file, fetch a data set."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import commands, completion, declared, options, show
from multiway.cli.options import Quiet, Sets
from multiway.cli.show import Answer

Task = options.one_of("task", declared.tasks())


class Made(StrEnum):
    """What `data make` can make."""

    lesions = "lesions"


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    commands.add(app, check, tasks=declared.tasks())
    known = typer.Typer(help="Known data sets: where they are, and fetching them.", no_args_is_help=True)
    commands.add(known, list_datasets, "list")
    commands.add(known, fetch_dataset, "fetch")
    commands.add(known, make_dataset, "make")
    commands.add(known, encode_dataset, "encode")
    app.add_typer(known, name="data")


def check(
    file: Annotated[
        str,
        typer.Argument(
            help="A file, a folder of files, or a known data set's name.", autocompletion=completion.data_sets
        ),
    ],
    task: Annotated[
        Task | None, typer.Option(help="What the data are for; seen from the data if not given.")  # type: ignore[valid-type]  # made of the registry's names
    ] = None,
    sets: Sets = None,
    *,
    own: dict[str, Any],
) -> Answer:
    """Say what is in a file, what is wrong with it, and how to fix each; exit 1 if it cannot be used so."""
    name = str(task or workflows.task_of_data(file))
    given = options.settings("check", name, own)
    report = workflows.check(file, given, task=name, overrides=_of_reading(name, sets or []))
    return Answer(
        lines=report.lines(),
        document=lambda: {"usable": report.is_usable, **report.to_dict()},
        is_bad=not report.is_usable,
    )


def _of_reading(task: str, sets: list[str]) -> dict[str, Any]:
    """What `--set` says of reading; it wins over the named options, as it does in `train`."""
    given, allowed = options.nested(sets), workflows.sections_of_reading(task)
    if any(name not in allowed or not isinstance(fields, dict) for name, fields in given.items()):
        raise typer.BadParameter(
            f"a check takes fields of {' and '.join(allowed)} only: --set {allowed[0]}.FIELD=VALUE", param_hint="--set"
        )
    return given


def list_datasets() -> Answer:
    """Name the known data sets and where each lies on this machine."""
    return show.table(workflows.list_datasets())


def fetch_dataset(
    name: Annotated[str, typer.Argument(help="A name from `multiway data list`.", autocompletion=completion.data_sets)],
) -> Answer:
    """Download a data set from its official address, check its hash, and print its path."""
    return show.place(workflows.fetch_dataset(name))


def make_dataset(
    name: Annotated[Made, typer.Argument(help="Lesions: a set to segment, of real volumes with lesions painted in.")],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="An npz of volumes, a table, or a known data set's name.",
            autocompletion=completion.data_sets,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    sets: Sets = None,
) -> Answer:
    """Make a data set from another, the same one every time, and print the path of its table."""
    return show.place(workflows.make_lesions(source, out, options.nested(sets or [])))


def encode_dataset(
    data: Annotated[
        str,
        typer.Argument(
            help="Prices with texts beside them, or a known data set's name.", autocompletion=completion.data_sets
        ),
    ],
    texts: Annotated[
        str | None, typer.Option(help="Texts of each ticker: a file or folder; those beside the prices if not given.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="Turns texts into vectors: auto, minilm, finbert, hashed, a folder.", show_default="auto"),
    ] = None,
    sets: Sets = None,
    quiet: Quiet = False,
) -> Answer:
    """Turn texts into vectors and keep them, so that training finds them; go on where it was stopped."""
    given = {"read": {"texts": texts} if texts else {}, "text": {"encoder": encoder} if encoder else {}}
    done = workflows.encode(data, given, overrides=options.nested(sets or []), progress=not quiet)
    return Answer(lines=done.lines(), document=done.to_dict)
