"""What a series that ends a few steps before the others loses: its last steps forecast first, or its last value on.

Ridge is fitted on the first 70 % of the rows. From 40 later moments every second series lacks its last steps. Errors
are in standard deviations of the rows of the fit. Of sets of published tables the rows of training are taken alone.

    python -m benchmarks.late_series --out results/late-series.jsonl
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.classical import facts, keep
from multiway import Forecaster, load_example
from multiway.data import datasets
from multiway.errors import MultiwayWarning
from multiway.tasks.forecasting.source import read_panel

SETS = {"store_sales": (14, 56), "exchange": (14, 56), "ett_h1": (24, 96)}
"""Horizon and look-back."""
LACKING = (1, 3, 7)
MOMENTS, FITTED, TRAINED = 40, 0.7, 0.6


def rows_of(name: str) -> pd.DataFrame:
    """A column for each series."""
    if name == "store_sales":
        return load_example(name).pivot(index="date", columns="store", values="units").astype(float)
    panel = read_panel(datasets.locate(name))
    return pd.DataFrame(panel.values, panel.times, panel.names)[: int(TRAINED * panel.num_rows)]


def measure(name: str) -> Iterator[dict[str, Any]]:
    """A row for each number of lacking steps."""
    rows, (horizon, lookback) = rows_of(name), SETS[name]
    stop, late = int(FITTED * len(rows)), np.arange(1, rows.shape[1], 2)
    settings = {"answer": "ridge", "read": {"missing": "mask"}}
    fitted = Forecaster(horizon=horizon, lookback=lookback, levels=(80,), settings=settings).fit(rows[:stop])
    scale = rows[:stop].std().to_numpy()[late]
    ends = np.linspace(stop + 2 * lookback, len(rows) - horizon, MOMENTS).astype(int)
    for steps in LACKING:
        found: dict[str, list[float]] = {}
        for end in ends:
            whole, truth = rows[end - 2 * lookback : end], rows[end : end + horizon].to_numpy()[:, late]
            held = whole.copy()
            held.iloc[-steps:, late] = np.nan
            for case, history in (("whole", whole), ("late", held), ("last value", held.ffill())):
                middle, low, high = _forecast(fitted, history, rows.columns[late])
                found.setdefault(f"{case}: error", []).append(float((abs(middle - truth) / scale).mean()))
                found.setdefault(f"{case}: in 80 %", []).append(float(((low <= truth) & (truth <= high)).mean()))
        means = {label: round(float(np.mean(each)), 4) for label, each in found.items()}
        yield {"case": name, "lacking": steps, "horizon": horizon, "moments": MOMENTS, **means}


def _forecast(fitted: Forecaster, history: pd.DataFrame, names: pd.Index) -> list[np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MultiwayWarning)
        table = fitted.predict(history, layout="wide")
    return [table[[f"{name}{band}" for name in names]].to_numpy() for band in ("", "-lo-80", "-hi-80")]


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    for name in SETS:
        for row in measure(name):
            keep(row, given.out, facts(earlier=name != "store_sales"))


if __name__ == "__main__":
    main()
