"""Bases in which the steps of training windows are uncorrelated: one of the look-back, one of the horizon."""

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from multiway.data import Windows
from multiway.models.olinear import Bases
from multiway.models.windows import fill_gaps
from multiway.ops.moments import CELLS_PER_CHUNK

CONSTANT = 1e-4
"""Variance below which a step counts as constant, in units of the training rows' own."""


def step_bases(windows: Windows) -> Bases:
    """Eigenvectors of the correlation of steps, mean over variates, the largest eigenvalue first.

    Gaps hold the last observed value. A variate that is constant at a step has no correlation and is left out.
    """
    return Bases(_basis(_correlation(windows, "past")), _basis(_correlation(windows, "future")))


def _basis(correlation: Tensor) -> Tensor:
    vectors: Tensor = torch.linalg.eigh(correlation).eigenvectors
    return vectors.T.flip(0)


def _correlation(windows: Windows, part: Literal["past", "future"]) -> Tensor:
    """Pearson's over windows, `(steps, steps)` in float64; the identity if every variate is left out."""
    steps = windows.lookback if part == "past" else windows.horizon
    total = torch.zeros(windows.num_variates, steps, 1, dtype=torch.float64)
    product = torch.zeros(windows.num_variates, steps, steps, dtype=torch.float64)
    for x in _steps(windows, part):
        total += x.sum(1).unsqueeze(2)
        product.baddbmm_(x.mT, x)
    mean = total / len(windows)
    covariance = product / len(windows) - mean @ mean.mT
    variance = covariance.diagonal(dim1=1, dim2=2)
    varies = (variance > CONSTANT).all(1)
    scale = variance[varies].sqrt()
    correlation: Tensor = covariance[varies] / (scale.unsqueeze(1) * scale.unsqueeze(2))
    return correlation.mean(0) if varies.any() else torch.eye(steps, dtype=torch.float64)


def _steps(windows: Windows, part: str) -> Iterator[Tensor]:
    """All windows in chunks, `(variates, windows, steps)` in float64."""
    size = max(CELLS_PER_CHUNK // (windows.num_variates * (windows.lookback + windows.horizon)), 1)
    for index in torch.split(torch.arange(len(windows)), size):
        batch = windows.gather(index)
        seen = batch.get(f"{part}_observed")
        filled = batch[part] if seen is None else fill_gaps(batch[part], seen)
        yield filled.double().permute(2, 0, 1)
