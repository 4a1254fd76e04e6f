"""Plain baselines that every task shares, and the penalty of the linear ones, which validation chooses."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway import ops
from multiway.models.baselines import Linear as Linear
from multiway.models.baselines import Majority as Majority
from multiway.models.baselines import Mean as Mean
from multiway.ops.logistic import Solution

PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
Facts = dict[str, Any]


@torch.no_grad()
def fit_logistic(
    model: Linear,
    x: Tensor,
    y: Tensor,
    held_x: Tensor,
    held_y: Tensor,
    penalties: Sequence[float] = PENALTIES,
    *,
    standardise: bool = True,
) -> Facts:
    """Fit multinomial logistic regression; the penalty is that of the lowest validation loss.

    See `ops.logistic_path` for what is minimised.

    Args:
        model: Filled in place; one output per class.
        x: Training features, `(samples, features)`.
        y: Their classes.
        held_x: Validation features.
        held_y: Their classes.
        penalties: To choose from.
        standardise: Learn centre and spread of the features; without it they are taken as they come.

    Returns:
        The penalty, and the validation loss of every one.
    """
    x, held_x = model.standardise(x) if standardise else model.standardised(x), model.standardised(held_x)
    penalties = sorted(penalties, reverse=True)
    path = ops.logistic_path(x, y, penalties, len(model.bias))
    return _choose(model, zip(penalties, path, strict=True), held_x, held_y, F.cross_entropy)


@torch.no_grad()
def fit_ridge(
    model: Linear, x: Tensor, y: Tensor, held_x: Tensor, held_y: Tensor, penalties: Sequence[float] = PENALTIES
) -> Facts:
    """Fit ridge regression; the penalty is that of the lowest mean squared error on validation.

    Minimises mean squared error + penalty * |weight|² of the standardised features. Arguments as of `fit_logistic`,
    with `(samples, outputs)` targets.
    """
    x, held_x = model.standardise(x), model.standardised(held_x)
    penalties, bias = sorted(penalties, reverse=True), y.double().mean(0)
    path = ops.ridge_path(x.T @ x / len(x), x.T @ (y.double() - bias) / len(x), penalties)
    solutions = ((penalty, (weight, bias)) for penalty, weight in zip(penalties, path, strict=True))
    return _choose(model, solutions, held_x, held_y.double(), F.mse_loss)


def _choose(
    model: Linear, solutions: Iterable[tuple[float, Solution]], x: Tensor, y: Tensor, loss_of: Callable[..., Tensor]
) -> Facts:
    """Keep the solution of the lowest validation loss, of equal ones the first."""
    losses: dict[float, float] = {}
    for penalty, (weight, bias) in solutions:
        loss = float(loss_of(F.linear(x, weight, bias), y))
        if loss < min(losses.values(), default=math.inf):
            model.keep(weight, bias)
        losses[penalty] = loss
    named = {f"{penalty:g}": loss for penalty, loss in losses.items()}
    return {"penalty": min(losses, key=lambda penalty: losses[penalty]), "validation_loss": named}
