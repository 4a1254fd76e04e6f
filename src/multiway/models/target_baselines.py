"""Baselines of a target that is a class or a number, by their names."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from multiway.extras import is_installed, load_extra
from multiway.models.baselines import Facts, Linear, Majority, Mean, fit_logistic, fit_ridge
from multiway.models.tree_ensemble import TreeEnsemble

Baseline = Literal["constant", "linear", "trees"]
BASELINES = {"constant": ("majority", "mean"), "linear": ("logistic", "ridge"), "trees": ("trees", "trees")}
"""What a baseline is called where the target is a class, and where it is a number."""
ROUNDS, LEAVES = 100, 31
"""Of the boosted trees: what scikit-learn has by default."""


def usual_baselines() -> tuple[Baseline, ...]:
    """All of them; without scikit-learn all but the trees."""
    return ("constant", "linear", "trees") if is_installed("sklearn") else ("constant", "linear")


def baseline_names(chosen: Sequence[Baseline], classes: Sequence[str] | None) -> tuple[str, ...]:
    """What the chosen baselines are called, of these classes or of numbers."""
    return tuple(BASELINES[each][classes is None] for each in chosen)


def build_baseline(name: str, num_features: int, num_outputs: int) -> nn.Module:
    """A baseline by its name.

    Raises:
        ConfigError: scikit-learn is wanted and not installed.
    """
    if name == "trees":
        load_extra("sklearn", "the baseline trees", "trees")
        return TreeEnsemble(ROUNDS, LEAVES, 1 if num_outputs == 2 else num_outputs)
    if name in BASELINES["linear"]:
        return Linear(num_features, num_outputs)
    return Majority(num_outputs) if name == "majority" else Mean(num_outputs)


def fit_baseline(model: nn.Module, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor, seed: int = 0) -> Facts | None:
    """Fit a baseline on features `(samples, features)` and targets: whole numbers are classes, others numbers.

    Args:
        model: Of `build_baseline`, filled in place.
        x: Training features.
        y: Their targets.
        held_x: Validation features, which choose the penalty of a linear model.
        held_y: Their targets.
        seed: Of the trees.
    """
    is_class = not y.is_floating_point()
    if isinstance(model, TreeEnsemble):
        return model.fit(x, y, seed)
    if not is_class:
        y, held_y = y[:, None], held_y[:, None]
    if isinstance(model, Linear):
        return (fit_logistic if is_class else fit_ridge)(model, x, y, held_x, held_y)
    assert isinstance(model, Majority | Mean)
    return model.fit(y)
