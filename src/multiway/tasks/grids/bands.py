"""Bands around the fields of an answer, by its errors on times that it was not fitted on."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PERCENTAGES = np.arange(1, 100)
"""Levels whose reach is kept; those between them lie between."""
SHOWN = (80.0, 95.0)
"""Levels whose share of the test values is measured."""
PRIOR = 4.0
"""Times that the mean spread of all cells counts for, beside those of a cell; and the training, beside validation."""


def learn_band(errors: Floats, weights: Floats, counts: Floats | None = None) -> tuple[Floats, Floats]:
    r"""Spread of the errors of each cell `(cells,)`, and how many spreads hold each percentage of them `(99,)`.

    $s_c^2 = (\sum_t v_t e_{tc}^2 + m \bar{e^2}) / (\sum_t v_t + m)$, where the mean is by area. An error is measured by
    the spread of its cell without it, so that few times make wide bands; a level is a quantile by area of these over
    all cells.

    Args:
        errors: At each time, `(times, cells)`; NaN where nothing is known.
        weights: Of the cells in a mean.
        counts: How often each time counts, v; once if not given.
    """
    known, often = np.isfinite(errors), np.ones((len(errors), 1)) if counts is None else counts[:, None]
    squares, areas = np.where(known, errors, 0.0) ** 2, known * weights * often
    seen, whole = (known * often).sum(0), max(float(areas.sum()), 1e-300)
    sums = (often * squares).sum(0) + PRIOR * float((squares * areas).sum()) / whole
    others = (sums - often * squares) / (np.maximum(seen - often, 0) + PRIOR)
    ratios = np.sqrt(squares / np.maximum(others, 1e-300))[known]
    order = np.argsort(ratios)
    shares = np.cumsum(areas[known][order]) / whole
    places = np.searchsorted(shares, PERCENTAGES / 100 - 1e-9).clip(max=max(len(ratios) - 1, 0))
    reach = ratios[order][places] if len(ratios) else np.zeros(len(PERCENTAGES))
    return np.sqrt(sums / (seen + PRIOR)), reach


def find_radii(spread: Floats, reach: Floats, level: float) -> Floats:
    """Half widths of the band of a level in percent, `(leads, cells)`."""
    factors = np.array([np.interp(level, PERCENTAGES, each) for each in reach])
    return factors[:, None] * spread


def share_held(errors: Floats, radii: Floats, weights: Floats) -> Floats:
    """Sums by area, at each time, of the known cells whose error is within a radius, and of all known ones."""
    known = np.isfinite(errors)
    held = known & (np.abs(np.where(known, errors, 0.0)) <= radii)
    return np.stack([held @ weights, known @ weights])
