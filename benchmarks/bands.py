"""What 80 % bands of the default forecast hold on series whose process is known: many draws, so that chance is small.

A test set of one file has too few windows to tell whether bands are right. Each draw here is trained on by the default
and scored on its last fifth; draws take the seeds 1000, 1001, and so on.

    python -m benchmarks.bands --draws 10 --out results/bands.jsonl
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.rows import facts, keep
from multiway.errors import MultiwayWarning
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.protocol import OURS

Values = NDArray[np.float64]
FIRST_SEED = 1000


def walk(rng: np.random.Generator, rows: int) -> Values:
    """A random walk."""
    return np.cumsum(rng.normal(size=rows)) + 50


def cycle(rng: np.random.Generator, rows: int) -> Values:
    """An autoregression of order two, whose cycles are irregular."""
    values = np.zeros(rows + 50)
    for row, error in enumerate(rng.normal(size=rows + 48), 2):
        values[row] = 1.2 * values[row - 1] - 0.5 * values[row - 2] + error
    return values[50:] + 30


def seasons(rng: np.random.Generator, rows: int) -> Values:
    """Level, slope and twelve seasons, each moved by the error of the step."""
    level, slope, season, out = 100.0, 0.3, list(10 * np.sin(2 * np.pi * np.arange(12) / 12)), []
    for row, error in enumerate(2 * rng.normal(size=rows)):
        out.append(level + slope + season[row % 12] + error)
        level, slope = level + slope + 0.3 * error, slope + 0.02 * error
        season[row % 12] += 0.1 * error
    return np.array(out)


def growth(rng: np.random.Generator, rows: int) -> Values:
    """Growth by a share, with twelve seasons and errors in proportion to the level."""
    errors = 0.04 * rng.normal(size=rows)
    level = 5 + np.cumsum(0.008 + 0.4 * errors)
    return np.asarray(np.exp(level + 0.2 * np.sin(2 * np.pi * np.arange(rows) / 12) + 0.6 * errors))


def quarters(rng: np.random.Generator, rows: int) -> Values:
    """A level that moves by half of each error, under four fixed seasons."""
    errors = rng.normal(size=rows)
    level = 20 + 0.5 * np.concatenate([[0.0], np.cumsum(errors)[:-1]])
    return np.asarray(level + np.resize([2.0, -1.0, 1.0, -2.0], rows) + errors)


class Process(NamedTuple):
    """How series are drawn, and the run they are given to."""

    draw: Callable[[np.random.Generator, int], Values]
    rows: int
    frequency: str | None
    lookback: int
    horizon: int


PROCESSES = (
    Process(walk, 100, None, 20, 5),
    Process(cycle, 150, None, 20, 5),
    Process(seasons, 144, "MS", 36, 12),
    Process(growth, 144, "MS", 36, 12),
    Process(quarters, 100, "QS", 16, 4),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bands", description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10, help="series of each process")
    parser.add_argument("--out", type=Path, help="file of rows to add to")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.simplefilter("ignore", MultiwayWarning)
    rows, measured = [], {**facts(), "seed": FIRST_SEED}
    for process in PROCESSES:
        held = [coverage(process, FIRST_SEED + draw) for draw in range(arguments.draws)]
        rows.append(_row(process.draw.__name__, held, process.rows))
        keep(rows[-1], arguments.out, **measured)
    keep(
        {"process": "all", "draws": arguments.draws, "mean": float(np.mean([row["mean"] for row in rows]))},
        arguments.out,
        **measured,
    )


def coverage(process: Process, seed: int) -> float:
    """Share of the test values within the 80 % bands of a run on one draw."""
    values = process.draw(np.random.default_rng(seed), process.rows)
    steps = np.arange(process.rows)
    dates = process.frequency and pd.date_range("1990-01-01", periods=process.rows, freq=process.frequency)
    frame = pd.DataFrame({"ds": steps if dates is None else dates, "y": values})
    settings: dict[str, Any] = {"lookback": process.lookback, "horizon": process.horizon}
    if process.rows - int(0.7 * process.rows) - (test := int(0.2 * process.rows)) < process.horizon:
        settings["split"] = {"train": (process.rows - test - process.horizon + 0.5) / process.rows}
    run = lifecycle.fit_in_memory(TASK, ForecastConfig.parse(settings), frame)
    wanted = {"split": "test", "model": OURS, "metric": "coverage_80"}
    return float(next(row["value"] for row in run.scores if wanted.items() <= row.items()))


def _row(name: str, held: list[float], rows: int) -> dict[str, Any]:
    return {
        "process": name,
        "rows read": rows,
        "draws": len(held),
        "mean": float(np.mean(held)),
        "standard error": float(np.std(held, ddof=1) / len(held) ** 0.5) if len(held) > 1 else None,
    }


if __name__ == "__main__":
    main()
