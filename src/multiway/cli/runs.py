"""Commands on runs: train, evaluate, predict, backtest, explain, report, compare."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import (
    SCANS,
    SERIES,
    STOCKS,
    DataFile,
    Encoder,
    Levels,
    Out,
    RunFolder,
    Seen,
    Sets,
    Task,
    Texts,
)
from multiway.cli.reading import with_reading


class Layout(StrEnum):
    """Shape of a table of forecasts."""

    long = "long"
    wide = "wide"


class Split(StrEnum):
    """Rows that `evaluate` can score."""

    validation = "validation"
    test = "test"


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command()(with_reading(train))
    for command in (evaluate, predict, backtest, explain, report, compare):
        app.command()(command)


def train(
    task: Annotated[Task | None, typer.Argument(help="The task; a recipe names its own.")] = None,
    data: DataFile = None,
    out: Annotated[Path | None, typer.Option(help="Folder to make for the run.")] = None,
    horizon: Annotated[int | None, typer.Option(help="Steps to forecast.", rich_help_panel=SERIES)] = None,
    lookback: Annotated[
        int | None, typer.Option(help="Past steps that the model sees.", rich_help_panel=SERIES)
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="Name from `multiway recipes`, or a YAML file.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue this interrupted run.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs that differ only in their seed.")] = 1,
    encoder: Encoder = None,
    modality: Seen = None,
    sets: Sets = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Train on a file or a recipe, score on its test rows beside the baselines, and leave a run folder."""
    if resume is not None:
        finished = workflows.resume(resume)
    else:
        name = _task_name(task, recipe)
        given = options.belonging(name, {"data": data, "horizon": horizon, "lookback": lookback})
        chosen = options.sections(name, {**reading, "encoder": encoder, "modality": modality})
        finished = workflows.train(
            given | chosen,
            task=name,
            recipe=recipe,
            overrides=options.nested(sets or []),
            out=out,
            seeds=seeds,
        )
    show.lines(finished.lines())
    show.table(finished.table())


def _task_name(task: Task | None, recipe: str | None) -> str:
    if task is not None:
        return task.value
    if recipe is None:
        raise typer.BadParameter("name a task (`multiway train forecast ...`), a --recipe or a run to --resume")
    return workflows.task_of_recipe(recipe)


def evaluate(
    run: RunFolder,
    data: DataFile = None,
    split: Annotated[Split, typer.Option(help="Which rows to show.")] = Split.test,
) -> None:
    """Show a run's scores beside its baselines, or score it on a later file with --data."""
    show.table(workflows.evaluate(run, data=data, split=split.value))


def predict(
    run: RunFolder,
    data: DataFile = None,
    out: Out = None,
    layout: Annotated[
        Layout | None,
        typer.Option(help="Rows per series and time, or a column per series.", rich_help_panel=SERIES),
    ] = None,
    levels: Levels = None,
    maps: Annotated[
        Path | None,
        typer.Option(help="Folder for maps of what the model looked at, per scan.", rich_help_panel=SCANS),
    ] = None,
    keep_going: Annotated[
        bool | None,
        typer.Option(
            "--keep-going", help="Go on after a scan that cannot be read, and list those.", rich_help_panel=SCANS
        ),
    ] = None,
    texts: Texts = None,
) -> None:
    """Forecast the steps after a file's end; say each scan's class or mask; say where each stock goes next session."""
    given = {
        "layout": layout and layout.value,
        "levels": options.levels(levels),
        "maps": maps,
        "keep_going": keep_going,
        "texts": texts,
    }
    chosen = options.belonging(workflows.task_name(run), given)
    show.lines(workflows.predict(run, data=data, out=out, options=chosen))
    _say_which(run)


def backtest(
    run: RunFolder,
    data: DataFile = None,
    out: Out = None,
    cutoffs: Annotated[
        int | None,
        typer.Option(min=1, help="How many past moments to forecast from; 10 if not given.", rich_help_panel=SERIES),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(min=1, help="Steps between them; the horizon if not given.", rich_help_panel=SERIES),
    ] = None,
    top: Annotated[
        float | None,
        typer.Option(
            help="Share of the tickers to buy, and to sell short: 0.2; above and below one half if not given.",
            rich_help_panel=STOCKS,
        ),
    ] = None,
    cost_bps: Annotated[
        float | None,
        typer.Option(help="Cost of a trade in hundredths of a percent; 10 if not given.", rich_help_panel=STOCKS),
    ] = None,
) -> None:
    """Forecast from past moments of a file and score each, or trade by stock predictions; nothing is trained again."""
    given = {"cutoffs": cutoffs, "step": step, "top": top, "cost_bps": cost_bps}
    found = workflows.backtest(run, data=data, out=out, options=options.belonging(workflows.task_name(run), given))
    show.table(found.rows)
    show.lines(found.lines)
    _say_which(run)


def explain(
    run: RunFolder,
    out: Annotated[Path | None, typer.Option(help="Folder for arrays and pictures.")] = None,
    cases: Annotated[
        str | None,
        typer.Option(help="Scans to explain, by name, separated by commas; a few if not given.", rich_help_panel=SCANS),
    ] = None,
    date: Annotated[
        str | None,
        typer.Option(
            help="Day to explain, 2015-11-03; if not given, the last tested, or those of confident errors.",
            rich_help_panel=STOCKS,
        ),
    ] = None,
    tickers: Annotated[
        str | None,
        typer.Option(help="Stocks to explain, separated by commas; a few if not given.", rich_help_panel=STOCKS),
    ] = None,
) -> None:
    """Write one attention map per mode, labelled with the data's own names, times, tickers or slices."""
    given = {"cases": options.names(cases), "date": date, "tickers": options.names(tickers)}
    chosen = options.belonging(workflows.task_name(run), given)
    show.lines(workflows.explain(run, out=out, options=chosen))
    _say_which(run)


def _say_which(run: Path) -> None:
    """One network predicts; where a folder holds several, say which it is."""
    folders = workflows.run_folders(run)
    if len(folders) > 1:
        typer.echo(f"{run} holds {len(folders)} seeds; this is {folders[0]}. Name another to use that.", err=True)


def report(run: RunFolder, out: Out = None) -> None:
    """Write the one-file HTML report of a run."""
    show.lines([str(workflows.report(run, out=out))])


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Two or more run folders.")],
    out: Out = None,
) -> None:
    """Lay the scores of several runs side by side; with --out, also as one HTML file."""
    show.table(workflows.compare(runs, out=out))
