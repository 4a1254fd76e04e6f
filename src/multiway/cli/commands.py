"""How a function becomes a command: it returns an answer, and gains `--json` and the options of tasks."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from multiway.cli import declared
from multiway.cli.show import Output

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")]


def command(
    function: Callable[..., Output | None], name: str, tasks: Iterable[str] | None = None
) -> Callable[..., None]:
    """A function that prints what the given one answers, and exits with 1 where that is bad.

    Args:
        function: What the command does.
        name: Of the command, as options of tasks name it.
        tasks: Tasks whose options it has; they reach the function as a mapping `own`.
    """
    own = {} if tasks is None else declared.declared_options(name, tasks)
    fixed = [parameter for key, parameter in inspect.signature(function).parameters.items() if key != "own"]
    added = [_keyword(key, None, option.annotation) for key, option in own.items()]

    @functools.wraps(function)
    def printed(*, as_json: bool, **given: Any) -> None:
        values = {key: given.pop(key) for key in own}
        if tasks is not None:
            given["own"] = {key: value for key, value in values.items() if value is not None}
        answer = function(**given)
        if answer is not None:
            answer.show(as_json=as_json)
            if answer.is_bad:
                raise typer.Exit(1)

    parameters = [*fixed, *added, _keyword("as_json", False, Json)]
    printed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer looks at
    printed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return printed


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
