"""Splits that were made elsewhere: arrays, and indices of training and test rows, with what the rows belong to."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leak_sets.maker import Draw, LeakSet

ROWS = 900


def table(draw: Draw, rows: int = ROWS) -> tuple[Any, Any]:
    """Eight measurements and a class."""
    x = draw.normal(size=(rows, 8))
    return x, (x[:, :3].sum(1) + draw.normal(0, 1, rows) > 0).astype(int)


def halves(draw: Draw, rows: int = ROWS) -> dict[str, Any]:
    """Rows of training and of test, at random."""
    order = draw.permutation(rows)
    return {"train": np.sort(order[: rows * 7 // 10]), "test": np.sort(order[rows * 7 // 10 :])}


def same_rows(folder: Path, draw: Draw) -> dict[str, Any]:
    """A test row in fifteen is a training row, under another index."""
    x, y = table(draw)
    split = halves(draw)
    x[split["test"][:18]], y[split["test"][:18]] = x[split["train"][:18]], y[split["train"][:18]]
    return {"X": x, "y": y, **split}


def nearly_same_rows(folder: Path, draw: Draw) -> dict[str, Any]:
    """A test row in nine is a training row, measured again to a thousandth."""
    x, y = table(draw)
    split = halves(draw)
    x[split["test"][:30]] = x[split["train"][:30]] + 0.001 * draw.normal(size=(30, 8))
    y[split["test"][:30]] = y[split["train"][:30]]
    return {"X": x, "y": y, **split}


def patients_in_both(folder: Path, draw: Draw) -> dict[str, Any]:
    """Three rows of a patient, drawn at random."""
    x, y = table(draw)
    return {"X": x, "y": y, "groups": np.arange(ROWS) // 3, **halves(draw)}


def windows_that_overlap(folder: Path, draw: Draw) -> dict[str, Any]:
    """Windows of 48 steps of one series, which move by six, drawn at random."""
    long = draw.normal(size=3000).cumsum()
    starts = np.arange(0, 3000 - 48, 6)
    x = np.stack([long[at : at + 48] for at in starts])
    return {"X": x, "y": np.array([long[at + 48] for at in starts]), **halves(draw, len(x))}


def neighbours_in_space(folder: Path, draw: Draw) -> dict[str, Any]:
    """Samples of soil along walks, some metres apart, drawn at random; the soil changes over kilometres."""
    place = np.repeat(draw.uniform(0, 50_000, (30, 2)), 30, 0) + draw.normal(0, 40, (ROWS, 2))
    level = np.sin(place[:, 0] / 3000) + np.cos(place[:, 1] / 4000)
    x = draw.normal(size=(ROWS, 5)) + 0.3 * level[:, None]
    return {"X": x, "y": level + draw.normal(0, 0.05, ROWS), "coordinates": place, **halves(draw)}


def training_later(folder: Path, draw: Draw) -> dict[str, Any]:
    """Each hour has the slow level of its day; test hours lie between training hours."""
    times = pd.date_range("2022-01-01", periods=ROWS, freq="h")
    level = draw.normal(0, 0.3, ROWS).cumsum()
    x = np.column_stack([draw.normal(size=(ROWS, 4)), times.hour])
    return {"X": x, "y": level + draw.normal(0, 0.05, ROWS), "times": times, **halves(draw)}


def clean_random(folder: Path, draw: Draw) -> dict[str, Any]:
    """Rows that have nothing to do with each other."""
    x, y = table(draw)
    return {"X": x, "y": y, **halves(draw)}


def clean_groups(folder: Path, draw: Draw) -> dict[str, Any]:
    """Patients, kept together."""
    x, y = table(draw)
    x += 2 * draw.normal(size=(300, 8))[np.arange(ROWS) // 3]
    return {"X": x, "y": y, "groups": np.arange(ROWS) // 3, "train": np.arange(600), "test": np.arange(600, 900)}


def clean_blocks(folder: Path, draw: Draw) -> dict[str, Any]:
    """Blocks of a map, kept apart by ten kilometres."""
    place = draw.uniform(0, 20_000, (ROWS, 2))
    place[600:, 0] += 30_000
    level = np.sin(place[:, 0] / 3000)
    x = draw.normal(size=(ROWS, 5)) + 0.3 * level[:, None]
    return {"X": x, "y": level, "coordinates": place, "train": np.arange(600), "test": np.arange(600, 900)}


def clean_times(folder: Path, draw: Draw) -> dict[str, Any]:
    """Days in order: the last third is the test, a week after the training; three rows a day."""
    times = pd.date_range("2022-01-01", periods=300, freq="D").repeat(3)
    x, y = table(draw)
    return {
        "X": x + np.linspace(0, 1, ROWS)[:, None],
        "y": y,
        "times": times,
        "train": np.arange(579),
        "test": np.arange(600, 900),
    }


SETS = (
    LeakSet("rows that are the same", same_rows, "copies", "fresh"),
    LeakSet("rows that were measured again", nearly_same_rows, "copies", "fresh"),
    LeakSet("patients in both", patients_in_both, "copies", "fresh"),
    LeakSet("windows that move by six", windows_that_overlap, "copies", "fresh"),
    LeakSet("neighbours in space", neighbours_in_space, "any", "fresh"),
    LeakSet("hours between hours", training_later, "any", "fresh"),
    LeakSet("rows at random", clean_random, None, "fresh"),
    LeakSet("patients, kept together", clean_groups, None, "fresh"),
    LeakSet("blocks of a map", clean_blocks, None, "fresh"),
    LeakSet("days in order", clean_times, None, "fresh"),
)
