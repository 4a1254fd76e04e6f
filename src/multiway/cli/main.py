"""The `multiway` command: how it starts, how an error reaches the user, and how it ends."""

import sys
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
