"""The suite is green however it is started: other signals, streams, locale, home, clock or terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TESTS = ["tests/cli/test_process.py", "tests/cli/test_help.py", "tests/cli/test_tables.py"]
SHELL = {
    "in the background of a script": "trap '' INT HUP; \"$@\"",
    "without streams": '"$@" <&-',
    "private files": 'umask 077; "$@"',
}
ENVIRONMENT = {
    "locale C": {"LC_ALL": "C"},
    "a locale that is absent": {"LC_ALL": "", "LANG": "de_DE.ISO-8859-1"},
    "no home": {"HOME": "/nonexistent"},
    "a narrow terminal": {"COLUMNS": "20", "LINES": "5", "FORCE_COLOR": "1"},
    "another clock": {"TZ": "Asia/Kathmandu"},
    "a runner": {"CI": "true", "GITHUB_ACTIONS": "true"},
}


@pytest.mark.parametrize("name", [*SHELL, *ENVIRONMENT])
def test_processes_are_green(name):
    words = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", *TESTS]
    line = ["sh", "-c", SHELL.get(name, '"$@"'), "sh", *words]
    environment = os.environ | ENVIRONMENT.get(name, {})
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
