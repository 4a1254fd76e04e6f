"""What the default forecaster could have been: one change at a time, scored on rows before the test rows.

The test rows of a data set are cut off first. Of the rest half trains, a quarter validates, a quarter scores.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from multiway.data import datasets
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.protocol import OURS
from multiway.tasks.scores import score_of

ROWS = {"ett_h1": 11_520, "ett_m1": 46_080}
"""Those before the test rows: little data, and plenty."""
SPLIT = {"protocol": "fraction", "train": 0.5, "test": 0.25}
CHOICES: dict[str, dict[str, Any]] = {
    "default": {},
    "no moving average": {"training": {"average": None}},
    "moving average .998": {"training": {"average": 0.998}},
    "mean of three networks": {"members": 3},
    "four epochs": {"training": {"epochs": 4}},
    "squared error": {"training": {"loss": "mse"}},
    "Huber": {"training": {"loss": "huber"}},
    "patches of 8": {"model": {"patch_length": 8}},
    "patches of 32": {"model": {"patch_length": 32}},
    "sum of modes": {"model": {"combine": "sum"}},
    "variates attend": {"model": {"attended_modes": [0]}},
    "time attends": {"model": {"attended_modes": [1]}},
    "no attention": {"model": {"attended_modes": []}},
    "mean of patches": {"model": {"pooling": "mean"}},
    "128 features": {"model": {"dim": 128}},
    "ridge underneath is trained": {"model": {"linear_floor": "trained"}},
    "no ridge underneath": {"model": {"linear_floor": "none"}},
    "no levels shown": {"model": {"level_features": False}},
    "orthogonal time, OLinear": {"model": {"name": "olinear"}},
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choices", description=__doc__)
    parser.add_argument("--data", nargs="*", choices=ROWS, default=list(ROWS))
    parser.add_argument("--choices", nargs="*", choices=CHOICES, default=list(CHOICES))
    parser.add_argument("--horizon", type=int, default=96)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, help="append one JSON line per data set and choice")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    for row in rows(given.data, given.choices, given.horizon, given.seeds):
        print(json.dumps(row), flush=True)
        if given.out:
            with given.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def rows(names: Sequence[str], choices: Sequence[str], horizon: int, seeds: int) -> Iterator[dict[str, object]]:
    """One per data set and choice, of the mean over seeds."""
    for name in names:
        frame = earlier_rows(name)
        for choice in choices:
            start = time.perf_counter()
            scored = [scores(frame, choice, horizon, seed) for seed in range(seeds)]
            seconds = (time.perf_counter() - start) / seeds
            means = {key: round(statistics.fmean(each[key] for each in scored), 4) for key in scored[0]}
            forecasts = [each["forecast"] for each in scored]
            yield {
                "data": name, "horizon": horizon, "choice": choice, "seeds": seeds, **means,
                "spread": round(max(forecasts) - min(forecasts), 4), "seconds": round(seconds, 1),
                "threads": torch.get_num_threads(),
            }  # fmt: skip


def earlier_rows(name: str) -> pd.DataFrame:
    """A data set without its test rows."""
    path = Path(datasets.locate(name))
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return frame.iloc[: ROWS[name]]


def scores(frame: pd.DataFrame, choice: str, horizon: int, seed: int) -> dict[str, float]:
    """Mean squared errors of ridge, of the network, and of the forecast that validation makes of both."""
    run = lifecycle.fitted(TASK, settings_of(choice, horizon, seed), frame)
    return {
        "ridge": score_of(run, "ridge", "mse")["value"],
        "network": score_of(run, "network", "mse")["value"],
        "forecast": score_of(run, OURS, "mse")["value"],
        "on_validation": run.facts["selection"]["network_error"],
    }


def settings_of(choice: str, horizon: int, seed: int) -> ForecastConfig:
    """The recipes `floor-ett*` on these splits, with one change."""
    changed = CHOICES[choice]
    own = changed.get("model", {})
    model = own if "name" in own else {"level_features": True, **own}
    training = {"epochs": 2, "seed": seed, **changed.get("training", {})}
    fields = {"horizon": horizon, "split": SPLIT, "members": changed.get("members", 1)}
    return TASK.configure({**fields, "model": model, "training": training})


if __name__ == "__main__":
    main()
