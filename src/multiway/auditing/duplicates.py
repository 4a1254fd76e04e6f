"""The same thing in two splits, or with two labels: exact copies, found by hash, and what belongs together."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, verdict_on
from multiway.data.findings import Severity, quote

Digests = Mapping[str, Sequence[bytes | None]]
Ints = NDArray[np.int64]
T = TypeVar("T")
MANY = 0.01
"""Share of copies above which repeats of a series are called a leak; fewer are a warning."""


class Names(Protocol):
    """Names by place, a list of them or made on demand."""

    def __getitem__(self, position: int, /) -> str:
        """Name of one."""


def by_split(values: Sequence[T], splits: Mapping[str, Ints]) -> dict[str, list[T]]:
    """One value per thing as those of each split's rows."""
    return {split: [values[row] for row in rows] for split, rows in splits.items()}


def sample_digest(values: NDArray[np.generic]) -> bytes | None:
    """Hash of an array; None for one that is constant, which says nothing."""
    if not values.size or (values == values.flat[0]).all():
        return None
    return hashlib.blake2b(
        f"{values.shape}{values.dtype.kind}".encode() + np.ascontiguousarray(values).tobytes(), digest_size=16
    ).digest()


def window_digests(values: NDArray[np.float64], starts: Ints, length: int) -> list[bytes | None]:
    """Hash of each window of neighbouring rows; None for one whose rows are all alike.

    Each distinct row gets a number first, so that long windows of many variates cost little.
    """
    numbers: dict[bytes, int] = {}
    rows = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in values], np.int32)
    same = np.concatenate([[0], (rows[1:] != rows[:-1]).cumsum()])  # how often a row differed from the one before
    return [
        None
        if same[start] == same[start + length - 1]
        else hashlib.blake2b(rows[start : start + length].tobytes(), digest_size=16).digest()
        for start in np.asarray(starts).tolist()
    ]


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
            (name, first[digest])
            for name, digest in zip(names[split], every, strict=True)
            if digest is not None and digest in first
        ]
        copies += [f"{split} {quote(name)} = {other} {quote(there)}" for name, (other, there) in mine]
        worst = max(worst, len(mine) / max(len(every), 1))
        looked += sum(digest is not None for digest in every)
        for name, digest in zip(names[split], every, strict=True):
            if digest is not None:
                first.setdefault(digest, (split, name))
    sound = f"none of {looked:,} {what} is in two splits"
    rule = f"{len(copies):,} {what} are in two splits ({worst:.1%} of a split)"
    severity: Severity = "error" if worst > tolerated else "warning"
    return verdict_on(copies, sound, "duplicates", rule, "Keep each in one split.", severity=severity)


def check_groups(groups: Mapping[str, Sequence[str]], what: str) -> Verdict:
    """Whether a group is in two splits.

    Args:
        groups: For each split, the group of each case.
        what: What a group is, in the singular; an s makes it plural.
    """
    splits: dict[str, list[str]] = {}
    for split, every in groups.items():
        for group in dict.fromkeys(every):
            splits.setdefault(group, []).append(split)
    torn = [f"{quote(group)} in {' and '.join(where)}" for group, where in splits.items() if len(where) > 1]
    sound = f"none of {len(splits):,} {what}s is in two splits"
    rule = f"{len(torn):,} of {len(splits):,} {what}s are in two splits"
    return verdict_on(torn, sound, "groups", rule, f"Give each {what} to one split.")


def check_one_label(
    digests: Sequence[bytes | None], labels: Sequence[object], names: Sequence[str], what: str
) -> Verdict:
    """Whether copies of one thing have two labels."""
    seen: dict[bytes, int] = {}
    torn: list[str] = []
    for index, digest in enumerate(digests):
        other = index if digest is None else seen.setdefault(digest, index)
        if labels[other] != labels[index]:
            one, two = (f"{quote(names[row])} ({quote(labels[row])})" for row in (other, index))
            torn.append(f"{one} = {two}")
    rule = f"copies of a {what} have different labels"
    return verdict_on(torn, f"no {what} has two labels", "labels", rule, "Correct them.")


def chance_of_repeats(columns: Sequence[NDArray[np.generic]], train: Ints, rest: Ints, kinds: Ints) -> float:
    """Share of rows that equal a training row by chance, were the columns independent within each kind of row."""

    def frequency(known: NDArray[np.generic], cells: NDArray[np.generic]) -> NDArray[np.float64]:
        """Share of the known cells that are like each cell."""
        values, counts = np.unique(known.astype(str), return_counts=True)
        position = np.minimum(np.searchsorted(values, cells.astype(str)), len(values) - 1)
        return np.where(values[position] == cells.astype(str), counts[position], 0) / len(known)

    chance = np.zeros(len(rest))
    for kind in np.unique(kinds[rest]):
        learnt, judged = train[kinds[train] == kind], kinds[rest] == kind
        if len(learnt):
            shares = np.prod([frequency(column[learnt], column[rest[judged]]) for column in columns], axis=0)
            chance[judged] = 1 - (1 - shares) ** len(learnt)
    return float(chance.mean()) if len(rest) else 0.0
