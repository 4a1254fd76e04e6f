"""The suite is green however it is started: other signals, streams, locale, home, clock or terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TESTS = [
    "tests/cli/test_process.py",  # signals, streams
    "tests/cli/test_help.py",  # terminal, locale
    "tests/cli/test_tables.py::test_times_have_the_offsets_of_the_input",  # clock
    "tests/test_files.py",  # home, umask
]
STARTS = {
    "in the background of a script, in locale C and a narrow terminal": (
        "trap '' INT HUP; \"$@\"",
        {"LC_ALL": "C", "COLUMNS": "20", "LINES": "5", "FORCE_COLOR": "1"},
    ),
    "without streams, home and the locale that is set": (
        '"$@" <&-',
        {"HOME": "/nonexistent", "LC_ALL": "", "LANG": "de_DE.ISO-8859-1"},
    ),
    "with private files, another clock and as a runner": (
        'umask 077; "$@"',
        {"TZ": "Asia/Kathmandu", "CI": "true", "GITHUB_ACTIONS": "true"},
    ),
}
"""A line of shell and an environment: each changes other surroundings."""


@pytest.mark.parametrize("name", STARTS)
def test_processes_are_green(name):
    line, environment = STARTS[name]
    words = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", *TESTS]
    done = subprocess.run(
        ["sh", "-c", line, "sh", *words], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
