"""Weights of NdLinear and of dense layers, before and after training (NdLinear, sections 2.3, 4.1.1, figures 9 to 12).

    python -m benchmarks.weights --seeds 3 --runs FOLDER --out results/weights.jsonl

The two networks of table 2 are trained on CIFAR-10 as their recipes say; runs in the folder are continued. A row has
accuracies on training and test images, and of the hidden layer and the head behind it how far the weights moved,
|W - W_0| / |W_0|, how wide they are, and how far from normal: the distance of Kolmogorov and Smirnov to the normal
distribution of the same mean and width, a mean over the matrices of a layer.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from scipy import stats
from torch import Tensor, nn

from benchmarks.rows import facts, keep
from multiway.metrics.classes import accuracy
from multiway.tasks import lifecycle
from multiway.tasks.protocol import Run
from multiway.tasks.registry import task_of
from multiway.workflows.recipe import load_recipe
from multiway.workflows.training import with_seed

RECIPES = ("image-cifar10-ndlinear", "image-cifar10-linear")
LAYERS = ("hidden", "head")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weights", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="RECIPE", default=RECIPES, help="only these recipes")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="fewer than in print")
    parser.add_argument("--runs", type=Path, required=True, help="folder of the run folders")
    parser.add_argument("--out", type=Path, help="append one JSON line per network and seed")
    chosen = parser.parse_args()
    for seed in range(chosen.seeds):
        for name in chosen.names:
            keep(measured(name, seed, chosen.epochs, chosen.runs), chosen.out, **{**facts(), "seed": seed})


def measured(name: str, seed: int, epochs: int | None, runs: Path) -> dict[str, Any]:
    """The row of one network and seed."""
    recipe = load_recipe(name)
    task, fewer = task_of(recipe.task), {} if epochs is None else {"training": {"epochs": epochs}}
    config = task.configure(recipe.settings_of_runs()[0], fewer)
    config, path = with_seed(config, config.training.seed + seed), runs / f"{name}-{seed}"
    fresh = lifecycle.make(task, config, task.locate(config.data or ""))
    run = lifecycle.continue_run(path) if path.exists() else lifecycle.start(task, config, path)
    before, after = (task.network_in(each.model) for each in (fresh, run))
    test = next(row["value"] for row in run.scores if is_test_accuracy(row, task.own))
    return {
        "network": name,
        "network_seed": seed,
        "epochs": config.training.epochs,
        "train_acc": train_accuracy(run, fresh.prepared),
        "test_acc": test,
        **{key: value for layer in LAYERS for key, value in compared(layer, before, after)},
    }


def is_test_accuracy(row: dict[str, Any], model: str) -> bool:
    """Whether a row of scores is the accuracy of a model on the test images."""
    return (row["model"], row["split"], row["metric"]) == (model, "test", "acc")


def train_accuracy(run: Run, prepared: Any) -> float | None:
    """Share of the training images whose class the trained network finds."""
    part = prepared.part("train")
    return accuracy(part.truth, run.task.outputs(run, run.task.own, part))


def compared(layer: str, before: nn.Module, after: nn.Module) -> Iterator[tuple[str, float]]:
    """How far the matrices of a layer moved, how wide they are, and how far from normal before and after."""
    old, new = matrices(getattr(before, layer)), matrices(getattr(after, layer))
    apart = sum(float((one - two).square().sum()) for one, two in zip(old, new, strict=True))
    yield f"{layer}_moved", (apart / sum(float(each.square().sum()) for each in old)) ** 0.5
    for when, found in (("before", old), ("after", new)):
        yield f"{layer}_width_{when}", sum(float(each.std()) for each in found) / len(found)
        yield f"{layer}_from_normal_{when}", sum(map(from_normal, found)) / len(found)


def matrices(layer: nn.Module) -> list[Tensor]:
    """Weights without biases, in float64."""
    return [each.detach().double() for each in layer.parameters() if each.ndim > 1]


def from_normal(weights: Tensor) -> float:
    """The largest distance between the shares of weights and of the normal distribution below a value."""
    values = weights.flatten()
    return float(stats.kstest(((values - values.mean()) / values.std()).numpy(), "norm").statistic)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
