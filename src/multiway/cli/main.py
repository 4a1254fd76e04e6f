"""The `multiway` command: how it starts, how an error reaches the user, and how it ends."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from multiway.cli import process


def run() -> NoReturn:
    """Run the command line: exit 0 when done, 1 with one line on stderr for an error, 2 for wrong usage.

    A signal ends it with one line and 128 and the signal's number; a training saves its state first and exits with 1.
    """
    try:
        with process.Stoppable():
            process.open_streams()
            _call()
    except process.Stopped as stopped:
        process.say(str(stopped))
        sys.exit(stopped.code)


def _call() -> NoReturn:
    """Everything is imported here, where a signal is seen to already."""
    from multiway.cli import spelling
    from multiway.cli.app import app
    from multiway.errors import MultiwayError, MultiwayWarning
    from multiway.memory import keep_freed_memory

    keep_freed_memory()
    _hint(sys.argv[1:])
    process.say_warnings(MultiwayWarning)
    try:
        app()
    except MultiwayError as error:
        command = next((word for word in sys.argv[1:] if word != "data"), "train")
        process.say(f"error: {error.spelled(spelling.command_line(error.task, command))}")
    except OSError as error:
        process.say(f"error: {error.filename or 'output'}: {error.strerror or error}")
        process.drop_output()
    sys.exit(1)


def _hint(words: Sequence[str]) -> None:
    """Answer an option that has another name in other libraries with its name here, as wrong usage."""
    from multiway.cli import declared
    from multiway.errors import ELSEWHERE

    options = [option for task in declared.content()["tasks"].values() for option in task["options"]]
    here = {option["field"].rpartition(".")[2]: option["name"] for option in options}
    for word in words:
        name = word.partition("=")[0].removeprefix("--").replace("-", "_")
        own = here.get(ELSEWHERE[name]) if name in ELSEWHERE else None
        if word.startswith("--") and own is not None and name not in here.values():
            process.say(f"error: {word.partition('=')[0]} is --{own.replace('_', '-')} here.")
            sys.exit(2)
