"""The commands of `multiway`, gathered."""

from typing import Annotated

import typer

from multiway.cli import data, recipes, runs, train

app = typer.Typer(
    name="multiway",
    help="Train, evaluate, explain: neural networks that keep the axes of your data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
data.add_looking(app)
train.add_training(app)
train.add_tuning(app)
runs.add_using(app)
data.add_audit(app)
recipes.add_papers(app)
runs.add_compression(app)


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
