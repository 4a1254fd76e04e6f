"""A package of somebody else that adds a task: found by its entry point, and held to what every task promises."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from documents import blocks
from tasks.tiny import write_spectra

ROOT = Path(__file__).parent
PARTS = ("", "_answers", "_inputs", "_integrity", "_screens", "_tuning")
"""Of the contract: those with a test that looks at one run of any task."""
WORDS = (
    "check some.spectra",
    "train spectra --data some.spectra --out run --quiet",
    "evaluate run --json",
    "predict run --data new.spectra --out new.csv",
    "predict run --data one.spectra --out one.csv",
    "audit spectra --data some.spectra",
    "report run",
    "check lacking.spectra",
    "train --help",
)
PROGRAM = f"""
import contextlib, io, json, pickle, sys
from multiway.cli.main import run
said = []
for words in {WORDS}:
    sys.argv = ["multiway", *words.split()]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        run()
    said.append(out.getvalue())
from multiway.tasks.settings import TASKS
from multiway.tasks.registry import task_of
task = task_of("spectra")
said.append(TASKS[-1] in ("text", "tabular") and pickle.loads(pickle.dumps(task)) is task)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder in which the package of `tests/plugin` is installed."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*pip, "--target", folder, ROOT / "plugin"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def run_installed(installed, words, folder):
    """Python in a process of its own that finds the package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), os.environ["PYTHONPATH"]])}
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)


def test_a_task_of_another_package_is_checked_trained_audited_and_reported(installed, tmp_path):
    write_spectra(tmp_path)
    done = run_installed(installed, ["-c", PROGRAM], tmp_path)
    assert done.returncode == 0, done.stderr
    checked, trained, scores, _, _, audited, page, lacking, listed, is_known = json.loads(done.stdout.splitlines()[-1])
    assert "train: multiway train spectra --data some.spectra" in checked and is_known
    assert trained.startswith("Answer: ") and "majority" in trained
    accuracy = {row["model"]: row["acc"] for row in json.loads(scores)}
    assert accuracy["logistic"] > 0.9 > accuracy["majority"]
    later, alone = pd.read_csv(tmp_path / "new.csv"), pd.read_csv(tmp_path / "one.csv")
    assert "".join(later["predicted"]) == "abcabc"
    pd.testing.assert_frame_equal(alone, later[4:5].assign(spectrum="line 1").reset_index(drop=True))
    assert "none of 120 spectra is in two splits" in audited and Path(tmp_path, page.strip()).is_file()
    assert "a spectrum lacks a value" in lacking and "121" in lacking
    assert "spectra" in listed and "Classes of spectra." in listed


@pytest.mark.slow
def test_the_task_keeps_what_every_task_promises(installed):
    """The contract's own tests, where the package is one of those installed."""
    files = [ROOT / "tasks" / f"test_contract{part}.py" for part in PARTS]
    words = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "spectra", *map(str, files)]
    done = run_installed(installed, words, ROOT.parent)
    assert done.returncode == 0 and re.search(r"\b[2-9]\d passed", done.stdout), done.stdout


def test_the_guide_prints_the_task():
    printed = [block.text for block in blocks(ROOT.parent / "docs" / "guides" / "own-task.md")]
    assert printed[:2] == [(ROOT / "plugin" / name).read_text() for name in ("spectra.py", "pyproject.toml")]
