"""Commands on finished runs: evaluate, predict, backtest, explain, report, compare."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import commands, completion, declared, options, show
from multiway.cli.options import Overwrite, Quiet, Raw, RunFolder, TableOut
from multiway.cli.show import Answer

LaterData = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="A file, a folder, or a known data set's name; that of the training if not given.",
        autocompletion=completion.data_sets,
    ),
]


class Split(StrEnum):
    """Rows that `evaluate` can score."""

    validation = "validation"
    test = "test"


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    commands.add(app, evaluate)
    for function in (predict, backtest, explain):
        commands.add(app, function, tasks=declared.tasks())
    commands.add(app, report)
    commands.add(app, compare)


def evaluate(
    run: RunFolder,
    data: LaterData = None,
    split: Annotated[Split, typer.Option(help="Which rows to show.")] = Split.test,
) -> Answer:
    """Show a run's scores beside its baselines, or score it on a later file with --data."""
    return show.table(workflows.evaluate(run, data=data, split=split.value))


def predict(
    run: RunFolder,
    data: LaterData = None,
    out: TableOut = None,
    overwrite: Overwrite = False,
    raw: Raw = False,
    quiet: Quiet = False,
    *,
    own: dict[str, Any],
) -> Answer:
    """Forecast the steps after a file's end; say each sample's class, value or mask."""
    chosen = options.read("predict", workflows.task_name(run), own)
    answer = workflows.predict(
        run, data=data, out=out, options=chosen, overwrite=overwrite, raw=raw, progress=not quiet
    )
    _say_which(run)
    return Answer(lines=answer.lines(), document=lambda: _document(answer))


def backtest(
    run: RunFolder,
    data: LaterData = None,
    out: TableOut = None,
    overwrite: Overwrite = False,
    raw: Raw = False,
    *,
    own: dict[str, Any],
) -> Answer:
    """Forecast from past moments of a file and score each, or trade by stock predictions; nothing is trained again."""
    chosen = options.read("backtest", workflows.task_name(run), own)
    answer = workflows.backtest(run, data=data, out=out, options=chosen, overwrite=overwrite, raw=raw)
    _say_which(run)
    return Answer(lines=[*show.aligned(answer.rows()), *answer.notes], document=lambda: _document(answer))


def explain(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option(help="Folder for arrays and pictures; a folder in the run if not given.")
    ] = None,
    raw: Raw = False,
    *,
    own: dict[str, Any],
) -> Answer:
    """Write what the model looked at, labelled with the data's own names, times, tickers or slices."""
    chosen = options.read("explain", workflows.task_name(run), own)
    answer = workflows.explain(run, out=out, options=chosen, raw=raw)
    _say_which(run)
    return Answer(lines=answer.lines(), document=lambda: _document(answer))


def _document(answer: "workflows.Answer") -> dict[str, Any]:
    """Rows, unless they were written; the files and the notes."""
    return {"rows": None if answer.files else answer.rows(), "files": answer.files, "notes": answer.notes}


def _say_which(run: Path) -> None:
    """One network predicts; where a folder holds several, say which it is."""
    folders = workflows.run_folders(run)
    if len(folders) > 1:
        typer.echo(f"{run} holds {len(folders)} seeds; this is {folders[0]}. Name another to use that.", err=True)


def report(
    run: RunFolder,
    out: Annotated[Path | None, typer.Option(help="HTML file to write; report.html in the run if not given.")] = None,
) -> Answer:
    """Write the one-file HTML report of a run."""
    return show.place(workflows.report(run, out=out), "file")


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Two or more run folders.")],
    out: Annotated[Path | None, typer.Option(help="Also write one HTML file.", show_default="none")] = None,
) -> Answer:
    """Lay the scores of several runs side by side; with --out, also as one HTML file."""
    return show.table(workflows.compare(runs, out=out))
