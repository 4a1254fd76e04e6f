"""What a network's own quantiles give the bands of the answer: two made sets, trained with and without them.

The size of the noise of `noise` is that of its hour and of the errors before it, which a window shows. In `shop` it is
that of holidays, which are known ahead, ten a year for eight years.

    python -m benchmarks.quantile_head --seeds 2 --out results/quantile-head.jsonl
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.classical import facts, keep
from benchmarks.holidays import DIFFERENCE, made_shop
from multiway import Forecaster
from multiway.tasks.protocol import OURS

QUANTILES = (0.1, 0.5, 0.9)
ROWS, SERIES = 4000, 2
METRICS = ("mse", "sql", "coverage_80", "coverage_95")
SETS: dict[str, dict[str, Any]] = {
    "noise": {"horizon": 12, "lookback": 48},
    "shop": {"horizon": 14, "lookback": 56, "future": ["holiday"]},
}


def noise(seed: int) -> pd.DataFrame:
    """Autoregressions whose errors have the variance 0.1 + 0.5 e² + 0.4 of the one before, times that of the hour."""
    rng, hours = np.random.default_rng(seed), np.arange(ROWS)
    errors, variance = np.zeros((ROWS, SERIES)), np.ones(SERIES)
    for row, drawn in enumerate(rng.normal(size=(ROWS - 1, SERIES)), 1):
        variance = 0.1 + 0.5 * errors[row - 1] ** 2 + 0.4 * variance
        errors[row] = np.sqrt(variance) * drawn
    errors *= np.exp(1.2 * np.sin(2 * np.pi * hours / 24))[:, None]
    values = np.zeros((ROWS, SERIES))
    for row in range(1, ROWS):
        values[row] = 0.7 * values[row - 1] + errors[row]
    columns = {f"series {place}": 50 + values[:, place] for place in range(SERIES)}
    return pd.DataFrame({"date": pd.date_range("2020-01-01", periods=ROWS, freq="h"), **columns})


def measure(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """A row without quantiles and one with them."""
    frame = noise(seed) if name == "noise" else made_shop(seed, years=8, difference=DIFFERENCE)
    for quantiles in ((), QUANTILES):
        start, settings = time.perf_counter(), {"network": True, "model": {"quantiles": list(quantiles)}}
        run = Forecaster(**SETS[name], settings=settings).fit(frame).run_
        scores = [row for row in run.scores if row["model"] == OURS and row["split"] == "test"]
        found = {row["metric"]: round(row["value"], 4) for row in reversed(scores) if row["metric"] in METRICS}
        varying = {each: run.facts["intervals"][each] for each in ("by_network", "by_covariates", "following")}
        seconds = round(time.perf_counter() - start, 1)
        yield {"case": name, "seed": seed, "quantiles": len(quantiles), **varying, **found, "seconds": seconds}


def main() -> None:
    """Measure every set and print its rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    for name in chosen.sets:
        for seed in range(chosen.seeds):
            for row in measure(name, seed):
                keep(row, chosen.out, facts(earlier=False) | {"seed": seed})


if __name__ == "__main__":
    main()
