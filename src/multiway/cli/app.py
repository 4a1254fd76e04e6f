"""The commands of `multiway`, gathered."""

from typing import Annotated

import typer

from multiway.cli import bench, data, doctor, recipes, runs, train
from multiway.cli.commands import command
from multiway.cli.declared import TASKS, example_of, purpose_of


def _tasks() -> str:
    """Every task with what it is for and a usual command, a paragraph each."""
    first = "First of all, `multiway check FILE` says which of these a file is for, and ends with the command:"
    return "\n\n".join([first, *(f"{task}: {purpose_of(task)}  {example_of(task)}" for task in TASKS)])


app = typer.Typer(
    name="multiway",
    help="Train, evaluate, explain: neural networks that keep the axes of your data.",
    epilog=_tasks(),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
known = typer.Typer(help="Known data sets: where they are, and fetching them.", no_args_is_help=True)
training = typer.Typer(callback=command(train.group_command, "train"), invoke_without_command=True)
tuning = typer.Typer(help="Search settings on validation; the test rows stay unread.", no_args_is_help=True)

COMMANDS = (
    (data.check_command, TASKS),
    (runs.evaluate_command, None),
    (runs.predict_command, TASKS),
    (runs.backtest_command, TASKS),
    (runs.update_command, None),
    (runs.explain_command, TASKS),
    (runs.report_command, None),
    (runs.compare_command, None),
    (data.audit_command, TASKS),
    (recipes.recipes_command, None),
    (recipes.published_command, None),
    (recipes.reproduce_command, None),
    (runs.compress_command, None),
    (bench.bench_command, None),
    (doctor.doctor_command, None),
)
"""In the order of the help, each with the tasks whose options it has."""
for function, tasks in COMMANDS:
    name = function.__name__.removesuffix("_command")
    app.command(name)(command(function, name, tasks))
known.command("list")(command(data.list_command, "list"))
known.command("fetch")(command(data.fetch_command, "fetch"))
known.command("make")(command(data.make_command, "make"))
known.command("encode")(command(data.encode_command, "encode"))
for task in TASKS:
    purpose = purpose_of(task)
    training.command(task, help=purpose)(command(train.training_of(task), "train", [task]))
    tuning.command(task, help=f"Search settings on validation: {purpose}")(
        command(train.tuning_of(task), "train", [task])
    )
app.add_typer(known, name="data")
app.add_typer(training, name="train")
app.add_typer(tuning, name="tune")


def _print_version(is_given: bool) -> None:
    if is_given:
        from multiway import __version__

        typer.echo(f"multiway {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Nothing of its own: each command has its options."""
