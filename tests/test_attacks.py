"""Short runs of the programs that damage files and kill commands; each prints its figures."""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attacks import relations

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


def test_what_differs_unsaid_is_silent():
    def look(found=(), **facts):
        return {"facts": facts, "found": collections.Counter(found)}

    before = look(names="a, b", start="2024-01-01 00:00:00", rows=9)
    assert relations.verdict(before, look(names="b, a", start="2031-03-04 00:00:00", rows=9)) == "same"
    assert relations.verdict(before, look(names="a, b", start="2024-01-01", rows=8)) == "silent"
    assert relations.verdict(before, look([("rows", "note")], names="a, b", rows=8)) == "said"
    assert relations.verdict(before, look([("rows", "error")], names="a, b", rows=9)) == "refused"
    assert relations.verdict(before, {"fault": "KeyError"}) == "fault"
    answered = [{**before, "answers": answers} for answers in ([1.0, 2.0], [1.0, 2.000001], [1.0, 2.1])]
    assert [relations.verdict(answered[0], each) for each in answered] == ["same", "same", "silent"]


def test_relations_are_drawn_of_every_task_with_a_table_and_none_is_silent(tmp_path):
    row = figures("relations", tmp_path, "--count", 70, "--answers", 4)
    assert len(row["tasks"]) == 9 and row["same"] > 50 and row["silent"] == row["fault"] == 0
