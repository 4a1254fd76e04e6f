"""`multiway tune`: a search over settings, one command per task, each with the options of its training."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import commands, completion, declared, options, show
from multiway.cli.options import Epochs, Quiet, Sets
from multiway.cli.show import Answer

Space = Annotated[
    str,
    typer.Option(help="A paper's space, such as hot-stocks, or a YAML file.", autocompletion=completion.spaces),
]
Data = Annotated[
    str, typer.Option(help="A file, a folder, or a known data set's name.", autocompletion=completion.data_sets)
]
Out = Annotated[Path, typer.Option("--out", help="Folder of the search; one that lies there goes on.")]
Trials = Annotated[int | None, typer.Option(min=1, help="Combinations to measure, drawn at random; all if not given.")]
Seed = Annotated[int, typer.Option(help="Seed of that draw; each training has its training.seed.")]
Minutes = Annotated[float | None, typer.Option(min=0, help="Begin no trial later than this; no limit if not given.")]


def add_to(app: typer.Typer) -> None:
    """Register a command for each task."""
    group = typer.Typer(help="Search settings on validation; the test rows stay unread.", no_args_is_help=True)
    for task in declared.tasks():
        group.command(task)(commands.command(_tuning_of(task), "train", [task]))
    app.add_typer(group, name="tune")


def _tuning_of(task: str) -> Callable[..., Answer]:
    def function(
        data: Data,
        space: Space,
        out: Out,
        trials: Trials = None,
        seed: Seed = 0,
        minutes: Minutes = None,
        epochs: Epochs = None,
        sets: Sets = None,
        quiet: Quiet = False,
        *,
        own: dict[str, Any],
    ) -> Answer:
        given = options.settings("train", task, own) | {"data": data}
        tuned = workflows.tune(
            task, given, space=space, overrides=options.overrides(sets, epochs), trials=trials, seed=seed,
            minutes=minutes, out=out, progress=not quiet,
        )  # fmt: skip
        return Answer(lines=[*show.aligned(tuned.table()), *tuned.lines()], document=tuned.to_dict)

    function.__doc__ = f"Search settings on validation: {declared.purpose_of(task)}"
    return function
