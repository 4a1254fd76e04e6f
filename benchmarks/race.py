"""Forecasters on the same windows in one run: test error over seconds of training, and seconds to a published figure.

`python -m benchmarks.race --data ett_h1 --out results/race.jsonl`. The runners are ridge; HOT, which starts from it;
both networks of our default, HOT and a small OLinear; and iTransformer with the sizes and training of its own paper.
The curves read the test rows after every part of an epoch; nothing is chosen by them.
"""

import argparse
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.comparison import processor
from multiway.data.datasets import locate
from multiway.memory import keep_freed_memory
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.encode import PreparedPanel, prepare_panel
from multiway.tasks.forecasting.network import WindowLoss, build_network, train_on_windows
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import Windows
from multiway.tasks.protocol import Context
from multiway.workflows.recipe import load_recipe

RECIPES = {
    "ett_h1": ("floor-etth1-96", "peers-etth1-itransformer-96"),
    "weather": ("floor-weather-96", "peers-weather-itransformer-96"),
}
"""Of our default, and of iTransformer."""
PARTS = 4
"""Measures of the test error per epoch."""


@dataclass
class Curve:
    """Test errors over seconds, those of measuring them taken off.

    spent: Seconds that the measures took so far.
    """

    windows: Windows
    started: float = field(default_factory=time.perf_counter)
    spent: float = 0.0
    seconds: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    @torch.no_grad()
    def __call__(self, model: nn.Module) -> dict[str, list[float]]:
        """Measure once."""
        begun = time.perf_counter()
        self.seconds.append(round(begun - self.started - self.spent, 3))
        sums = [WindowLoss("mse")(model, batch) for batch in self.windows.batches()]
        self.errors.append(round(float(sum(total for total, _ in sums) / sum(count for _, count in sums)), 4))
        self.spent += time.perf_counter() - begun
        return {}

    def first_below(self, figure: float) -> float | None:
        """Seconds until the error is no higher than a figure; None where it never is."""
        return next((at for at, error in zip(self.seconds, self.errors, strict=True) if error <= figure), None)


def race(data: str, epochs: int | None = None) -> Iterator[dict[str, Any]]:
    """A row per runner: its curve, and when it reaches what iTransformer's paper prints.

    epochs: Of every network; those of its recipe if not given.
    """
    ours, theirs = RECIPES[data]
    figure = load_recipe(theirs).figures["mse"]
    short: dict[str, Any] = {"training": {"epochs": epochs}} if epochs else {}
    configs = {
        "HOT": _config(ours, {**short, "partner": "none"}),
        "multiway": _config(ours, short),
        "iTransformer": _config(theirs, short),
    }
    for name, curve, training in _runners(configs, locate(data)):
        yield {
            "data": data, "runner": name, **training, "published": figure, "reached_after_s": curve.first_below(figure),
            "lowest_test_mse": min(curve.errors), "after_s": curve.seconds[-1],
            "curve": list(zip(curve.seconds, curve.errors, strict=True)),
            "threads": torch.get_num_threads(), "torch": torch.__version__, "processor": processor(),
        }  # fmt: skip


def _config(recipe: str, changed: Mapping[str, Any]) -> ForecastConfig:
    (settings,) = load_recipe(recipe).settings_of_runs()
    return TASK.configure(settings, changed)


def _runners(configs: Mapping[str, ForecastConfig], path: str) -> Iterator[tuple[str, Curve, Mapping[str, Any]]]:
    yield _ridge(configs["multiway"], path)
    for name, config in configs.items():
        yield _network(name, config, path)


def _ridge(config: ForecastConfig, path: str) -> tuple[str, Curve, Mapping[str, Any]]:
    """Fitted in closed form: one point."""
    prepared = prepare_panel(config, path)
    curve = Curve(prepared.windows["test"])
    curve(_floor(prepared, config))
    return "ridge", curve, {}


def _floor(prepared: PreparedPanel, config: ForecastConfig) -> WeighedForecasts:
    weight = prepared.floor.weight
    model = WeighedForecasts(config.lookback, config.horizon, 1, len(weight), None, prepared.panel.num_variates)
    model.floor.set_weight(weight)
    return model


def _network(name: str, config: ForecastConfig, path: str) -> tuple[str, Curve, Mapping[str, Any]]:
    """Trained as its recipe says; the clock of ours holds its ridge."""
    prepared = prepare_panel(config, path)
    torch.manual_seed(config.training.seed)
    model = build_network(config, prepared.panel.num_variates)
    training = config.training.replace(validations_per_epoch=PARTS)
    curve = Curve(prepared.windows["test"])
    history = train_on_windows(model, prepared, training, Context(), watch=curve)
    done = history.steps * training.batch_size
    facts = {
        "epochs": training.epochs,
        "parameters": sum(each.numel() for each in model.parameters()),
        "windows_per_s": round(done / curve.seconds[-1], 1),
    }
    return name, curve, facts


def main() -> None:
    """Run the races and print a line each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description=__doc__)
    parser.add_argument("--data", nargs="*", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--epochs", type=int, help="of every network; those of its recipe if not given")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, help="append one JSON line per runner")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    keep_freed_memory()
    for row in (row for data in chosen.data for row in race(data, chosen.epochs)):
        print(json.dumps(row), flush=True)
        if chosen.out:
            with chosen.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
