"""Plain baselines that every task shares: class shares, a mean, logistic and ridge regression; none draws at random.

Each is a module of float64 buffers, so that it is saved and loaded as a network is.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.ops.ridge import ridge_path

PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
SMALLEST_SPREAD = 1e-9
"""A feature that varies less is left as it is."""
CURVATURE = 0.5
"""Greatest curvature of a log loss by its logits (Böhning 1992)."""
ITERATIONS, HISTORY, SLOPE = 200, 20, 1e-7

Facts = dict[str, Any]
Solution = tuple[float, Tensor, Tensor]
"""Penalty, weight and bias."""


class Majority(nn.Module):
    """The shares of the classes in training, whatever the sample; the most frequent class is named."""

    shares: Tensor

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.register_buffer("shares", torch.full((num_classes,), 1.0 / num_classes, dtype=torch.float64))

    def fit(self, labels: Tensor) -> None:
        """Count the classes of the training samples."""
        self.shares.copy_(torch.bincount(labels, minlength=len(self.shares)).double() / len(labels))

    def forward(self, x: Tensor) -> Tensor:
        """Logits, the same for every sample: `(batch, classes)`."""
        return self.shares.clamp_min(1e-12).log().expand(len(x), -1)


class Mean(nn.Module):
    """The mean of the training targets, whatever the sample."""

    mean: Tensor

    def __init__(self, num_outputs: int = 1) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(num_outputs, dtype=torch.float64))

    def fit(self, targets: Tensor) -> None:
        """Average `(samples, outputs)`."""
        self.mean.copy_(targets.double().mean(0))

    def forward(self, x: Tensor) -> Tensor:
        """The same for every sample: `(batch, outputs)`."""
        return self.mean.expand(len(x), -1)


class Linear(nn.Module):
    """A linear map of standardised features: `fit_logistic` makes its outputs logits, `fit_ridge` numbers."""

    centre: Tensor
    spread: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, num_features: int, num_outputs: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(num_features, dtype=torch.float64))
        self.register_buffer("spread", torch.ones(num_features, dtype=torch.float64))
        self.register_buffer("weight", torch.zeros(num_outputs, num_features, dtype=torch.float64))
        self.register_buffer("bias", torch.zeros(num_outputs, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """`(batch, features)` to `(batch, outputs)`."""
        return F.linear(self.standardised(x), self.weight, self.bias)

    def standardise(self, x: Tensor) -> Tensor:
        """Learn centre and spread of the training features, and apply them."""
        self.centre.copy_(x.double().mean(0))
        deviation = x.double().std(0, correction=0)
        self.spread.copy_(torch.where(deviation > SMALLEST_SPREAD, deviation, 1.0))
        return self.standardised(x)

    def standardised(self, x: Tensor) -> Tensor:
        """Features less their centre, in spreads, float64."""
        return (x.double() - self.centre) / self.spread

    def keep(self, weight: Tensor, bias: Tensor) -> None:
        """Take a solution over."""
        self.weight.copy_(weight)
        self.bias.copy_(bias)


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

    Minimises mean log loss + penalty / 2 * |weight|² of the features; the bias is not penalised. For two
    classes, weights of d/2 and -d/2 stand for one weight of d, and cost half of what it would.

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
    path = _logistic_path(x, y, sorted(penalties, reverse=True), len(model.bias))
    return _choose(model, path, lambda weight, bias: F.cross_entropy(F.linear(held_x, weight, bias), held_y))


def _logistic_path(x: Tensor, y: Tensor, penalties: Sequence[float], num_classes: int) -> Iterator[Solution]:
    """Solutions penalty by penalty, each started from the last."""
    values, vectors = torch.linalg.eigh(x.T @ x / len(x))
    weight, bias = x.new_zeros(num_classes, x.shape[1]), x.new_zeros(num_classes)
    for penalty in penalties:
        basis = vectors / (CURVATURE * values.clamp_min(0) + penalty).sqrt()
        weight, bias = _minimise(x, y, penalty, basis, weight, bias)
        yield penalty, weight, bias


def _minimise(
    x: Tensor, y: Tensor, penalty: float, basis: Tensor, weight: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    """L-BFGS in a basis in which no curvature of the objective exceeds one, whatever the features' correlation.

    The bound is that of ridge regression, so one eigendecomposition serves all classes and penalties.
    """
    steep = math.sqrt(CURVATURE)
    free = [torch.linalg.solve(basis, weight.T).T.contiguous().requires_grad_(), (bias * steep).requires_grad_()]
    solver = torch.optim.LBFGS(
        free, max_iter=ITERATIONS, history_size=HISTORY, tolerance_grad=SLOPE, tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def objective() -> Tensor:
        solver.zero_grad()
        with torch.enable_grad():
            weight, bias = free[0] @ basis.T, free[1] / steep
            loss = F.cross_entropy(F.linear(x, weight, bias), y) + penalty / 2 * weight.square().sum()
            loss.backward()
        value: Tensor = loss.detach()
        return value

    solver.step(objective)
    return free[0].detach() @ basis.T, free[1].detach() / steep


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
    path = ridge_path(x.T @ x / len(x), x.T @ (y.double() - bias) / len(x), penalties)
    solutions = ((penalty, weight, bias) for penalty, weight in zip(penalties, path, strict=True))
    return _choose(model, solutions, lambda weight, bias: F.mse_loss(F.linear(held_x, weight, bias), held_y.double()))


def _choose(model: Linear, solutions: Iterable[Solution], loss_of: Callable[[Tensor, Tensor], Tensor]) -> Facts:
    """Keep the solution of the lowest validation loss, of equal ones the first."""
    losses: dict[float, float] = {}
    for penalty, weight, bias in solutions:
        loss = float(loss_of(weight, bias))
        if loss < min(losses.values(), default=math.inf):
            model.keep(weight, bias)
        losses[penalty] = loss
    named = {f"{penalty:g}": loss for penalty, loss in losses.items()}
    return {"penalty": min(losses, key=lambda penalty: losses[penalty]), "validation_loss": named}
