"""Whether numbers are what they are said to be: labels, and what scaling learnt from the training rows alone."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.duplicates import Names
from multiway.auditing.report import Verdict, finding
from multiway.data.findings import quote

LEAST = 0.99
"""Share of labels that must agree; what rounding may change is far less."""
RELATIVE = 1e-5
"""Largest relative difference that rounding may make, also in float32."""
TINY = 1e-9
"""The same relative to the largest number of a variate, for a mean near 0."""

Numbers = Mapping[str, NDArray[np.float64]]


def check_agreement(
    labels: NDArray[np.generic],
    plain: NDArray[np.generic],
    what: str,
    names: Names,
    *,
    noun: str = "labels",
    least: float = LEAST,
) -> Verdict | None:
    """Compare labels with the plain definition, where that says something.

    Args:
        labels: `(cases,)`.
        plain: The same by the plain definition.
        what: What the plain definition is, in words.
        names: Of the cases.
        noun: What the labels are called.
        least: Share that must agree.
    """
    if not len(labels):
        return None
    wrong = np.flatnonzero(labels != plain)
    share = 1 - len(wrong) / len(labels)
    if share >= least:
        return f"{share:.2%} of {len(labels):,} {noun} agree with {what}"
    row = int(wrong[0])
    return finding(
        "labels",
        "error",
        f"{share:.2%} of {len(labels):,} {noun} agree with {what}; that of {quote(names[row])} is {labels[row]} "
        f"and should be {plain[row]}",
        f"Make {noun} from what they are named after.",
        count=len(wrong),
    )


def check_statistics(
    used: Numbers, training: Numbers, everything: Numbers, names: Sequence[str], *, rows: str = "training rows"
) -> Verdict:
    """Compare the numbers that scaling uses with those computed here.

    Args:
        used: What scaling learnt, such as `{"mean": ..., "std": ...}`, each `(variates,)`.
        training: The same, computed from the training rows that are no target of another split.
        everything: The same, computed from all rows, to say where other numbers come from.
        names: Of the variates.
        rows: What training rows are called.
    """
    size = np.max([np.abs(value) for value in training.values()], axis=0)
    same = {name: _same(used[name], training[name], size) for name in used}
    wrong = [(name, int(row)) for name in used for row in np.flatnonzero(~same[name])]
    if not wrong:
        of = "1 variate" if len(names) == 1 else f"{len(names)} variates"
        return f"what scaling learnt ({' and '.join(used)} of {of}) comes from the {rows} alone"
    name, row = wrong[0]
    of_all = all(bool(_same(used[key], everything[key], size).all()) for key in used)
    origin = "as over all rows" if of_all else f"and over all rows it is {everything[name][row]:.6g}"
    return finding(
        "statistics",
        "error",
        f"scaling saw more than the {rows}: {name} of {names[row]} is {used[name][row]:.6g}, {origin}; over those "
        f"alone it is {training[name][row]:.6g} ({len(wrong)} of {len(used) * len(names)} numbers differ)",
        "Fit scaling on training rows alone.",
        count=len(wrong),
    )


def _same(first: NDArray[np.float64], second: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Equal but for rounding, which is as large as the numbers that were added up."""
    near = np.abs(first - second) <= RELATIVE * np.abs(second) + TINY * size
    return np.asarray(near | (np.isnan(first) & np.isnan(second)) | (first == second))
