"""Commands on finished runs: evaluate, predict, backtest, explain, report, compare."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import DataFile, Out, Raw, RunFolder


class Split(StrEnum):
    """Rows that `evaluate` can score."""

    validation = "validation"
    test = "test"


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command()(evaluate)
    for command in (predict, backtest, explain):
        app.command()(options.with_task_options(command, command.__name__, workflows.TASKS))
    app.command()(report)
    app.command()(compare)


def evaluate(
    run: RunFolder,
    data: DataFile = None,
    split: Annotated[Split, typer.Option(help="Which rows to show.")] = Split.test,
) -> None:
    """Show a run's scores beside its baselines, or score it on a later file with --data."""
    show.table(workflows.evaluate(run, data=data, split=split.value))


def predict(run: RunFolder, data: DataFile = None, out: Out = None, raw: Raw = False, *, own: dict[str, Any]) -> None:
    """Forecast the steps after a file's end; say each sample's class, value or mask."""
    chosen = options.read("predict", workflows.task_name(run), own)
    show.lines(workflows.predict(run, data=data, out=out, options=chosen, raw=raw).lines())
    _say_which(run)


def backtest(run: RunFolder, data: DataFile = None, out: Out = None, raw: Raw = False, *, own: dict[str, Any]) -> None:
    """Forecast from past moments of a file and score each, or trade by stock predictions; nothing is trained again."""
    chosen = options.read("backtest", workflows.task_name(run), own)
    answer = workflows.backtest(run, data=data, out=out, options=chosen, raw=raw)
    show.table(answer.rows())
    show.lines(answer.notes)
    _say_which(run)


def explain(
    run: RunFolder,
    out: Annotated[Path | None, typer.Option(help="Folder for arrays and pictures.")] = None,
    raw: Raw = False,
    *,
    own: dict[str, Any],
) -> None:
    """Write what the model looked at, labelled with the data's own names, times, tickers or slices."""
    chosen = options.read("explain", workflows.task_name(run), own)
    show.lines(workflows.explain(run, out=out, options=chosen, raw=raw).lines())
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
