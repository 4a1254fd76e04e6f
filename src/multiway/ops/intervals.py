"""Half-widths of intervals from the errors of a forecast: conformal quantiles, or Student's t where errors are few."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SMALLEST, TINY = 0.05, float(np.finfo(np.float32).tiny)


def conformal_radii(errors: NDArray[np.float32], levels: Sequence[float], steps: int = 1) -> NDArray[np.float32]:
    """Split conformal quantiles of absolute errors along the last axis; NaN is no error, and 0 stands for none at all.

    The radius at level α is the ⌈(m + 1) α n / m⌉-th smallest of n errors that are worth m (Vovk et al. 2005; Lei et
    al. 2018, where m = n), so that a new exchangeable case is covered with probability at least α; where they are worth
    fewer than α / (1 - α) it is the largest, and covers less; `is_too_few` says where even n are.

    Args:
        errors: `(*cells, cases)`, in the order of time; sorted in part in place.
        levels: α, each between 0 and 1.
        steps: Neighbouring cases whose errors have a part in common, as the windows of a forecast of so many steps: so
            many are worth two. 1 for cases that are independent.

    Returns:
        `(levels, *cells)`.
    """
    count = (~np.isnan(errors)).sum(-1)
    alone = np.maximum(np.minimum(count, 2 * -(-count // steps)), 1)
    ranks = [np.ceil((alone + 1) * level * count / alone).astype(np.int64) - 1 for level in levels]
    ranks = [np.clip(rank, 0, np.maximum(count - 1, 0)) for rank in ranks]
    errors.partition(np.unique(ranks), axis=-1)  # NaN goes last
    radii = [np.take_along_axis(errors, rank[..., None], -1)[..., 0] for rank in ranks]
    return np.nan_to_num(np.stack(radii), nan=0.0)


def is_too_few(errors: NDArray[np.float32], levels: Sequence[float]) -> NDArray[np.bool_]:
    """Whether the quantile of a level lies beyond the largest of as many independent errors, `(levels, *cells)`."""
    count = (~np.isnan(errors)).sum(-1)
    return np.stack([np.ceil((count + 1) * level) > count for level in levels])


def student_radii(errors: NDArray[np.float32], levels: Sequence[float]) -> NDArray[np.float32]:
    """Student-t half-widths whose variance is a line in the step that does not fall.

    The variance of an error is constant in the step for a stationary series and grows in proportion to it for a random
    walk, so a + b step, with a, b ≥ 0, is fitted to the mean squares of each variate. Overlapping windows repeat each
    other: those of one horizon count as two errors, so n windows leave 2 ⌈n / steps⌉ degrees of freedom. A variate
    without an error takes the mean squares of the others.

    Args:
        errors: `(steps, variates, windows)`; NaN is no error.
        levels: α, each between 0 and 1.

    Returns:
        `(levels, steps, variates)`.
    """
    from scipy.special import stdtrit  # takes longer to import than most of what is here

    count = (~np.isnan(errors)).sum(-1)
    deviation = np.sqrt(_line(_mean_squares(errors, count)))
    windows = count.max(0)
    windows = np.where(windows > 0, windows, windows[windows > 0].min(initial=max(windows.max(), 1)))
    degrees = 2 * np.ceil(windows / len(errors))
    quantiles = stdtrit(degrees, (1 + np.array(levels)[:, None]) / 2)
    return np.asarray(quantiles[:, None] * deviation, np.float32)


def _mean_squares(errors: NDArray[np.float32], count: NDArray[np.int64]) -> NDArray[np.float64]:
    """By step and variate; where a step has none that of the variate, where a variate has none that of the step."""
    squares = np.nansum(np.square(errors, dtype=np.float64), -1)
    by_variate, by_step = (squares.sum(axis) / np.maximum(count.sum(axis), 1) for axis in (0, 1))
    others = np.where(count.sum(0) > 0, by_variate, by_step[:, None])
    return np.asarray(np.where(count > 0, squares / np.maximum(count, 1), others))


def _line(squares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares a + b step over the steps of each variate, with a, b ≥ 0."""
    steps = np.arange(1.0, len(squares) + 1)[:, None]
    centred = steps - steps.mean()
    slope = np.maximum((centred * squares).sum(0) / max(float(np.square(centred).sum()), 1.0), 0.0)
    start = squares.mean(0) - slope * steps.mean()
    proportional = (steps * squares).sum(0) / np.square(steps).sum()
    return np.asarray(np.where(start < 0, proportional * steps, start + slope * steps))


def size_slopes(errors: NDArray[np.float32], features: NDArray[np.float32], steps: int) -> NDArray[np.float64]:
    r"""Slopes of the logarithm of the size of errors on features, by ridge; those of a variate drawn towards all's.

    $$\min_b \tfrac{1}{m} \sum_{c,i} (\log |e_{ci}| - a_c - x_{ci}^\top b)^2 + |b - b_0|^2$$

    over cells c, the steps of a variate, where m is `steps`. For $b_0$ they are those of all variates, m is as many
    times larger, and the prior is zero. A feature that is 1 in one of m cases is worth as much as its prior, whose
    deviation is about that of the logarithm of a normal error. Errors of less than a twentieth of the mean size of
    their cell count as that.

    Args:
        errors: `(steps, variates, cases)`; NaN is no error.
        features: `(steps, variates or 1, cases, features)`.
        steps: m, how many errors of a variate are worth one, as those of overlapping windows repeat each other.

    Returns:
        `(features, variates)`.
    """
    count, variates = features.shape[-1], errors.shape[1]
    squares, products = np.zeros((variates, count, count)), np.zeros((variates, count, 1))
    for variate in range(variates):
        logs, seen = _logs(errors[:, variate])
        own = features[:, min(variate, features.shape[1] - 1)].astype(np.float64)
        y, x = _centre(logs[..., None], seen), _centre(own, seen)
        squares[variate], products[variate] = x.T @ x / steps, x.T @ y / steps
    prior = np.linalg.solve(squares.mean(0) + np.eye(count), products.mean(0))
    return np.asarray(np.linalg.solve(squares + np.eye(count), products + prior)[..., 0].T)


def _logs(errors: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Logarithms of the sizes of errors `(steps, cases)`, and which there are."""
    seen = ~np.isnan(errors)
    sizes = np.where(seen, np.abs(errors), 0).astype(np.float64)
    least = SMALLEST * sizes.sum(-1, keepdims=True) / np.maximum(seen.sum(-1, keepdims=True), 1)
    return np.log(np.maximum(sizes, np.maximum(least, TINY))), seen


def _centre(values: NDArray[np.float64], seen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Less their mean over the cases of each step, 0 where there is no error: `(steps * cases, numbers)`."""
    mean = np.where(seen[..., None], values, 0).sum(1, keepdims=True)
    mean /= np.maximum(seen.sum(-1), 1)[:, None, None]
    return np.where(seen[..., None], values - mean, 0).reshape(-1, values.shape[-1])
