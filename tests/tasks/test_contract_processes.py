"""Two processes of `torchrun` make the run that one makes, apart from the order of sums."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from command import printed
from multiway.tasks.registry import TASKS
from tasks.tiny import TINY
from tolerances import COARSE32

PROGRAM = Path(__file__).with_name("two_processes.py")
LIMIT = 120
STILL = {"model__dropout": 0.0, "training__epochs": 1, "draws": 0}


def changes_of(tiny):
    return {name: value for name, value in STILL.items() if name != "draws" or "draws" in tiny.settings}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Folder with `TASK/one` and `TASK/two`; each pair is made by one process and by two."""
    folder = tmp_path_factory.mktemp("processes")
    words = {}
    for name in TASKS:
        (folder / name).mkdir()
        tiny = TINY[name](folder / name)
        printed(*tiny.train(folder / name / "one", **changes_of(tiny)))
        words[name] = tiny.train(folder / name / "two", **changes_of(tiny))
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(PROGRAM)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*start, json.dumps(words)], capture_output=True, text=True, timeout=LIMIT, env=environment
    )  # fmt: skip
    return folder, done.stderr


@pytest.mark.parametrize("name", TASKS)
def test_two_processes_make_the_run_of_one(name, both):
    folder, errors = both
    one, two = folder / name / "one", folder / name / "two"
    assert (two / "manifest.json").is_file(), errors[-2000:]
    for path in sorted(one.rglob("*.safetensors")):
        left, right = load_file(path), load_file(two / path.relative_to(one))
        assert left.keys() == right.keys()
        for key, tensor in left.items():
            assert (tensor.double() - right[key].double()).abs().max() <= COARSE32 * max(tensor.abs().max(), 1), key
    assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in two.iterdir())
