"""`multiway check`, `multiway audit` and `multiway data`: look at a file, at its split, and at known data sets."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import completion, declared, options, show
from multiway.cli.options import Quiet, Sets
from multiway.cli.show import Output
from multiway.cli.spelling import command_line

Task = declared.one_of("task", declared.TASKS)


class Made(StrEnum):
    """What `data make` can make."""

    lesions = "lesions"


def check_command(
    file: Annotated[
        str,
        typer.Argument(
            help="A file, a folder of files, or a known data set's name.", autocompletion=completion.complete_data_sets
        ),
    ],
    task: Annotated[
        Task | None, typer.Option(help="What the data are for; seen from the data if not given.")  # type: ignore[valid-type]  # made of the registry's names
    ] = None,
    sets: Sets = None,
    *,
    own: dict[str, Any],
) -> Output:
    """Say what is in a file, what is wrong with it, and how to fix each; exit 1 if it cannot be used so."""
    name = str(task or workflows.task_of_data(file))
    given = options.settings("check", name, own)
    report = workflows.check(file, given, task=name, overrides=_of_reading(name, sets or []))
    return Output(
        lines=report.lines(spell := command_line(name)),
        document=lambda: {"usable": report.is_usable, **report.to_dict(spell)},
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


def list_command() -> Output:
    """Name the known data sets and where each lies on this machine."""
    return show.table(workflows.list_datasets())


def fetch_command(
    name: Annotated[
        str, typer.Argument(help="A name from `multiway data list`.", autocompletion=completion.complete_data_sets)
    ],
) -> Output:
    """Download a data set from its official address, check its hash, and print its path."""
    return show.location(workflows.fetch_dataset(name))


def make_command(
    name: Annotated[Made, typer.Argument(help="Lesions: a set to segment, of real volumes with lesions painted in.")],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="An npz of volumes, a table, or a known data set's name.",
            autocompletion=completion.complete_data_sets,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    sets: Sets = None,
) -> Output:
    """Make a data set from another, the same one every time, and print the path of its table."""
    return show.location(workflows.make_lesions(source, out, options.nested(sets or [])))


def encode_command(
    data: Annotated[
        str,
        typer.Argument(
            help="Prices with texts beside them, or a known data set's name.",
            autocompletion=completion.complete_data_sets,
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
) -> Output:
    """Turn texts into vectors and keep them, so that training finds them; go on where it was stopped."""
    given = {"read": {"texts": texts} if texts else {}, "text": {"encoder": encoder} if encoder else {}}
    done = workflows.encode(data, given, overrides=options.nested(sets or []), progress=not quiet)
    return Output(lines=done.lines(), document=done.to_dict)


AuditedData = Annotated[
    str | None,
    typer.Option(
        help="A file, a folder, or a known data set's name; the run's own if not given.",
        autocompletion=completion.complete_data_sets,
    ),
]


def audit_command(
    what: Annotated[
        str,
        typer.Argument(
            help="A task, such as forecast, or a run folder.",
            metavar="TASK|RUN",
            autocompletion=completion.complete_tasks,
        ),
    ],
    data: AuditedData = None,
    sets: Sets = None,
    *,
    own: dict[str, Any],
) -> Output:
    """Say whether data and split leak, one line per check, under the settings of training; exit 1 if they do."""
    given = options.settings("audit", what, own) if what in declared.TASKS else dict(own)
    report = workflows.audit(what, given | ({} if data is None else {"data": data}), options.nested(sets or []))
    return Output(
        lines=report.lines(command_line(what if what in declared.TASKS else None)),
        document=report.to_dict,
        is_bad=report.leaks,
    )
