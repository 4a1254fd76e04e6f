"""`multiway audit`: whether the split of a data set leaks."""

from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import DataFile, Sets


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.command()(options.with_task_options(audit, "audit", workflows.TASKS))


def audit(
    what: Annotated[str, typer.Argument(help="A task, such as forecast, or a run folder.", metavar="TASK|RUN")],
    data: DataFile = None,
    sets: Sets = None,
    *,
    own: dict[str, Any],
) -> None:
    """Say whether data and split leak, one line per check, under the settings of training; exit 1 if they do."""
    given = options.settings("audit", what, own) if what in workflows.TASKS else dict(own)
    report = workflows.audit(what, given | ({} if data is None else {"data": data}), options.nested(sets or []))
    show.lines(report.lines())
    if report.leaks:
        raise typer.Exit(1)
