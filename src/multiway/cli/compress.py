"""The command that makes a trained model smaller."""

from pathlib import Path
from typing import Annotated

import typer

from multiway import workflows
from multiway.cli import commands, show
from multiway.cli.show import Answer


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    commands.add(app, compress)


def compress(
    model: Annotated[Path, typer.Argument(help="Run folder, or a Hugging Face folder with safetensors.")],
    rule: Annotated[
        list[str],
        typer.Option(
            help="REGEX=KIND:option=value,... with KIND nd, tt or lowrank: '.*fc1=tt:rank=8'. Whole names; may repeat."
        ),
    ],
    max_parameters: Annotated[
        float | None,
        typer.Option(help="Share of all parameters to come down to; finds the open ranks.", show_default="none"),
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(help="Relative weight error to stay within; finds the open ranks.", show_default="none"),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Safetensors file with one batch of inputs, for a Hugging Face model.", show_default="none"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to make; MODEL-compressed if not given.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write the plan as one HTML file.", show_default="none")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would become of each layer.")] = False,
) -> Answer:
    """Swap a model's dense layers for smaller ones: say what that saves and loses, and write the smaller model."""
    beside = model.resolve() if model.name in ("", "..") else model
    target = None if dry_run else out or beside.with_name(f"{beside.name}-compressed")
    done = workflows.compress(
        model, rule, max_parameters=max_parameters, max_error=max_error, data=data, out=target, report=report
    )
    written = [] if target is None else ["", f"written to {target}", *done.lines(), *show.aligned(done.table())]
    return Answer(
        lines=[done.plan.report(), *written],
        document=lambda: {**done.to_dict(), "folder": target, "scores": show.uniform(done.table())},
    )
