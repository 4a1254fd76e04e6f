"""What the answer gains where its network is trained once more on the rows before the test rows, and what that costs.

Panels long enough for a network, without the test rows of published tables: those come after the rows that are read.
The default is trained with `refit` all. Its test MSE stands over that of the same run whose network stays as it was,
and of one where nothing was refitted.

    python -m benchmarks.refits [NAME ...] --out results/refits.jsonl
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, cast

import pandas as pd
from torch import nn

from benchmarks.classical import error_of, facts, keep
from benchmarks.prices import MARKETS
from multiway.data import datasets
from multiway.errors import MultiwayWarning
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.network import model_of
from multiway.tasks.forecasting.task import TASK
from multiway_papers.open_tasks import tasks_of

SETS = {"epf_np": (9_000, 24), "exchange": (6_070, 14), "ett_h1": (11_520, 24)}
"""Rows that are read, and steps that are forecast."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.refits", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these sets")
    parser.add_argument("--out", type=Path, help="append one JSON line per set")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", MultiwayWarning)
    for name in chosen.names or SETS:
        keep(measured(name), chosen.out, facts(earlier=True))


def measured(name: str) -> dict[str, Any]:
    """A row of one set."""
    rows, horizon = SETS[name]
    frame = _read(name).iloc[:rows]
    clock = time.process_time()
    run = lifecycle.fitted(TASK, ForecastConfig.parse({"horizon": horizon, "refit": "all"}), frame)
    clock, seconds, model = time.process_time() - clock, run.facts["seconds"], model_of(run)
    made = dict(cast(nn.ModuleDict, model.refits["test"]).items())
    closed = error_of(run, model.by({each: fit for each, fit in made.items() if each != "network"}))
    return {
        "set": name, "rows read": rows, "series": len(run.state.names), "horizon": horizon,
        "share of the network": run.facts["selection"]["weight"],
        "mse of all over closed": error_of(run, model.by(made)) / closed,
        "mse of closed over none": closed / error_of(run, model), "cpu seconds": round(clock, 1),
        "share of them for the refit": round(seconds["refit"] / sum(seconds.values()), 3),
    }  # fmt: skip


def _read(name: str) -> pd.DataFrame:
    """A table of times and series; of a market its prices alone."""
    if name not in MARKETS:
        return pd.read_csv(datasets.locate(name))
    [task] = tasks_of("fev", [name])
    [item] = task.items()
    return item.frame[[item.frame.columns[0], *item.targets]]


if __name__ == "__main__":
    main()
