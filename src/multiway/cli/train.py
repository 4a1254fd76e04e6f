"""`multiway train`: one command per task, each with its own options; or a recipe; or an interrupted run."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import DataFile, Recipe, RunOut, Seeds, Sets


class Tasks(TyperGroup):
    """The tasks as commands, each made when it is named."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the tasks."""
        return list(workflows.TASKS)

    def get_command(self, ctx: Any, name: str) -> Any:
        """The command of a task."""
        return _command_of(name) if name in workflows.TASKS else None


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.add_typer(typer.Typer(cls=Tasks, callback=train, invoke_without_command=True), name="train")


def train(
    ctx: typer.Context,
    recipe: Recipe = None,
    resume: Annotated[Path | None, typer.Option(help="Continue this interrupted run.")] = None,
    data: DataFile = None,
    out: RunOut = None,
    seeds: Seeds = 1,
    sets: Sets = None,
) -> None:
    """Train on a file or a recipe, score on its test rows beside the baselines, and leave a run folder."""
    if ctx.invoked_subcommand is not None:
        _nothing_before(ctx)
    elif resume is not None:
        _show(workflows.resume(resume, progress=True))
    elif recipe is not None:
        given = {} if data is None else {"data": data}
        overrides = options.nested(sets or [])
        _show(workflows.train(given, recipe=recipe, overrides=overrides, out=out, seeds=seeds, progress=True))
    else:
        raise typer.BadParameter("name a task (`multiway train forecast ...`), a --recipe or a run to --resume")


def _nothing_before(ctx: typer.Context) -> None:
    given = [name for name in ctx.params if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"]
    if given:
        raise typer.BadParameter(f"options stand after the task: multiway train {ctx.invoked_subcommand} ...")


def _command_of(task: str) -> Any:
    def command(
        data: DataFile = None,
        out: RunOut = None,
        recipe: Recipe = None,
        seeds: Seeds = 1,
        sets: Sets = None,
        *,
        own: dict[str, Any],
    ) -> None:
        given = options.settings("train", task, own) | ({} if data is None else {"data": data})
        overrides = options.nested(sets or [])
        made = workflows.train(
            given, task=task, recipe=recipe, overrides=overrides, out=out, seeds=seeds, progress=True
        )
        _show(made)

    command.__doc__ = workflows.purpose_of(task)
    app = typer.Typer(add_completion=False)
    app.command(name=task)(options.with_task_options(command, "train", [task]))
    return typer.main.get_command(app)


def _show(trained: workflows.Trained) -> None:
    show.lines(trained.lines())
    show.table(trained.table())
