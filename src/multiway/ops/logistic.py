"""Multinomial logistic regression: one look at the features serves every class and penalty."""

import math
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

CURVATURE = 0.5
"""Greatest curvature of a log loss by its logits (Böhning 1992)."""
ITERATIONS, HISTORY, SLOPE = 200, 20, 1e-7

Solution = tuple[Tensor, Tensor]
"""Weight `(classes, features)` and bias `(classes,)`."""


def logistic_path(
    x: Float[Tensor, "samples features"], y: Int[Tensor, " samples"], penalties: Sequence[float], num_classes: int
) -> Iterator[Solution]:
    """Yield, penalty by penalty, the weight and bias of the least mean log loss + penalty / 2 * |weight|².

    The bias is not penalised. For two classes, weights of d/2 and -d/2 stand for one weight of d, and cost half of
    what it would. Each solution starts the search of the next, so give the largest penalty first.

    Features may be sparse: the search then scales each by its own curvature, and leaves their correlation alone.
    """
    values, vectors = _curvatures(x)
    weight, bias = (
        torch.zeros(shape, dtype=x.dtype, device=x.device) for shape in ((num_classes, x.shape[1]), (num_classes,))
    )
    for penalty in penalties:
        steepness = (CURVATURE * values.clamp_min(0) + penalty).sqrt()
        basis = 1 / steepness if vectors is None else vectors / steepness
        weight, bias = _minimise(x, y, penalty, basis, weight, bias)
        yield weight, bias


def _curvatures(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Mean squares of the features along the directions in which they do not correlate; of sparse ones as they are."""
    if x.is_sparse:
        x = x.coalesce()
        sums = torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)
        return sums.index_add_(0, x.indices()[1], x.values().square()) / len(x), None
    values, vectors = torch.linalg.eigh(x.T @ x / len(x))
    return values, vectors


def _minimise(x: Tensor, y: Tensor, penalty: float, basis: Tensor, weight: Tensor, bias: Tensor) -> Solution:
    """L-BFGS in a basis in which no curvature of the objective exceeds one, whatever the features' correlation.

    The bound is that of ridge regression, so one eigendecomposition serves all classes and penalties. Of sparse
    features the basis is one number each.
    """
    steep = math.sqrt(CURVATURE)
    start = weight / basis if basis.ndim == 1 else torch.linalg.solve(basis, weight.T).T.contiguous()
    free = [start.requires_grad_(), (bias * steep).requires_grad_()]
    solver = torch.optim.LBFGS(
        free, max_iter=ITERATIONS, history_size=HISTORY, tolerance_grad=SLOPE, tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def objective() -> Tensor:
        solver.zero_grad()
        with torch.enable_grad():
            weight, bias = _in(basis, free[0]), free[1] / steep
            loss = F.cross_entropy(F.linear(x, weight, bias), y) + penalty / 2 * weight.square().sum()
            loss.backward()
        value: Tensor = loss.detach()
        return value

    solver.step(objective)
    return _in(basis, free[0].detach()), free[1].detach() / steep


def _in(basis: Tensor, weight: Tensor) -> Tensor:
    """Weights of the features by those of the basis."""
    return weight * basis if basis.ndim == 1 else weight @ basis.T
