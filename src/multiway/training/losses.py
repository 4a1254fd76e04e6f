"""Losses as a sum and a count, so that masks, unequal shards and accumulated batches stay exact."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Loss = Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]


def squared(prediction: Tensor, target: Tensor, observed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Sum of squared errors over observed cells, and their number."""
    return _reduce(F.mse_loss(prediction, target, reduction="none"), observed)


def absolute(prediction: Tensor, target: Tensor, observed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Sum of absolute errors over observed cells, and their number."""
    return _reduce(F.l1_loss(prediction, target, reduction="none"), observed)


def huber(prediction: Tensor, target: Tensor, observed: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Quadratic up to an error of 0.5, linear beyond."""
    return _reduce(F.huber_loss(prediction, target, reduction="none", delta=0.5), observed)


def pinball_terms(levels: Tensor, target: Tensor, quantiles: Sequence[float]) -> Tensor:
    """Pinball loss of every number, averaged over the quantiles, which are the last axis of `levels`."""
    shares = torch.tensor(quantiles, dtype=levels.dtype, device=levels.device)
    error = target[..., None] - levels
    return torch.maximum(shares * error, (shares - 1) * error).mean(-1)


LOSSES: dict[str, Loss] = {"mse": squared, "mae": absolute, "huber": huber}


def _reduce(cells: Tensor, observed: Tensor | None) -> tuple[Tensor, Tensor]:
    if observed is None:
        return cells.sum(), torch.tensor(float(cells.numel()), device=cells.device)
    return torch.where(observed, cells, 0).sum(), observed.sum().to(cells.dtype)
