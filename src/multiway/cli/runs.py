"""Commands on finished runs: evaluate, predict, backtest, anomalies, update, explain, report, compare, compress."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import Every, Model, Overwrite, Quiet, Raw, RunFolder, TableOut
from multiway.cli.show import Output

LaterData = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="A file, a folder, or a known data set's name; that of the training if not given.",
        autocompletion=options.complete_data_sets,
    ),
]


class Split(StrEnum):
    """Rows that `evaluate` can score."""

    validation = "validation"
    test = "test"


def evaluate_command(
    run: RunFolder,
    data: LaterData = None,
    split: Annotated[Split, typer.Option(help="Which rows to show.")] = Split.test,
    model: Model = None,
    every: Every = False,
) -> Output:
    """Show the scores of a run's answer and of every other model, or score them on a later file with --data."""
    scores = workflows.evaluate(run, data=data, split=split.value, model=model)
    return show.table(scores, scores.told, scores.words, () if every else scores.details)


def predict_command(
    run: RunFolder,
    data: LaterData = None,
    out: TableOut = None,
    overwrite: Overwrite = False,
    model: Model = None,
    raw: Raw = False,
    quiet: Quiet = False,
    *,
    own: dict[str, Any],
) -> Output:
    """Forecast the steps after a file's end; say each sample's class, value or mask."""
    chosen = options.read_options("predict", workflows.task_name(run), own)
    answer = workflows.predict(
        run, data=data, out=out, options=chosen, overwrite=overwrite, model=model, raw=raw, progress=not quiet
    )
    _say_which(run)
    return _output(answer)


def backtest_command(
    run: RunFolder,
    data: LaterData = None,
    out: TableOut = None,
    overwrite: Overwrite = False,
    model: Model = None,
    raw: Raw = False,
    *,
    own: dict[str, Any],
) -> Output:
    """Forecast from past moments of a file and score each, or trade by stock predictions."""
    chosen = options.read_options("backtest", workflows.task_name(run), own)
    answer = workflows.backtest(run, data=data, out=out, options=chosen, overwrite=overwrite, model=model, raw=raw)
    return _output_in_columns(run, answer)


def anomalies_command(
    run: RunFolder,
    data: LaterData = None,
    out: TableOut = None,
    overwrite: Overwrite = False,
    raw: Raw = False,
    *,
    own: dict[str, Any],
) -> Output:
    """List past values that lie outside the bands of a forecast, the farthest first."""
    chosen = options.read_options("anomalies", workflows.task_name(run), own)
    answer = workflows.anomalies(run, data=data, out=out, options=chosen, overwrite=overwrite, raw=raw)
    return _output_in_columns(run, answer)


def update_command(
    run: RunFolder,
    data: Annotated[str, typer.Option(help="Rows that came after those of the run, in the same columns.")],
    out: Annotated[Path, typer.Option(help="Folder of the new run.")],
) -> Output:
    """Take later rows into a run of forecasts: refit on every row as its training did, and write a new run."""
    workflows.update(run, data=data, out=out)
    return show.location(out, "run")


def explain_command(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option(help="Folder for arrays and pictures; a folder in the run if not given.")
    ] = None,
    model: Model = None,
    raw: Raw = False,
    *,
    own: dict[str, Any],
) -> Output:
    """Write what the model looked at, labelled with the data's own names, times, tickers or slices."""
    chosen = options.read_options("explain", workflows.task_name(run), own)
    answer = workflows.explain(run, out=out, options=chosen, model=model, raw=raw)
    _say_which(run)
    return _output(answer)


def _output(answer: "workflows.Answer") -> Output:
    head = answer.told if answer.is_table else ""
    return Output(lines=answer.lines(), document=lambda: _document(answer), head=head)


def _output_in_columns(run: Path, answer: "workflows.Answer") -> Output:
    """Rows in columns for a reader, whether or not a file holds more of them."""
    _say_which(run)
    rows = show.in_words(answer.rows(), answer.words)
    return Output(lines=[answer.told, *show.align_rows(rows), *answer.notes], document=lambda: _document(answer))


def _document(answer: "workflows.Answer") -> dict[str, Any]:
    """Rows, unless they were written; the files and the notes; which model answered."""
    return {
        "answer": answer.head,
        "rows": None if answer.files else answer.rows(),
        "files": answer.files,
        "notes": answer.notes,
    }


def _say_which(run: Path) -> None:
    """One network predicts; where a folder holds several, say which it is."""
    folders = workflows.run_folders(run)
    if len(folders) > 1:
        typer.echo(f"{run} holds {len(folders)} seeds; this is {folders[0]}. Name another to use that.", err=True)


def report_command(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option(help="HTML file to write, or the model card as .md; report.html in the run if not given."),
    ] = None,
) -> Output:
    """Write the one-file HTML report of a run, or its model card."""
    return show.location(workflows.report(run, out=out), "file")


def compare_command(
    runs: Annotated[list[Path], typer.Argument(help="Two or more run folders.")],
    out: Annotated[Path | None, typer.Option(help="Also write one HTML file.", show_default="none")] = None,
    every: Every = False,
) -> Output:
    """Lay the scores of several runs side by side; with --out, also as one HTML file."""
    scores = workflows.compare(runs, out=out)
    return show.table(scores, scores.told, scores.words, () if every else scores.details)


def compress_command(
    model: Annotated[Path, typer.Argument(help="Run folder, or a Hugging Face folder with safetensors.")],
    rule: Annotated[
        list[str],
        typer.Option(
            help="REGEX=KIND:option=value,... with KIND nd, tt, lowrank, tucker or cp: '.*fc1=tt:rank=8'. May repeat."
        ),
    ],
    max_parameters: Annotated[
        float | None,
        typer.Option(help="Share of all parameters to come down to; finds the open ranks.", show_default="none"),
    ] = None,
    max_flops: Annotated[
        float | None,
        typer.Option(help="Share of the FLOPs to come down to, in place of parameters.", show_default="none"),
    ] = None,
    max_milliseconds: Annotated[
        float | None,
        typer.Option(help="Time on the data to come down to, measured here.", show_default="none"),
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(help="Relative weight error to stay within; finds the open ranks.", show_default="none"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="For a Hugging Face model: a table of texts, or a safetensors file of inputs.", show_default="none"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to make; MODEL-compressed if not given.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write the plan as one HTML file.", show_default="none")
    ] = None,
    finetune: Annotated[
        int | None, typer.Option(help="Train a run's smaller network so many epochs.", show_default="none")
    ] = None,
    distil: Annotated[
        int | None,
        typer.Option(
            help="The same, towards the outputs of the network as it was too; a Hugging Face model on the data.",
            show_default="none",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            help="Learning rate of these; by default half of the run's, and 1e-4 for Hugging Face.", show_default="none"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would become of each layer.")] = False,
) -> Output:
    """Swap a model's layers for smaller ones: say what that saves and loses, and write the smaller model."""
    source = model.resolve() if model.name in ("", "..") else model
    target = None if dry_run else out or source.with_name(f"{source.name}-compressed")
    done = workflows.compress(
        model,
        rule,
        data=data,
        out=target,
        report=report,
        finetune=finetune,
        distil=distil,
        rate=rate,
        max_parameters=max_parameters,
        max_flops=max_flops,
        max_milliseconds=max_milliseconds,
        max_error=max_error,
    )
    written = (
        []
        if target is None
        else ["", f"written to {target}", *done.lines(), *show.align_rows(show.in_words(done.table(), done.words))]
    )
    return Output(
        lines=[done.plan.report(), *written],
        document=lambda: {**done.to_dict(), "folder": target, "scores": show.uniform(done.table())},
    )
