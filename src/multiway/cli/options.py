"""Options that several commands share, those that tasks declare, how `--set` is read, what a shell may complete."""

import datetime
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from multiway import workflows
from multiway.cli import declared
from multiway.errors import ConfigError

Complete = Callable[[str], list[str]]
DEEPEST = 50
"""Parts of a field's name at most."""


def any_of(names: Callable[[], Iterable[str]]) -> Complete:
    """Completion by the names that begin like what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


complete_data_sets = any_of(lambda: declared.DATA_SETS)
complete_tasks = any_of(lambda: declared.TASKS)
complete_recipes = any_of(lambda: workflows.recipe_names())
complete_spaces = any_of(lambda: workflows.space_names())

RunFolder = Annotated[Path, typer.Argument(help="Folder written by `multiway train`.")]
TableOut = Annotated[
    Path | None,
    typer.Option("--out", help="Table to write: .csv, .csv.gz, .parquet; for masks a folder. Printed if not given."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file of --out.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress; warnings and errors stay on stderr.")]
Raw = Annotated[bool, typer.Option("--raw", help="Leave text like =1+1 as it is in CSV and Excel.")]
Model = Annotated[
    str | None,
    typer.Option("--model", help="Ask this model of the run; the one that answers if not given.", show_default=False),
]
AnswerBy = Annotated[
    str | None,
    typer.Option(
        "--answer",
        help="Which model answers: auto, what validation prefers; network; or one by its name.",
        show_default="auto",
    ),
]
Seeds = Annotated[int, typer.Option(min=1, help="Runs that differ only in their seed.")]
Epochs = Annotated[
    int | None,
    typer.Option(
        min=1, help="Passes over the training data, as --set training.epochs=N; the task's usual number if not given."
    ),
]
Track = Annotated[
    str | None,
    typer.Option(
        "--track",
        help="Show validations as they come, in tensorboard or trackio; nowhere if not given.",
        show_default=False,
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(
        help="Name from `multiway recipes`, or a YAML file.",
        show_default="none",
        autocompletion=complete_recipes,
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Override one field: --set training.batch_size=64. May be repeated.", show_default="none"
    ),
]


def read_options(command: str, task: str, own: dict[str, Any]) -> dict[str, Any]:
    """Values of a task's options, read from their text."""
    known, values = workflows.task_options(command, task), {}
    for name, text in own.items():
        dashed = "--" + name.replace("_", "-")
        if name not in known:
            others = declared.declared_options(command, declared.TASKS)[name].tasks
            raise ConfigError(f"{dashed} is for {' and '.join(others)}, not for {task}. Leave it out.")
        try:
            values[name] = text if known[name].is_flag else known[name].read(str(text))
        except ValueError as error:
            raise typer.BadParameter(f"{error}, got {text!r}", param_hint=dashed) from None
    return values


def words_of(own: dict[str, Any]) -> list[str]:
    """Options of tasks as they were typed."""
    dashed = {"--" + name.replace("_", "-"): text for name, text in own.items()}
    return [word for name, text in dashed.items() for word in ([name] if text is True else [name, str(text)])]


def settings(command: str, task: str, own: dict[str, Any]) -> dict[str, Any]:
    """The config of a run by a task's options."""
    return workflows.settings_of(command, task, read_options(command, task, own))


def overrides(
    sets: list[str] | None, epochs: int | None, answer: str | None = None, track: str | None = None
) -> dict[str, Any]:
    """What `--set`, `--epochs`, `--answer` and `--track` say of a training."""
    given = nested(sets or []) | ({} if answer is None else {"answer": answer})
    chosen = {name: value for name, value in {"epochs": epochs, "track": track}.items() if value is not None}
    training = given.get("training", {})
    if not chosen or not isinstance(training, dict):
        return given
    if twice := [name for name in chosen if name in training]:
        raise ConfigError(
            f"train: --{twice[0]} and --set training.{twice[0]} are the same setting. Leave out one of them."
        )
    return {**given, "training": {**training, **chosen}}


def nested(assignments: list[str]) -> dict[str, Any]:
    """Turn ["training.epochs=5"] into {"training": {"epochs": 5}}; values are read as YAML."""
    result: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not all(name.split(".")) or name.count(".") >= DEEPEST:
            raise typer.BadParameter(f"write part.field=value, got {_short(assignment)}", param_hint="--set")
        _assign(result, name.split("."), _plain(value, assignment))
    return result


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")


def _plain(value: str, assignment: str) -> Any:
    try:
        result = workflows.read_yaml(value)
        return value if isinstance(result, datetime.date) else _with_dates_as_text(result)
    except ConfigError as error:
        if value == ",":
            return value  # a shell has taken the quotes from ','
        raise typer.BadParameter(f"the value of {_short(assignment)} {error}", param_hint="--set") from None


def _with_dates_as_text(value: Any) -> Any:
    """Dates inside lists as they are written; a config holds them so."""
    if isinstance(value, list):
        return [_with_dates_as_text(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


def _assign(target: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise typer.BadParameter(f"{'.'.join(path)} goes through {part}, which has a value", param_hint="--set")
    target[path[-1]] = value


def listed_names(text: str | None) -> list[str] | None:
    """Split "a,b" into names; None stays None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]
