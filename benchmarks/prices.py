"""How much the score of electricity prices depends on which twenty days are scored, on the days before the benchmark's.

Each stretch has as many days as the windows of fev-bench. The candidate, its mix and its penalties are those of
`multiway reproduce fev`, each day forecast from the days before it.

    MULTIWAY_DATA=DATA python -m benchmarks.prices --out results/prices.jsonl
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.classical import facts, keep
from multiway_papers.open_floor import Floats, Rows, best_mix
from multiway_papers.open_tasks import OpenTask, tasks_of, windows_of

MARKETS = ("epf_np", "epf_pjm", "epf_be")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prices", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="file of rows to add to")
    arguments = parser.parse_args()
    ratios = {task.row: stretches_of(task) for task in tasks_of("fev", [*MARKETS])}
    count = min(map(len, ratios.values()))
    ratios["mean of the three"] = np.exp(np.mean([np.log(each[-count:]) for each in ratios.values()], axis=0))
    for name, each in ratios.items():
        keep(_row(name, each), arguments.out, facts(earlier=True))


def stretches_of(task: OpenTask) -> Floats:
    """MASE relative to the seasonal naive forecast, of every stretch before the first window, the last one last."""
    [item] = task.items()
    rows, first = Rows.of(task, item), next(iter(windows_of(task, item)))
    mix, outcome = best_mix(rows, first)
    error = np.abs(mix.units.back(outcome.future).numpy() - mix.units.back(outcome.forecast).numpy()).mean((1, 2))
    days = item.values[first - (len(error) + 1) * task.season : first].reshape(-1, task.season)
    naive = np.abs(np.diff(days, axis=0)).mean(1)
    whole = len(error) // task.windows * task.windows
    own, other = (each[-whole:].reshape(-1, task.windows).mean(1) for each in (error, naive))
    return np.asarray(own / other)


def _row(name: str, ratios: Floats) -> dict[str, Any]:
    low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    return {
        "market": name, "stretches": len(ratios), "lowest tenth": float(low), "median": float(middle),
        "highest tenth": float(high),
    }  # fmt: skip


if __name__ == "__main__":
    main()
