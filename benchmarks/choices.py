"""What the default forecaster could have been: one change at a time, scored on rows before the test rows.

The test rows of a data set are cut off first. Each fifth of the rest is scored in turn; the tenth before it validates,
and all others train, those after it too, so that every choice has seen as many seasons as in the recipes.
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from multiway.data import datasets
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.network import model_of
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.known import brought
from multiway.tasks.run import Run

ROWS = {"ett_h1": 11_520, "ett_h2": 11_520, "ett_m1": 46_080, "exchange": 6_071, "weather": 42_157}
"""Those before the test rows."""
FIFTHS = 5
SPLIT = {"protocol": "fraction", "train": 0.7, "test": 0.2}
LONGER_VALIDATION = {"exchange": {**SPLIT, "train": 0.6}}
"""Of sets a tenth of which holds no window of 720 steps."""
LOADS = ("ett_h1", "ett_h2", "ett_m1")
"""Sets whose recipes show the level."""
PARTS = ("ridge", "network", "half", "forecast")
CHOICES: dict[str, dict[str, Any]] = {
    "default": {},
    "no moving average": {"training": {"average": None}},
    "moving average .998": {"training": {"average": 0.998}},
    "no partner": {"partner": "none"},
    "OLinear alone": {"model": {"name": "olinear_small"}},
    "two networks of each kind": {"members": 2},
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
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choices", description=__doc__)
    parser.add_argument("--data", nargs="*", choices=ROWS, default=["ett_h1", "ett_h2"])
    parser.add_argument("--choices", nargs="*", choices=CHOICES, default=list(CHOICES))
    parser.add_argument("--horizon", type=int, default=96)
    parser.add_argument("--seeds", type=int, default=1)
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
    """One per data set and choice: squared errors as shares of ridge's, geometric means over fifths and seeds.

    best_share: The network's with the smallest error on the scored fifth, mean; `apart` its mean distance from that
    on validation.
    """
    for name in names:
        for choice in choices:
            start = time.perf_counter()
            scored = [
                scores(rotated(earlier_rows(name), fifth), settings_of(name, choice, horizon, seed))
                for fifth in range(FIFTHS)
                for seed in range(seeds)
            ]
            seconds = (time.perf_counter() - start) / len(scored)
            yield {
                "data": name, "horizon": horizon, "choice": choice, "seeds": seeds,
                "ridge": round(statistics.fmean(each["ridge"] for each in scored), 4),
                **{part: round(_over_ridge(scored, part), 4) for part in PARTS[1:]},
                "best_share": round(statistics.fmean(each["best"] for each in scored), 2),
                "apart": round(statistics.fmean(abs(each["best"] - each["best_on_validation"]) for each in scored), 2),
                "seconds": round(seconds, 1), "threads": torch.get_num_threads(),
            }  # fmt: skip


def _over_ridge(scored: Sequence[dict[str, float]], part: str) -> float:
    return math.exp(statistics.fmean(math.log(each[part] / each["ridge"]) for each in scored))


def earlier_rows(name: str) -> pd.DataFrame:
    """A data set without its test rows."""
    path = Path(datasets.locate(name))
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return frame.iloc[: ROWS[name]]


def rotated(frame: pd.DataFrame, fifth: int) -> pd.DataFrame:
    """The same rows with the last `fifth` fifths in front; the times stay where they are."""
    series = frame.columns[1:]
    return frame.assign(**dict(zip(series, np.roll(frame[series].T, len(frame) * fifth // FIFTHS, 1), strict=True)))


def scores(frame: pd.DataFrame, settings: ForecastConfig) -> dict[str, float]:
    """Mean squared errors of ridge, the network, half of each, and the forecast that validation makes of both."""
    return _errors(lifecycle.fitted(TASK, settings, frame))


def _errors(run: Run) -> dict[str, float]:
    scored, validated = _squares(run, "test"), _squares(run, "validation")
    ridge, product, network, forecast = scored
    return {
        "ridge": ridge, "network": network, "half": (ridge + 2 * product + network) / 4, "forecast": forecast,
        "best": _best_share(scored), "best_on_validation": _best_share(validated),
    }  # fmt: skip


@torch.no_grad()
def _squares(run: Run, split: str) -> list[float]:
    """Means of ridge's squared error, of its product with the network's, of the network's and of the forecast's."""
    model, parts = model_of(run).eval(), []
    for batch in run.prepared.windows[split].batches():
        forecasts = model.all_forecasts(batch["past"])
        ridge, network, ours = (forecasts[name] - batch["future"] for name in ("ridge", "network", "multiway"))
        pairs = ((ridge, ridge), (ridge, network), (network, network), (ours, ours))
        parts.append(torch.tensor([float((x * y).sum()) for x, y in pairs] + [ridge.numel()], dtype=torch.float64))
    *sums, cells = torch.stack(parts).sum(0).tolist()
    return [each / cells for each in sums]


def _best_share(squares: Sequence[float]) -> float:
    """The network's share with the smallest error, of all steps at once."""
    ridge, product, network, _ = squares
    return (ridge - product) / (ridge - 2 * product + network)


def settings_of(name: str, choice: str, horizon: int, seed: int) -> ForecastConfig:
    """The recipe `floor` of a data set on such splits, with one change."""
    changed = CHOICES[choice]
    own = changed.get("model", {})
    level = {"level_features": True} if name in LOADS and "name" not in own else {}
    merged = {"model": {**level, **own}, "training": {"epochs": 2, "seed": seed, **changed.get("training", {})}}
    split, read = LONGER_VALIDATION.get(name, SPLIT), brought(name).get("read", {})
    return TASK.configure({"horizon": horizon, "split": split, "read": read, **changed, **merged})


if __name__ == "__main__":
    main()
