"""`multiway audit`: whether the split of a data set leaks."""

from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import SERIES, DataFile, Sets, Task
from multiway.cli.reading import with_reading


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.command()(with_reading(audit))


def audit(
    what: Annotated[str, typer.Argument(help="A task, such as forecast, or a run folder.", metavar="TASK|RUN")],
    data: DataFile = None,
    horizon: Annotated[int | None, typer.Option(help="Steps to forecast.", rich_help_panel=SERIES)] = None,
    lookback: Annotated[
        int | None, typer.Option(help="Past steps that the model sees.", rich_help_panel=SERIES)
    ] = None,
    sets: Sets = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Say whether data and split leak, one line per check, under the settings of training; exit 1 if they do."""
    own: dict[str, Any] = {"data": data, "horizon": horizon, "lookback": lookback}
    if what in list(Task):
        given = options.belonging(what, own) | options.sections(what, reading)
    else:
        given = {name: value for name, value in {**own, **reading}.items() if value is not None}
    report = workflows.audit(what, given, options.nested(sets or []))
    show.lines(report.lines())
    if report.leaks:
        raise typer.Exit(1)
