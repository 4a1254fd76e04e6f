"""Whether labels are what they are said to be."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, found
from multiway.data.findings import quoted

LEAST = 0.99
"""Share of labels that must agree; what rounding may change is far less."""


class Names(Protocol):
    """Names by place, a list of them or made when asked for."""

    def __getitem__(self, place: int, /) -> str:
        """Name of one."""


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
    place = int(wrong[0])
    return found(
        "labels", "error",
        f"{share:.2%} of {len(labels):,} {noun} agree with {what}; that of {quoted(names[place])} is {labels[place]} "
        f"and should be {plain[place]}",
        f"Make {noun} from what they are named after.", count=len(wrong),
    )  # fmt: skip


def check_one_label(
    digests: Sequence[bytes | None], labels: Sequence[object], names: Sequence[str], what: str
) -> Verdict:
    """Whether copies of one thing have two labels."""
    seen: dict[bytes, int] = {}
    torn: list[str] = []
    for place, digest in enumerate(digests):
        if digest is None:
            continue
        other = seen.setdefault(digest, place)
        if labels[other] != labels[place]:
            torn.append(
                f"{quoted(names[other])} ({quoted(labels[other])}) = {quoted(names[place])} ({quoted(labels[place])})"
            )
    if not torn:
        return f"no {what} has two labels"
    return found("labels", "error", f"copies of a {what} have different labels", "Correct them.", torn[:3], len(torn))
