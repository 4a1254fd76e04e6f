"""What a run answers for some data, by the sample, and whether two answers are the same."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pandas as pd

from command import printed
from tasks.later_data import COPY
from tasks.tiny import OUT
from tolerances import ROUNDING32

KEYS = {
    "forecast": ["unique_id", "date"], "series": ["series"], "volumes": ["case"], "segment": ["case"],
    "stocks": ["ticker"], "text": ["text"], "tabular": ["name"], "images": ["image"], "language": ["text"],
    "grids": ["time", "cell"],
}  # fmt: skip
_OWN: dict[str, pd.DataFrame] = {}
ANSWERS = "^(multiway|predicted|p_|voxels|mask|nats|bits|tokens)"


def own_answers(made, folder):
    """What a run answers for the data that it was trained on, predicted once in a process."""
    if made.tiny.task not in _OWN:
        _OWN[made.tiny.task] = answered(made.tiny.task, made.run, made.tiny.data, folder / "own")
    return _OWN[made.tiny.task]


def answered(task, run, data, out):
    """What a run answers for some data, as text, by the sample."""
    target = place_of(task, out)
    printed("predict", run, "--data", data, "--out", target)
    table = read_answer(target, dtype=str, keep_default_na=False)
    if task == "segment":
        table["mask"] = [hashlib.sha256(np.load(target / name).tobytes()).hexdigest() for name in table["file"]]
    keys = table[KEYS[task]].agg(", ".join, axis=1).map(plain_key)
    return table.filter(regex=ANSWERS).set_index(keys)


def place_of(task, out):
    """Where an answer is written: a table but for masks and fields."""
    return out.with_suffix(Path(OUT.get(task, "out.csv")).suffix)


def read_answer(target, **how):
    """The table that `predict` wrote, of masks that of their sizes; of fields a row for each time and cell."""
    if target.suffix != ".npz":
        return pd.read_csv(target / "volumes.csv" if target.is_dir() else target, **how)
    with np.load(target) as arrays:
        fields, times = arrays["sst"].reshape(len(arrays["time"]), -1), arrays["time"]
    frame = pd.DataFrame(fields, index=pd.Index(times, name="time")).rename_axis(columns="cell")
    table = frame.stack().rename("multiway").reset_index()
    return table.astype(str) if how else table


def plain_key(cell):
    """The name of a sample without what a relation put to it."""
    return re.sub(r"(bar|dot)-", r"\1/", cell.replace(COPY, "").replace(".bmp", ".png"))


def assert_same_answers(result, expected, factor=1.0):
    """Samples that are there have the answers that are expected of them, numbers times a factor."""
    expected = expected.loc[result.index]
    assert list(result) == list(expected) and len(result)
    for name in expected:
        if re.match("predicted|mask", name):
            assert list(result[name]) == list(expected[name]), f"{result[name]}, and {expected[name]} is expected"
        else:
            numbers, known = (each[name].replace("", np.nan).astype(float) for each in (result, expected))
            np.testing.assert_allclose(numbers / factor, known, rtol=10 * ROUNDING32, atol=ROUNDING32, err_msg=name)
