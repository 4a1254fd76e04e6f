"""`multiway train` and `multiway tune`: a command per task with its own options; a recipe; an interrupted run."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import options, show
from multiway.cli.options import Every, Quiet, Recipe, Seeds, Sets
from multiway.cli.show import Output
from multiway.errors import ConfigError

SILENT = ("resume", "quiet", "as_json", "every")
"""What may be given with `--resume`: it changes nothing of the run."""

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        help="A file, a folder, or a known data set's name; the recipe's if not given.",
        autocompletion=options.complete_data_sets,
    ),
]
RunOut = Annotated[
    Path | None,
    typer.Option("--out", help="Folder to make for the run; runs/NAME of the data or recipe if not given."),
]


def group_command(
    ctx: typer.Context,
    recipe: Recipe = None,
    resume: Annotated[
        Path | None, typer.Option(help="Continue this interrupted run, as it was started.", show_default="none")
    ] = None,
    data: Data = None,
    out: RunOut = None,
    seeds: Seeds = 1,
    sets: Sets = None,
    quiet: Quiet = False,
    every: Every = False,
    *,
    own: dict[str, Any],
) -> Output | None:
    """Train on a file or a recipe, score on its test rows with the baselines, and leave a run folder."""
    if ctx.invoked_subcommand is not None:
        if _options_given(ctx):
            raise typer.BadParameter(f"options stand after the task: multiway train {ctx.invoked_subcommand} ...")
        return None
    if resume is not None:
        others = [name for name in _options_given(ctx) if name not in SILENT]
        if others:
            dashed = "--set" if others[0] == "sets" else f"--{others[0]}"
            raise ConfigError(f"train: --resume continues a run as it was started. Leave out {dashed}.")
        return _answer(workflows.resume(resume, progress=not quiet), every)
    if recipe is None:
        raise typer.BadParameter("name a task (`multiway train forecast ...`), a --recipe or a run to --resume")
    task = options.tasks_of_recipes()[0]  # any, since all of them have these options
    given, changes = options.settings("train", task, own), options.overrides(task, own, sets)
    given |= {} if data is None else {"data": data}
    done = workflows.train(given, recipe=recipe, overrides=changes, out=out, seeds=seeds, progress=not quiet)
    return _answer(done, every)


def _options_given(ctx: typer.Context) -> list[str]:
    return [name for name in ctx.params if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"]


def training_of(task: str) -> Callable[..., Output]:
    """The command that trains a task."""

    def function(
        data: Data = None,
        out: RunOut = None,
        recipe: Recipe = None,
        seeds: Seeds = 1,
        sets: Sets = None,
        quiet: Quiet = False,
        every: Every = False,
        *,
        own: dict[str, Any],
    ) -> Output:
        given = options.settings("train", task, own) | ({} if data is None else {"data": data})
        changes = options.overrides(task, own, sets)
        done = workflows.train(
            given, task=task, recipe=recipe, overrides=changes, out=out, seeds=seeds, progress=not quiet
        )
        return _answer(done, every)

    return function


def _answer(trained: "workflows.Trained", every: bool) -> Output:
    rows, details = show.in_words(trained.table(), trained.words), () if every else trained.details
    return Output(lines=[*trained.lines(), *show.align_rows(rows, details)], document=lambda: trained.to_dict())


Space = Annotated[
    str,
    typer.Option(help="A paper's space, such as hot-stocks, or a YAML file.", autocompletion=options.complete_spaces),
]
SearchedData = Annotated[
    str,
    typer.Option(help="A file, a folder, or a known data set's name.", autocompletion=options.complete_data_sets),
]
SearchOut = Annotated[Path, typer.Option("--out", help="Folder of the search; one that lies there goes on.")]
Trials = Annotated[int | None, typer.Option(min=1, help="Combinations to measure, each once; all if not given.")]
Seed = Annotated[int, typer.Option(help="Seed of their order; each training has its training.seed.")]
Sampler = Annotated[str, typer.Option(help="random (each once), grid (in order), or tpe (learns from the trials).")]
Pruner = Annotated[str, typer.Option(help="halving or hyperband end trainings that are far behind; none ends none.")]
Storage = Annotated[
    str | None, typer.Option(help="URL of a database for several machines; a journal in the folder if not given.")
]
Minutes = Annotated[float | None, typer.Option(min=0, help="Begin no trial later than this; no limit if not given.")]


def tuning_of(task: str) -> Callable[..., Output]:
    """The command that searches settings of a task."""

    def function(
        data: SearchedData,
        space: Space,
        out: SearchOut,
        trials: Trials = None,
        seed: Seed = 0,
        minutes: Minutes = None,
        sampler: Sampler = "random",
        pruner: Pruner = "none",
        storage: Storage = None,
        sets: Sets = None,
        quiet: Quiet = False,
        *,
        own: dict[str, Any],
    ) -> Output:
        given = options.settings("train", task, own) | {"data": data}
        tuned = workflows.tune(
            task,
            given,
            space=space,
            overrides=options.overrides(task, own, sets),
            trials=trials,
            seed=seed,
            minutes=minutes,
            sampler=sampler,
            pruner=pruner,
            out=out,
            storage=storage,
            progress=not quiet,
        )
        return Output(lines=[*show.align_rows(tuned.table()), *tuned.lines()], document=tuned.to_dict)

    return function
