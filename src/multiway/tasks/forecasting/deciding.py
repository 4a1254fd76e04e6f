"""The choice by another metric than squared error: weights of least absolute error, and whatever loses least by it."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from multiway.metrics.quantiles import TENTHS, pinball_errors
from multiway.ops.simplex import few_weights
from multiway.tasks.forecasting.bands import errors_of
from multiway.tasks.forecasting.evidence import Stretch
from multiway.tasks.protocol import OURS

Floats = NDArray[np.float64]
MAX_CELLS = 20_000_000
"""Of errors of all candidates that are compared."""
ROUNDS = 10
SMALLEST = 1e-2
"""Part of the mean absolute error that an error counts as at least, where squares are weighed by its inverse."""


def weights_by(
    metric: str, parts: Sequence[Stretch], names: Sequence[str], stops: Sequence[int], squared: Floats, scale: Floats
) -> tuple[Floats, dict[str, float]]:
    """Weights `(candidates, bands)` whose forecast loses least by a metric, and the loss of it and of every candidate.

    Candidates alone, the blend of least `squared` error and one of least absolute error are compared on the windows of
    all stretches; ridge answers where none loses less than it.

    Args:
        metric: `mae`; `mase`, whose errors are over `scale` `(targets,)`; or `pinball`, of the tenths of errors.
        parts: Stretches that none of the forecasts was fitted on.
        names: Of the candidates.
        stops: Where bands of steps with weights of their own end.
        squared: Weights by squared error.
        scale: Errors of the seasonal naive forecast.
    """
    cells = sum(len(part.windows) for part in parts) * parts[-1].windows.horizon * parts[-1].windows.num_targets
    every = errors_of(parts, math.ceil(cells * len(names) / MAX_CELLS))
    errors = np.stack([every[name] for name in names])
    unit = np.where(scale > 0, scale, np.inf) if metric == "mase" else np.ones_like(scale)
    loss = partial(_pinball if metric == "pinball" else _absolute, unit=unit)
    absolute = np.stack([_absolute_weights(band, unit) for band in np.split(errors, stops[:-1], axis=1)], 1)
    alone = {name: np.repeat(np.eye(len(names))[:, [place]], len(stops), 1) for place, name in enumerate(names)}
    options = [alone["ridge"], *alone.values(), squared, absolute]
    losses = [loss(_mixed(errors, weights, stops)) for weights in options]
    best = int(np.argmin(losses))
    return options[best], {OURS: losses[best], **dict(zip(alone, losses[1:], strict=False))}


def _mixed(errors: NDArray[np.float32], weights: Floats, stops: Sequence[int]) -> Floats:
    """Errors of a blend, as weights sum to one."""
    steps = np.repeat(weights, np.diff([0, *stops]), axis=1)
    used = steps.any(1)
    return np.asarray(np.einsum("kh,khvw->hvw", steps[used], errors[used]))


def _absolute_weights(errors: NDArray[np.float32], unit: Floats) -> Floats:
    """Convex weights of least absolute error: those of squares that are weighed by the inverse of the last error."""
    flat = np.nan_to_num(errors / unit[:, None]).reshape(len(errors), -1).astype(np.float64)
    smallest = SMALLEST * max(float(np.abs(flat).mean()), np.finfo(np.float64).tiny)
    weights = np.full(len(flat), 1 / len(flat))
    for _ in range(ROUNDS):
        weights = few_weights(flat / np.maximum(np.abs(weights @ flat), smallest) @ flat.T)
    return weights


def _absolute(errors: Floats, unit: Floats) -> float:
    """Mean over series of the mean absolute error over its unit."""
    return float(np.nanmean(np.abs(errors) / unit[:, None]))


def _pinball(errors: Floats, unit: Floats) -> float:
    """Mean pinball loss of the tenths of the errors of each step and series."""
    known = np.isfinite(errors).any(-1)
    levels = np.nanquantile(errors[known], TENTHS, axis=-1)
    losses = [
        pinball_errors(errors[known], level[:, None, None], [share])
        for level, share in zip(levels, TENTHS, strict=True)
    ]
    return float(np.mean([np.nanmean(each) for each in losses]))


def named(metric: str) -> str:
    """The metric as a sentence has it."""
    return "pinball loss" if metric == "pinball" else metric.upper()
