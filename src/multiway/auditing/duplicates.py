"""The same thing in two splits: exact copies, found by hash."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, found
from multiway.data.findings import quoted

Digests = Mapping[str, Sequence[bytes | None]]
MANY = 0.01
"""Share of copies above which repeats of a series are called a leak; fewer are a warning."""


def digest_of(values: NDArray[np.generic]) -> bytes | None:
    """Hash of an array; None for one that is constant, which says nothing."""
    if not values.size or (values == values.flat[0]).all():
        return None
    return hashlib.blake2b(
        f"{values.shape}{values.dtype.kind}".encode() + np.ascontiguousarray(values).tobytes(), digest_size=16
    ).digest()


def window_digests(values: NDArray[np.float64], starts: NDArray[np.int64], length: int) -> list[bytes | None]:
    """Hash of each window of neighbouring rows; None for one whose rows are all alike.

    Each distinct row gets a number first, so that long windows of many variates cost little.
    """
    numbers: dict[bytes, int] = {}
    rows = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in values], np.int32)
    same = np.concatenate([[0], (rows[1:] != rows[:-1]).cumsum()])  # how often a row differed from the one before
    return [
        None if same[start] == same[start + length - 1]
        else hashlib.blake2b(rows[start : start + length].tobytes(), digest_size=16).digest()
        for start in np.asarray(starts).tolist()
    ]  # fmt: skip


def check_duplicates(
    digests: Digests, names: Mapping[str, Sequence[str]], what: str, *, tolerated: float = 0.0
) -> Verdict:
    """Whether something of one split is a copy of something in an earlier one.

    Args:
        digests: For each split, a hash per thing, or None for what is not compared; training first.
        names: What each thing is called.
        what: What the things are, in the plural.
        tolerated: Share of a split up to which copies are a warning and no leak.
    """
    first: dict[bytes, tuple[str, str]] = {}
    copies: list[str] = []
    worst, looked = 0.0, 0
    for split, every in digests.items():
        mine = [
            (name, first[digest]) for name, digest in zip(names[split], every, strict=True)
            if digest is not None and digest in first
        ]  # fmt: skip
        copies += [f"{split} {quoted(name)} = {other} {quoted(there)}" for name, (other, there) in mine]
        worst = max(worst, len(mine) / max(len(every), 1))
        looked += sum(digest is not None for digest in every)
        for name, digest in zip(names[split], every, strict=True):
            if digest is not None:
                first.setdefault(digest, (split, name))
    if not copies:
        return f"none of {looked:,} {what} is in two splits"
    return found(
        "duplicates", "error" if worst > tolerated else "warning",
        f"{len(copies):,} {what} are in two splits ({worst:.1%} of a split)", "Keep each in one split.",
        copies[:3], len(copies),
    )  # fmt: skip
