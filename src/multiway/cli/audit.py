"""`multiway audit`: whether the split of a data set leaks."""

from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import (
    SERIES,
    Axes,
    Close,
    DataFile,
    Duplicates,
    ExchangeZone,
    Gaps,
    Label,
    Mask,
    Missing,
    Orientation,
    Patient,
    Protocol,
    ResampleTo,
    Sets,
    Size,
    Spacing,
    Task,
    Texts,
    TimeZone,
    Variates,
    Window,
)


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.command()(audit)


def audit(
    what: Annotated[str, typer.Argument(help="A task, such as forecast, or a run folder.", metavar="TASK|RUN")],
    data: DataFile = None,
    horizon: Annotated[int | None, typer.Option(help="Steps to forecast.", rich_help_panel=SERIES)] = None,
    lookback: Annotated[
        int | None, typer.Option(help="Past steps that the model sees.", rich_help_panel=SERIES)
    ] = None,
    variates: Variates = None,
    missing: Missing = None,
    duplicates: Duplicates = None,
    gaps: Gaps = None,
    label: Label = None,
    mask: Mask = None,
    patient: Patient = None,
    size: Size = None,
    spacing: Spacing = None,
    resample_to: ResampleTo = None,
    orientation: Orientation = None,
    window: Window = None,
    axes: Axes = None,
    texts: Texts = None,
    time_zone: TimeZone = None,
    exchange_zone: ExchangeZone = None,
    close: Close = None,
    protocol: Protocol = None,
    sets: Sets = None,
) -> None:
    """Say whether data and split leak, one line per check, under the settings of training; exit 1 if they do."""
    own: dict[str, Any] = {"data": data, "horizon": horizon, "lookback": lookback}
    series = {"variates": variates, "missing": missing, "duplicates": duplicates, "gaps": gaps}
    columns = {"label": label, "mask": mask, "patient": patient, "axes": axes}
    grid = {"size": size, "spacing": spacing, "resample_to": resample_to, "orientation": orientation}
    market = {"texts": texts, "time_zone": time_zone, "exchange_zone": exchange_zone, "close": close}
    reading = {**series, **columns, **grid, "window": window, **market, "protocol": protocol}
    if what in list(Task):
        given = options.belonging(what, own) | options.sections(what, reading)
    else:
        given = {name: value for name, value in {**own, **reading}.items() if value is not None}
    report = workflows.audit(what, given, options.nested(sets or []))
    show.lines(report.lines())
    if report.leaks:
        raise typer.Exit(1)
