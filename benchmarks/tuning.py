"""The best validation measure of twenty trials, TPE's against that of a random draw, on three tables.

python -m benchmarks.tuning --seeds 5 --out results/tuning.jsonl
"""

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn import datasets

import multiway
from benchmarks.classical import facts
from benchmarks.classical_sets import made_shops
from multiway.errors import MultiwayWarning

TRIALS, EPOCHS = 20, 3
RATES = {"training.learning_rate": [0.0003, 0.001, 0.003, 0.01, 0.03]}
HIDDEN = {"model.hidden": [[4], [8], [16], [32], [64], [16, 16], [32, 32], [64, 64]], "model.dropout": [0.0, 0.1, 0.3]}
WINDOWS = {"lookback": [14, 28, 42, 56], "model.dim": [8, 16, 32], "model.dropout": [0.0, 0.1, 0.3]}
Searched = tuple[str, pd.DataFrame, dict[str, Any], dict[str, list[Any]]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="file of rows to add to")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", MultiwayWarning)
    sets: dict[str, Callable[[], Searched]] = {"breast cancer": cancer, "diabetes": diabetes, "made shops": shops}
    for name, make in sets.items():
        row = {"set": name, **measured(make(), chosen.seeds)}
        print(json.dumps(row), flush=True)
        if chosen.out is not None:
            with chosen.out.open("a") as file:
                file.write(json.dumps(row | facts(earlier=False)) + "\n")


def measured(searched: Searched, seeds: int) -> dict[str, Any]:
    """Mean over seeds of the best of the trials, the lower the better, by sampler; and the seconds of a search."""
    row: dict[str, Any] = {"trials": TRIALS, "seeds": seeds}
    for sampler in ("random", "tpe"):
        clock = time.perf_counter()
        best = [best_of(searched, sampler, seed) for seed in range(seeds)]
        row |= {sampler: statistics.mean(best), f"{sampler} worst seed": max(best)}
        row[f"{sampler} seconds"] = round((time.perf_counter() - clock) / seeds, 1)
    return row


def best_of(searched: Searched, sampler: str, seed: int) -> float:
    """The lowest loss, or the highest score with its sign turned."""
    task, frame, settings, space = searched
    tuned = multiway.tune(task, settings, source=frame, space=space, trials=TRIALS, sampler=sampler, seed=seed)
    return tuned.trials[0].rank[0]


def cancer() -> Searched:
    return _table(datasets.load_breast_cancer(as_frame=True).frame)


def diabetes() -> Searched:
    return _table(datasets.load_diabetes(as_frame=True).frame)


def _table(frame: pd.DataFrame) -> Searched:
    settings = {"read": {"target": "target"}, "training": {"epochs": EPOCHS}}
    return "tabular", frame, settings, {**RATES, **HIDDEN}


def shops() -> Searched:
    settings = {"horizon": 7, "training": {"epochs": EPOCHS}}
    return "forecast", made_shops(12), settings, {**RATES, **WINDOWS}


if __name__ == "__main__":
    main()
