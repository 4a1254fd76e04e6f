"""The commands of `multiway`, gathered: each returns an answer, and gains `--json` and the options of tasks."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from multiway import files, workflows
from multiway.cli import options, train
from multiway.cli.show import Output
from multiway.lazy import extensions, load_extension

TASKS = workflows.TASKS
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")]


def command(function: Callable[..., Output | None], own: Mapping[str, Any] | None = None) -> Callable[..., None]:
    """A function that prints what the given one answers, and exits with 1 where that is bad.

    Args:
        function: What the command does.
        own: Types of its options of tasks, by name; the values reach the function as a mapping `own`.
    """
    more = own or {}
    fixed = [parameter for key, parameter in inspect.signature(function).parameters.items() if key != "own"]
    added = [_keyword(key, None, kind) for key, kind in more.items()]

    @functools.wraps(function)
    def printed(*, as_json: bool, **given: Any) -> None:
        values = {key: given.pop(key) for key in more}
        if own is not None:
            given["own"] = {key: value for key, value in values.items() if value is not None}
        with files.sparing_inputs():
            answer = function(**given)
            if answer is not None:
                answer.show(as_json=as_json)
        if answer is not None and answer.is_bad:
            raise typer.Exit(1)

    parameters = [*fixed, *added, _keyword("as_json", False, Json)]
    printed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer looks at
    printed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return printed


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


FIRST = "First of all, `multiway check FILE` says which of these a file is for, and ends with the command:"
EXAMPLES = [
    f"{task.name}: {task.purpose}  multiway train {task.name} {task.example}"
    for task in map(workflows.settings_of, TASKS)
]
app = typer.Typer(
    name="multiway",
    help="Train, evaluate, explain: neural networks that keep the axes of your data.",
    epilog="\n\n".join([FIRST, *EXAMPLES]),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
known = typer.Typer(help="Known data sets: where they are, and fetching them.", no_args_is_help=True)
training = typer.Typer(
    callback=command(train.group_command, options.task_options("train", options.tasks_of_recipes(), shared=True)),
    invoke_without_command=True,
)
tuning = typer.Typer(help="Search settings on validation; the test rows stay unread.", no_args_is_help=True)

for place in extensions("commands"):
    group, _, name = place.rpartition(".")
    function = load_extension("commands", place)
    own = options.task_options(name, TASKS) if "own" in inspect.signature(function).parameters else None
    {"": app, "data": known}[group].command(name)(command(function, own))
for task in TASKS:
    purpose = workflows.settings_of(task).purpose
    own = options.task_options("train", [task])
    training.command(task, help=purpose)(command(train.training_of(task), own))
    tuning.command(task, help=f"Search settings on validation: {purpose}")(command(train.tuning_of(task), own))
app.add_typer(known, name="data")
app.add_typer(training, name="train")
app.add_typer(tuning, name="tune")


def _print_version(is_given: bool) -> None:
    if is_given:
        from multiway import __version__

        typer.echo(f"multiway {__version__}")
        raise typer.Exit


@app.callback()
def print_nothing(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Nothing of its own: each command has its options."""
