"""Whether covariates that are said to be known ahead can be: one that tells what no past does may be the target."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, finding

TELLING = 0.95
"""Correlation with a target, in what the past of neither foretells, from which on a covariate is one in disguise."""
SHIFTS = range(-3, 4)
FEWEST = 30
"""Steps at which both change."""

Rows = NDArray[np.float64]


def check_known_ahead(targets: Rows, names: Sequence[str], covariates: Mapping[str, Rows], season: int) -> Verdict:
    """Compare the surprises of each covariate with those of its series, at the same step and a few around it.

    A surprise is the change of a step less the change a season before: prices and plans have some, and explain part of
    those of their series. One that explains nearly all holds the target itself, its later value, or a number made of
    it.

    Args:
        targets: `(rows, series)`.
        names: Of the series.
        covariates: `(rows, series or 1)` by name; those of few different values, such as holidays, tell no target.
        season: Steps in a season.
    """
    own = _surprises(targets, season)
    places = []
    for name, rows in covariates.items():
        beside = _surprises(rows, season)
        for series, label in enumerate(names):
            at, strength = _strongest(own[:, series], beside[:, min(series, beside.shape[1] - 1)])
            if abs(strength) >= TELLING:
                where = (
                    "at its step"
                    if not at
                    else f"{abs(at)} step{'s' * (abs(at) > 1)} {'later' if at > 0 else 'before'}"
                )
                places.append(f"{name}: {abs(strength):.1%} of {label} {where}")
    if not places:
        return f"no covariate that is said to be known ahead holds its target in disguise ({len(covariates)} looked at)"
    rule = "covariates that are said to be known ahead tell the target beyond what its past does"
    fix = "If they are only measured with it, name them as past, or leave them out."
    return finding("known", "warning", rule, fix, places)


def _surprises(rows: Rows, season: int) -> Rows:
    steps = np.diff(rows, axis=0)
    return steps[season:] - steps[:-season] if 1 < season < len(steps) // 2 else steps


def _strongest(own: Rows, other: Rows) -> tuple[int, float]:
    """The shift of the target at which the correlation is strongest, and that correlation."""
    strongest = (0, 0.0)
    for shift in SHIFTS:
        x, y = (other[max(0, -shift) : len(other) - max(0, shift)], own[max(0, shift) : len(own) + min(0, shift)])
        both = ~np.isnan(x) & ~np.isnan(y)
        changes = both & (x != 0) & (y != 0)
        if changes.sum() < FEWEST or len(np.unique(x[both])) < FEWEST:
            continue
        strength = float(np.corrcoef(x[both], y[both])[0, 1])
        if abs(strength) > abs(strongest[1]):
            strongest = (shift, strength)
    return strongest
