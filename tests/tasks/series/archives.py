"""Small archives of series as UCR and UEA publish them."""

from pathlib import Path

import numpy as np
import pandas as pd

from multiway.tasks.series import SeriesConfig
from multiway.tasks.series.task import TASK

HEADER = """# A comment
@problemName Bumps
@timeStamps false
@missing true
@univariate false
@dimensions 2
@equalLength false
@classLabel true no yes
@data
"""
LINES = ("1,2,3:4,5,6:no", "1.5,?,2,7:4,5,NaN,8:yes", "0,0,1:1,0,0:no", "3,4:1,2,3:yes")


def write_ts(path: Path, lines: tuple[str, ...] = LINES, header: str = HEADER) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header + "\n".join(lines) + "\n")
    return path


def bumps(count: int, steps: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Series of one variate, of two classes by turns."""
    x = np.random.default_rng(seed).normal(0, 0.3, (count, steps)).round(4)
    x[1::2, 3:6] += 2
    return x, np.arange(count) % 2 + 1


def write_rows(path: Path, x: np.ndarray, y: np.ndarray, mark: str = "\t") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [mark.join([f"{label:.7e}", *map(str, row)]) for row, label in zip(x, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def long_frame(count: int = 12, steps: int = 6) -> pd.DataFrame:
    """A row per step of two variates; every third series is a step shorter, and rows are in no order."""
    x, y = bumps(count, steps)
    names = ("id", "time", "x", "y", "class")
    rows = [
        (f"s{row}", f"2024-01-{step + 1:02d}", x[row, step], -x[row, step], f"c{y[row]}")
        for row in range(count) for step in range(steps - (row % 3 == 2))
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(names)).sample(frac=1, random_state=0).reset_index(drop=True)


def prepare_sequences(source, options, split):
    """Series ready for training."""
    return TASK.prepare(SeriesConfig(read=options, split=split), source)


def match_sequences(source, options, state, *, has_target=True):
    """Later series."""
    config = SeriesConfig(read=options)
    return TASK.prepare(config, source, state, labelled=has_target)


def check_sequences(source):
    """What a check says of series."""
    return TASK.kind.check(SeriesConfig(), source)
