"""Texts that are training texts but for some words: by counts of their words, and by shingles that they share.

A shingle is eight words in a row, wherever it stands in a text.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.near import MOST_KNOWN, MOST_ROWS, Pair, search, thin_rows
from multiway.auditing.report import Verdict, verdict_on
from multiway.data.encoders import HashedEncoder
from multiway.data.findings import quote
from multiway.errors import Fix

ALIKE = 0.85
"""Cosine of counts of words, pairs and letter triples from which on two texts are near copies."""
FEWEST_WORDS = 5
"""Shorter texts share all their words by chance."""
MANY = 0.03
"""Share of near copies among texts from which on they are a leak."""

RUN, IN_RUNS, FEWEST_OF_RUNS = 3, 0.2, 20
"""Words of a run, the share of runs that near copies have in common, and words of a text that is not short."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
SIZE = 8
"""Words of a shingle."""
WIDESPREAD, LEAST_WIDESPREAD = 0.01, 5
"""Share of the texts, and texts at least, in more than which a shingle is a formula that says nothing of a text."""
HALF, FEWEST_SHARED = 0.5, 3
"""Share of its own shingles that a text has from one other where it is a near copy, and how many at least."""
FACTOR = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]


class Words:
    """Texts by the hashed counts of their words, pairs and letter triples."""

    least, usual = ALIKE, np.empty(0)

    def __init__(self, texts: Sequence[str], known: Ints) -> None:
        self.texts, self.known, self.encoder = texts, known, HashedEncoder(1024)

    def similarities(self, rows: Ints) -> Floats:
        """Cosines."""
        return self._units(rows) @ self._units(self.known).T

    def _units(self, rows: Ints) -> NDArray[np.float32]:
        vectors = self.encoder.encode([self.texts[row] for row in rows.tolist()])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, 1))


def check_near_texts(texts: Sequence[str], train: Ints, rest: Ints, split: str) -> Verdict:
    """Whether texts of a later split are training texts but for some words; exact copies are not counted.

    Formulas that many texts share, such as a greeting, are left out first.
    """
    copies = {texts[row].casefold() for row in train.tolist()}
    chosen = np.concatenate([thin_rows(train, MOST_KNOWN), thin_rows(rest, MOST_ROWS)])
    count = len(thin_rows(train, MOST_KNOWN))
    own = without_formulas([texts[row] for row in chosen.tolist()], np.arange(count))
    long = np.array([len(text.split()) >= FEWEST_WORDS for text in own])
    fresh = np.array([texts[row].casefold() not in copies for row in chosen.tolist()])
    known, held = np.flatnonzero(long[:count]), count + np.flatnonzero((long & fresh)[count:])
    if not len(known) or not len(held):
        return f"no {split} text is long enough to be a near copy"
    counted = [pair for pair in search(Words(own, known), held) if _share_runs(own[pair[0]], own[pair[1]])]
    alike = {pair[0]: pair for pair in (*find_shared_shingles(own, known, held), *counted)}
    pairs = [(texts[chosen[row]], texts[chosen[other]]) for row, other, _ in sorted(alike.values())]
    return verdict_on(
        [f"'{quote(one, 60)}' = '{quote(other, 60)}'" for one, other in pairs],
        f"none of {len(held):,} {split} texts is a training text but for a word or two",
        "near",
        f"{len(pairs):,} of {len(held):,} {split} texts are training texts but for a word or two",
        ("Give texts that go together a group (", Fix("read.group", like="NAME"), ")."),
        severity="error" if len(pairs) > MANY * len(held) else "warning",
    )


def _share_runs(one: str, other: str) -> bool:
    """Whether two texts share most words, and many runs of them, as texts of one small vocabulary do not.

    A link that is repeated is one word.
    """
    words = [text.casefold().split() for text in (one, other)]
    is_short = min(map(len, words)) < FEWEST_OF_RUNS
    for run, least in ((1, HALF),) if is_short else ((1, HALF), (RUN, IN_RUNS)):
        own, others = ({*zip(*(each[place:] for place in range(run)), strict=False)} for each in words)
        if len(own & others) <= least * max(len(own), len(others)):
            return False
    return True


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
                hashes = (hashes ^ _mix(flat[place : place + count])) * FACTOR
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


def _mix(numbers: Hashes) -> Hashes:
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


def find_shared_shingles(texts: Sequence[str], known: Ints, rows: Ints) -> list[Pair]:
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
        int(row[at]): (int(row[at]), int(other[at]), float(share[at]))
        for at in np.argsort(share, kind="stable")
        if share[at] >= HALF and counts[at] >= FEWEST_SHARED
    }
    return [best[key] for key in sorted(best)]
