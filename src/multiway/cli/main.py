"""The `multiway` command: its commands, and how an error reaches the user."""

import sys
from typing import Annotated, NoReturn

import typer

from multiway.cli import audit, compress, data, recipes, runs, train
from multiway.cli.warned import say_warnings
from multiway.errors import MultiwayError
from multiway.memory import keep_freed_memory

app = typer.Typer(
    name="multiway",
    help="Train, evaluate, explain: neural networks that keep the axes of your data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
data.add_to(app)
train.add_to(app)
runs.add_to(app)
audit.add_to(app)
recipes.add_to(app)
compress.add_to(app)


def _print_version(wanted: bool) -> None:
    if wanted:
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


def run() -> NoReturn:
    """Run the command line: exit 0 when done, 1 with one line on stderr for an error, 2 for wrong usage."""
    keep_freed_memory()
    say_warnings()
    try:
        app()
    except MultiwayError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or 'input/output'}: {error.strerror or error}")
    sys.exit(0)


def _fail(message: str) -> NoReturn:
    line = " ".join(message.split())
    print(f"multiway: error: {line}", file=sys.stderr)
    sys.exit(1)
