"""Short runs of the programs that damage files and kill commands; each prints its figures."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent


def figures(name, folder, *words):
    """The row that a benchmark prints; what went wrong is in its stderr."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("src", "tests", "."))
    done = subprocess.run(
        [sys.executable, "-m", f"attacks.{name}", "--folder", str(folder / name), *map(str, words)],
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_mutants_are_refused_or_change_nothing(tmp_path):
    row = figures("mutants", tmp_path, "--count", 100, "--tasks", "forecast", "tabular")
    assert row["tried"] == 100 and row["refused"] > 30


def test_killed_commands_leave_the_earlier_result_or_the_new_one(tmp_path):
    row = figures("kills", tmp_path, "--count", 16, "--tasks", "segment", "--many")
    assert row["kills"] == row["as_if_undisturbed"] == 16 and row["half_written"] == 0


def test_killed_commands_go_on_as_if_undisturbed(tmp_path):
    row = figures("kills", tmp_path, "--count", 24, "--tasks", "forecast")
    assert row["kills"] == row["as_if_undisturbed"] == 24 and row["inside_a_save"] > 3
