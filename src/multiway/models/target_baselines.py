"""Baselines of a target that is a class or a number, by their names."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from multiway.errors import ConfigError
from multiway.extras import is_installed, load_extra
from multiway.models.baselines import Facts, Linear, Majority, Mean, fit_logistic, fit_ridge
from multiway.models.tfidf import TfidfLogistic
from multiway.models.tree_ensemble import TreeEnsemble

Baseline = Literal["majority", "mean", "logistic", "ridge", "trees"]
TextBaseline = Literal["majority", "tfidf", "vectors"]
OF_CLASSES: tuple[Baseline, ...] = ("majority", "logistic", "trees")
OF_NUMBERS: tuple[Baseline, ...] = ("mean", "ridge", "trees")
OF_TEXTS: tuple[TextBaseline, ...] = ("majority", "tfidf", "vectors")
WORDS = {
    "logistic": "logistic regression", "ridge": "ridge regression", "trees": "boosted trees",
    "tfidf": "logistic regression on TF-IDF", "vectors": "logistic regression on vectors",
    "rocket": "random kernels", "cnn": "small CNN", "resnet18_3d": "ResNet-18 3D", "resnet50_3d": "ResNet-50 3D",
}  # fmt: skip
"""What a report calls those whose name in configs, options and tables says too little."""
ROUNDS, LEAVES = 100, 31
"""Of the boosted trees: what scikit-learn has by default."""


def usual_baselines(chosen: Sequence[Baseline] | None, *, is_class: bool) -> tuple[Baseline, ...]:
    """The chosen baselines of a target; all of its kind where none were chosen, the trees only with scikit-learn."""
    known = OF_CLASSES if is_class else OF_NUMBERS
    if chosen is None:
        return known if is_installed("sklearn") else known[:-1]
    for name in chosen:
        if name not in known:
            what = "classes" if is_class else "numbers"
            raise ConfigError(f"baselines of {what} are {', '.join(known)}. Got {name}. Leave it out.")
    return tuple(chosen)


def build_baseline(name: str, num_features: int, num_outputs: int) -> nn.Module:
    """A baseline by its name."""
    if name == "trees":
        load_extra("sklearn", "the baseline trees", "trees")
        return TreeEnsemble(ROUNDS, LEAVES, 1 if num_outputs == 2 else num_outputs)
    if name == "tfidf":
        return TfidfLogistic(num_features, num_outputs)
    if name in ("logistic", "ridge", "vectors"):
        return Linear(num_features, num_outputs)
    return Majority(num_outputs) if name == "majority" else Mean(num_outputs)


def fit_baseline(model: nn.Module, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor, seed: int = 0) -> Facts | None:
    """Fit a baseline on features `(samples, features)`, or ids of words, and targets: whole numbers are classes."""
    is_class = not y.is_floating_point()
    if isinstance(model, TreeEnsemble):
        return model.fit(x, y, seed)
    if isinstance(model, TfidfLogistic):
        return model.fit(x, y, held_x, held_y)
    if not is_class:
        y, held_y = y[:, None], held_y[:, None]
    if isinstance(model, Linear):
        return (fit_logistic if is_class else fit_ridge)(model, x, y, held_x, held_y)
    assert isinstance(model, Majority | Mean)
    return model.fit(y)
