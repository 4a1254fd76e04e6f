"""`multiway train`: one command per task, each with its own options; or a recipe; or an interrupted run."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import commands, completion, declared, options, show
from multiway.cli.options import Epochs, Quiet, Recipe, Seeds, Sets
from multiway.cli.show import Answer
from multiway.errors import ConfigError

SILENT = ("resume", "quiet", "as_json")
"""What may stand beside `--resume`: it changes nothing of the run."""

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="A file, a folder, or a known data set's name; the recipe's if not given.",
        autocompletion=completion.data_sets,
    ),
]
RunOut = Annotated[
    Path | None,
    typer.Option("--out", help="Folder to make for the run; runs/NAME of the data or recipe if not given."),
]


def add_to(app: typer.Typer) -> None:
    """Register this file's command, and one below it for each task."""
    group = typer.Typer(callback=commands.command(train, "train"), invoke_without_command=True)
    for task in declared.tasks():
        group.command(task)(commands.command(_training_of(task), "train", [task]))
    app.add_typer(group, name="train")


def train(
    ctx: typer.Context,
    recipe: Recipe = None,
    resume: Annotated[
        Path | None, typer.Option(help="Continue this interrupted run, as it was started.", show_default="none")
    ] = None,
    data: Data = None,
    out: RunOut = None,
    seeds: Seeds = 1,
    epochs: Epochs = None,
    sets: Sets = None,
    quiet: Quiet = False,
) -> Answer | None:
    """Train on a file or a recipe, score on its test rows beside the baselines, and leave a run folder."""
    if ctx.invoked_subcommand is not None:
        _nothing_before(ctx)
        return None
    if resume is not None:
        _nothing_beside(ctx)
        return _answer(workflows.resume(resume, progress=not quiet))
    if recipe is None:
        raise typer.BadParameter("name a task (`multiway train forecast ...`), a --recipe or a run to --resume")
    given, changes = {} if data is None else {"data": data}, options.overrides(sets, epochs)
    return _answer(workflows.train(given, recipe=recipe, overrides=changes, out=out, seeds=seeds, progress=not quiet))


def _nothing_before(ctx: typer.Context) -> None:
    if _given(ctx):
        raise typer.BadParameter(f"options stand after the task: multiway train {ctx.invoked_subcommand} ...")


def _nothing_beside(ctx: typer.Context) -> None:
    others = [name for name in _given(ctx) if name not in SILENT]
    if others:
        dashed = "--set" if others[0] == "sets" else f"--{others[0]}"
        raise ConfigError(f"train: --resume continues a run as it was started. Leave out {dashed}.")


def _given(ctx: typer.Context) -> list[str]:
    return [name for name in ctx.params if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"]


def _training_of(task: str) -> Callable[..., Answer]:
    def function(
        data: Data = None,
        out: RunOut = None,
        recipe: Recipe = None,
        seeds: Seeds = 1,
        epochs: Epochs = None,
        sets: Sets = None,
        quiet: Quiet = False,
        *,
        own: dict[str, Any],
    ) -> Answer:
        given = options.settings("train", task, own) | ({} if data is None else {"data": data})
        changes = options.overrides(sets, epochs)
        return _answer(
            workflows.train(
                given, task=task, recipe=recipe, overrides=changes, out=out, seeds=seeds, progress=not quiet
            )
        )

    function.__doc__ = declared.purpose_of(task)
    return function


def _answer(trained: "workflows.Trained") -> Answer:
    return Answer(lines=[*trained.lines(), *show.aligned(trained.table())], document=lambda: trained.to_dict())
