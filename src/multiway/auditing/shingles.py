"""Shingles of texts: eight words in a row, by which one finds what two texts share, wherever it stands in them."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.near import Pair

SIZE = 8
"""Words of a shingle."""
WIDESPREAD, LEAST_WIDESPREAD = 0.01, 5
"""Share of the texts, and texts at least, in more than which a shingle is a formula that says nothing of a text."""
HALF, FEWEST_SHARED = 0.5, 3
"""Share of its own shingles that a text has from one other where it is a near copy, and how many at least."""
FACTOR = np.uint64(0x9E3779B97F4A7C15)

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]


@dataclasses.dataclass(frozen=True, slots=True)
class Shingles:
    """Hash of every shingle, the text that it is of, and the word of all words at which it begins."""

    hashes: Hashes
    owners: Ints
    starts: Ints

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Those of texts, whatever their case and white space."""
        numbers: dict[str, int] = {}
        words = [[numbers.setdefault(word, len(numbers)) for word in text.casefold().split()] for text in texts]
        owner = np.repeat(np.arange(len(texts)), [*map(len, words)])
        flat = np.fromiter((number for each in words for number in each), np.uint64, len(owner))
        count = max(len(flat) - SIZE + 1, 0)
        hashes = np.zeros(count, np.uint64)
        with np.errstate(over="ignore"):
            for place in range(SIZE):
                hashes = (hashes ^ _mixed(flat[place : place + count])) * FACTOR
        starts = np.flatnonzero(owner[:count] == owner[SIZE - 1 :]) if count else np.empty(0, np.int64)
        return cls(hashes[starts], owner[starts], starts)

    def only(self, chosen: NDArray[np.bool_]) -> "Shingles":
        """Some of them."""
        return Shingles(self.hashes[chosen], self.owners[chosen], self.starts[chosen])

    def widespread(self, rows: Ints) -> NDArray[np.bool_]:
        """Which stand in many of these texts."""
        mine = self.only(np.isin(self.owners, rows))
        pairs = np.unique(np.stack([mine.hashes, mine.owners.astype(np.uint64)]), axis=1)[0]
        hashes, counts = np.unique(pairs, return_counts=True)
        return np.isin(self.hashes, hashes[counts > max(LEAST_WIDESPREAD, WIDESPREAD * len(rows))])


def _mixed(numbers: Hashes) -> Hashes:
    mixed = (numbers + np.uint64(1)) * FACTOR
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


def without_formulas(texts: Sequence[str], rows: Ints) -> list[str]:
    """Texts without the words of shingles that many of some rows have, such as a greeting or a licence."""
    every = Shingles.of(texts)
    spread = every.only(every.widespread(rows))
    if not len(spread.hashes):
        return list(texts)
    counts = [len(text.split()) for text in texts]
    first = np.cumsum([0, *counts])
    covered = np.zeros(first[-1], np.bool_)
    covered[(spread.starts[:, None] + np.arange(SIZE)).ravel()] = True
    kept = [~covered[start:stop] for start, stop in itertools.pairwise(first.tolist())]
    return [
        text if words.all() else " ".join(itertools.compress(text.split(), words))
        for text, words in zip(texts, kept, strict=True)
    ]


def shared_shingles(texts: Sequence[str], known: Ints, rows: Ints) -> list[Pair]:
    """Rows of whose shingles half stand in one of the known texts, each with that text and the share."""
    every = Shingles.of(texts)
    own = every.only(~every.widespread(known))
    there, held = own.only(np.isin(own.owners, known)), own.only(np.isin(own.owners, rows))
    order = np.argsort(there.hashes, kind="stable")
    low, high = (np.searchsorted(there.hashes[order], held.hashes, side) for side in ("left", "right"))
    matches = np.repeat(low, high - low) + np.concatenate([np.arange(count) for count in high - low] or [low])
    pairs = np.stack([np.repeat(held.owners, high - low), there.owners[order][matches]])
    (row, other), counts = np.unique(pairs, axis=1, return_counts=True)
    share = counts / np.bincount(held.owners, minlength=len(texts))[row] if len(row) else counts
    best = {
        int(row[at]): (int(row[at]), int(other[at]), float(share[at])) for at in np.argsort(share, kind="stable")
        if share[at] >= HALF and counts[at] >= FEWEST_SHARED
    }  # fmt: skip
    return [best[key] for key in sorted(best)]


def share_in(texts: Sequence[str], train: Ints, rows: Ints) -> tuple[NDArray[np.float64], float]:
    """Share of the shingles of each row, and of all rows, that stand in the training texts."""
    every = Shingles.of(texts)
    own = every.only(~every.widespread(train))
    held = own.only(np.isin(own.owners, rows))
    there = np.isin(held.hashes, own.hashes[np.isin(own.owners, train)])
    size = len(texts)
    hits, counts = np.bincount(held.owners[there], minlength=size), np.bincount(held.owners, minlength=size)
    return hits[rows] / np.maximum(counts[rows], 1), float(there.mean()) if len(there) else 0.0
