"""Two processes make the run that one makes, apart from the order of sums."""

import pytest
import torch
from safetensors.torch import load_file

from command import printed
from tasks.tiny import TASKS, TINY
from tasks.two_processes import started
from tolerances import LONG32

LIMIT = 120
JOINED = "attention.project.bias"
"""Of queries, keys and values."""


def without_keys(name, tensor):
    """Without the bias of keys, which a softmax does not see: its gradient is rounding, and Adam makes steps of it."""
    return torch.cat(tensor.tensor_split(3)[::2]) if name.endswith(JOINED) else tensor


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Folder with `TASK/one`, made by one process, and `TASK/two`, made by two; and what the two complained of."""
    folder = tmp_path_factory.mktemp("processes")
    words = {}
    for name in TASKS:
        (folder / name).mkdir()
        tiny = TINY[name](folder / name)
        printed(*tiny.train(folder / name / "one", **tiny.still))
        words[name] = tiny.train(folder / name / "two", **tiny.still)
    processes = [*started(words, folder)]
    for process in processes:
        process.join(LIMIT)
        process.kill()
    return folder, "".join(path.read_text() for path in folder.glob("errors-*"))


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_two_processes_make_the_run_of_one(name, both):
    folder, errors = both
    one, two = folder / name / "one", folder / name / "two"
    assert (two / "manifest.json").is_file(), errors[-2000:]
    left, right = (load_file(run / "weights.safetensors") for run in (one, two))
    assert left.keys() == right.keys()
    for key in left:
        one_of, two_of = (without_keys(key, weights[key]).double() for weights in (left, right))
        assert float((one_of - two_of).abs().max()) <= LONG32, key
    assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in two.iterdir())
