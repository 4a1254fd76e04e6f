"""A package of somebody else that adds a task: found by its entry point, and held to what every task promises."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from documents import blocks

ROOT = Path(__file__).parent
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


def write_spectra(folder):
    """Spectra of three classes, each with a peak of its own; later ones, and some that lack a value."""
    drawn = np.random.default_rng(0)
    labels, values = np.arange(120) % 3, drawn.normal(size=(120, 16)) / 4
    values[np.arange(120), 5 * labels] += 2
    lines = [f"{'abc'[label]} {' '.join(map(str, row))}" for label, row in zip(labels, values.round(3), strict=True)]
    later = [f"? {line[2:]}" for line in lines[:6]]
    named = {"some": lines, "new": later, "one": later[4:5], "lacking": [*lines, f"a {'nan ' * 16}"]}
    for name, text in named.items():
        (folder / f"{name}.spectra").write_text("\n".join(text) + "\n")


def test_a_task_of_another_package_is_checked_trained_audited_and_reported(installed, tmp_path):
    write_spectra(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), os.environ["PYTHONPATH"]])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    checked, trained, scores, _, _, audited, page, lacking, listed, is_known = json.loads(done.stdout.splitlines()[-1])
    assert "train: multiway train spectra --data some.spectra" in checked and is_known
    assert trained.startswith("Answer: ") and "majority" in trained
    accuracy = {row["model"]: row["acc"] for row in json.loads(scores)}
    assert accuracy["logistic"] > 0.9 > accuracy["majority"]
    later, alone = pd.read_csv(tmp_path / "new.csv"), pd.read_csv(tmp_path / "one.csv")
    assert "".join(later["predicted"]) == "abcabc"
    pd.testing.assert_frame_equal(alone, later[4:5].reset_index(drop=True))
    assert "none of 120 spectra is in two splits" in audited and Path(tmp_path, page.strip()).is_file()
    assert "a spectrum lacks a value" in lacking and "121" in lacking
    assert "spectra" in listed and "Classes of spectra." in listed


def test_the_guide_prints_the_task():
    printed = [block.text for block in blocks(ROOT.parent / "docs" / "guides" / "own-task.md")]
    assert printed[:2] == [(ROOT / "plugin" / name).read_text() for name in ("spectra.py", "pyproject.toml")]
