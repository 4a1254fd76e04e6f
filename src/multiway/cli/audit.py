"""`multiway audit`: whether the split of a data set leaks."""

from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import commands, completion, declared, options
from multiway.cli.options import Sets
from multiway.cli.show import Answer

Data = Annotated[
    str | None,
    typer.Option(
        help="A file, a folder, or a known data set's name; the run's own if not given.",
        autocompletion=completion.data_sets,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    commands.add(app, audit, tasks=declared.tasks())


def audit(
    what: Annotated[
        str,
        typer.Argument(
            help="A task, such as forecast, or a run folder.", metavar="TASK|RUN", autocompletion=completion.tasks
        ),
    ],
    data: Data = None,
    sets: Sets = None,
    *,
    own: dict[str, Any],
) -> Answer:
    """Say whether data and split leak, one line per check, under the settings of training; exit 1 if they do."""
    given = options.settings("audit", what, own) if what in declared.tasks() else dict(own)
    report = workflows.audit(what, given | ({} if data is None else {"data": data}), options.nested(sets or []))
    return Answer(lines=report.lines(), document=report.to_dict, is_bad=report.leaks)
