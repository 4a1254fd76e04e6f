"""The commands of `multiway`, gathered."""

from typing import Annotated

import typer

from multiway.cli import audit, compress, data, recipes, runs, train, tune

app = typer.Typer(
    name="multiway",
    help="Train, evaluate, explain: neural networks that keep the axes of your data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
data.add_to(app)
train.add_to(app)
tune.add_to(app)
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
