"""Near copies: things of two splits that correlate far more than things of the training split among themselves."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, found
from multiway.data.findings import quoted

FAR = 9.0
"""Robust deviations above the usual nearest correlation, after Fisher's z."""
LEAST_SPREAD = 0.01
"""Of Fisher's z."""

Floats = NDArray[np.float64] | NDArray[np.float32]


def far_above(nearest: Floats, usual: Floats, least: float) -> NDArray[np.bool_]:
    """Which nearest correlations lie far above the usual ones, and above the least that says anything.

    Median and absolute deviation, so that copies among the usual ones do not hide others.
    """
    if not len(usual):
        return np.asarray(nearest > least)
    z, reference = (np.arctanh(np.clip(each, 0, 0.999999)) for each in (nearest, usual))
    middle = np.median(reference)
    spread = max(1.4826 * float(np.median(np.abs(reference - middle))), LEAST_SPREAD)
    return np.asarray((nearest > least) & (z > middle + FAR * spread))


def unit_rows(rows: Floats) -> NDArray[np.float32]:
    """Rows about their mean and of length one; rows that never change are 0."""
    centred = rows - rows.mean(1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    size = np.abs(rows).max(1, keepdims=True)
    return np.where(length > 1e-6 * size, centred / np.where(length > 0, length, 1), 0).astype(np.float32)


def check_near(pairs: Mapping[str, Sequence[tuple[str, str, float]]], looked: int, what: str) -> Verdict:
    """Say near copies of each split: name, what it is like, and their correlation."""
    every = [(split, *pair) for split, found_pairs in pairs.items() for pair in found_pairs]
    if not every:
        return f"none of {looked:,} {what} is nearly a copy of one in another split"
    told = [f"{split} {quoted(name)} ~ {quoted(other)} (r {value:.3f})" for split, name, other, value in every]
    return found(
        "near", "error", f"{len(every):,} of {looked:,} {what} are nearly copies of some in another split",
        "Keep all versions of a thing in one split.", told[:3], len(told),
    )  # fmt: skip
