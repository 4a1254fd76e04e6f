"""Convex weights of several forecasts in a blend: what validation supports, and never worse than a floor."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.ops.simplex import few_weights

Floats = NDArray[np.float64]
REST = 0.1
"""Where the floor leaves less than this to all others, it stands alone."""
BANDS = 4
"""Parts of a horizon: its last half, the quarter before it, the eighth before that, and the first eighth."""

OTHERS, PRIOR = 4.0, 20.0
"""Blocks of windows that what all series say counts for in each, and the doubts in all."""


def horizon_bands(horizon: int) -> tuple[int, ...]:
    """Where the bands of a horizon end: horizon / 8, / 4, / 2 and itself, rounded up; fewer where steps are."""
    return tuple(sorted({-(-horizon // 2**power) for power in range(BANDS)}))


def blend_weights(
    products: Floats,
    floor: int,
    steps: int,
    held: int,
    doubts: Sequence[float] | None = None,
    plain: Sequence[int] = (),
) -> Floats:
    r"""Weights w ≥ 0 with sum 1 of the candidates of a forecast, `(candidates,)`.

    $$w = \arg\min_w w^\top (G + \lambda D) w, \qquad \lambda = \min_k G_{kk} / B$$

    G holds the mean products of the candidates' errors over windows, and B counts blocks of windows that share no
    target. Few blocks know little of which candidate is better and of how their errors go together. λ adds one block
    in which all are alike and err apart, where equal weights are best; a candidate that is much worse has none even so.
    Weights below five per cent are left out. Candidates without a parameter have weight only where the blend with them
    is better than the one without by a standard error over these blocks.

    The floor stands alone where the blend is above it, on all windows or on the last of them alone if these hold a
    block, and where it leaves less than a tenth to all others.

    Args:
        products: `(windows, candidates, candidates)`, in the order of time.
        floor: Position of the candidate that no blend may be worse than.
        steps: Steps of a forecast, the windows of a block.
        held: How many of the windows, the last, are of validation.
        doubts: The diagonal of D, one for each candidate, and 1 for all if not given: the larger, the less weight where
            little is known.
        plain: Positions of candidates without a parameter.
    """
    means = [products.mean(0), *([products[-held:].mean(0)] if held >= steps else [])]
    count, blocks = products.shape[1], max(1, len(products) // steps)
    penalty = np.ones(count) if doubts is None else np.asarray(doubts)
    weights = _shrunk(means[0], np.arange(count), penalty, blocks)
    if weights[list(plain)].any():
        without = _shrunk(means[0], np.delete(np.arange(count), plain), penalty, blocks)
        weights = weights if _is_better(weights, without, products, blocks) else without
    alone: Floats = np.eye(count)[floor]
    above = any(weights @ each @ weights > each[floor, floor] for each in means)
    return alone if above or weights[floor] > 1 - REST else weights


def weights_of_series(products: Floats, blocks: Floats, doubts: Sequence[float]) -> Floats:
    r"""Weights w ≥ 0 with sum 1 of the candidates of each of some series, `(candidates, series)`.

    $$w_s = \arg\min_w w^\top (H_s + \lambda_s D) w, \quad
      H_s = \frac{B_s G_s / \operatorname{tr} G_s + C \bar G / \operatorname{tr} \bar G}{B_s + C}, \quad
      \lambda_s = \frac{P}{\max(\sum_t B_t, 1)} \min_k H_{s,kk}$$

    G_s holds the mean products of the candidates' errors of a series over B_s blocks of windows, and the mean of them
    is that of C more blocks. P blocks in which all are alike and err apart draw the weights to the inverse of D: with
    few blocks, of all series together, the mean of several models is hard to beat (Claeskens, Magnus, Vasnev and Wang
    2016).

    Args:
        products: `(series, candidates, candidates)`, in units that make series alike.
        blocks: B of each series, its windows over the steps of a forecast; 0 where nothing is known of it.
        doubts: The diagonal of D.
    """
    known = products[np.trace(products, axis1=1, axis2=2) > 0]
    if not len(known):  # no candidate has erred
        return np.repeat((1 / np.asarray(doubts) / (1 / np.asarray(doubts)).sum())[:, None], len(products), 1)
    mean, weights = known.mean(0) / np.trace(known.mean(0)), []
    doubt = PRIOR / max(float(blocks.sum()), 1.0)
    for own, count in zip(products, blocks, strict=True):
        size = np.trace(own)
        gram = mean if size <= 0 else (count * own / size + OTHERS * mean) / (count + OTHERS)
        weights.append(few_weights(gram + doubt * float(np.diag(gram).min()) * np.diag(np.asarray(doubts))))
    return np.stack(weights, 1)


def _shrunk(gram: Floats, some: NDArray[np.int64], doubts: Floats, blocks: int) -> Floats:
    """Weights of some candidates, drawn to equal ones; none of the others."""
    part = gram[np.ix_(some, some)]
    weights = np.zeros(len(gram))
    weights[some] = few_weights(part + np.diag(part).min() / blocks * np.diag(doubts[some]))
    return weights


def _is_better(weights: Floats, other: Floats, products: Floats, blocks: int) -> bool:
    """Whether one blend is better than another by more than a standard error over blocks of windows."""
    gains = np.einsum("k,wkl,l->w", other, products, other) - np.einsum("k,wkl,l->w", weights, products, weights)
    means = [part.mean() for part in np.array_split(gains, blocks)]
    return blocks > 1 and bool(gains.mean() > np.std(means, ddof=1) / blocks**0.5)
