"""Seconds of a training step by how many modes attend (HOT, section 5.3.2, figure 4), on one thread.

    python -m benchmarks.orders --rounds 9 --out results/orders.jsonl

Cells of tables 3 and 4 take turns, in processor seconds; with one mode of two, the mean of both. Where time is linear
in the number of modes, a line through the two ends meets what lies between: `bend` is by how much it does not, as a
share of the time without attention, with its 95 % interval over rounds.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from scipy import stats

from benchmarks.costs import timed
from benchmarks.rows import facts, keep
from multiway.workflows.recipe import load_recipe

CELLS: Mapping[str, Sequence[Sequence[str]]] = {
    "ettm1": (["hot-order-ettm1-none"], ["hot-order-ettm1-variate", "hot-order-ettm1-time"], ["hot-order-ettm1-both"]),
    "adrenal": tuple([f"hot-order-adrenal-{modes}"] for modes in ("none", "h", "hw", "hwd")),
}
"""Names of cells by the number of modes that attend."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.orders", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SET", default=list(CELLS), help="only these sets")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path, help="append one JSON line per set")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for name in chosen.names:
        rounds = [[fmean(map(seconds_of, cells)) for cells in CELLS[name]] for _ in range(chosen.rounds)]
        keep(measured(name, np.array(rounds)), chosen.out, **facts())


def seconds_of(cell: str) -> float:
    """Of one step of its training."""
    recipe = load_recipe(cell)
    return timed(recipe, recipe.settings_of_runs()[0])[0]


def measured(name: str, rounds: np.ndarray) -> dict[str, object]:
    """The row of a set: medians by the number of modes, and how far from a line these are."""
    without, *between, both = rounds.T
    steps = len(between) + 1
    bends = [each - without - (both - without) * (place + 1) / steps for place, each in enumerate(between)]
    apart = np.stack(bends).mean(0) / np.median(without)
    low, high = stats.t.interval(0.95, len(apart) - 1, apart.mean(), stats.sem(apart))
    medians = [round(float(each), 4) for each in np.median(rounds, 0)]
    return {"set": name, "seconds": medians, "bend": float(apart.mean()), "low": float(low), "high": float(high)}


if __name__ == "__main__":
    main()
