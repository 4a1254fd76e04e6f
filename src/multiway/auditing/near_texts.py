"""Texts that are training texts but for some words: by counts of their words, and by what they share in one piece."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.near import MOST_KNOWN, MOST_ROWS, search, thinned
from multiway.auditing.report import Verdict, finding
from multiway.auditing.shingles import shared_shingles, without_formulas
from multiway.data.encoders import HashedEncoder
from multiway.data.findings import quoted
from multiway.errors import Fix

ALIKE = 0.85
"""Cosine of counts of words, pairs and letter triples from which on two texts are near copies."""
FEWEST_WORDS = 5
"""Shorter texts share all their words by chance."""
MANY = 0.03
"""Share of near copies among texts from which on they are a leak."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


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
    chosen = np.concatenate([thinned(train, MOST_KNOWN), thinned(rest, MOST_ROWS)])
    count = len(thinned(train, MOST_KNOWN))
    own = without_formulas([texts[row] for row in chosen.tolist()], np.arange(count))
    long = np.array([len(text.split()) >= FEWEST_WORDS for text in own])
    fresh = np.array([texts[row].casefold() not in copies for row in chosen.tolist()])
    known, held = np.flatnonzero(long[:count]), count + np.flatnonzero((long & fresh)[count:])
    if not len(known) or not len(held):
        return f"no {split} text is long enough to be a near copy"
    alike = {pair[0]: pair for pair in (*shared_shingles(own, known, held), *search(Words(own, known), held))}
    if not alike:
        return f"none of {len(held):,} {split} texts is a training text but for a word or two"
    pairs = [(texts[chosen[row]], texts[chosen[other]]) for row, other, _ in sorted(alike.values())]
    return finding(
        "near", "error" if len(pairs) > MANY * len(held) else "warning",
        f"{len(pairs):,} of {len(held):,} {split} texts are training texts but for a word or two",
        ("Give texts that go together a group (", Fix("read.group", like="NAME"), ")."),
        [f"'{quoted(one, 60)}' = '{quoted(other, 60)}'" for one, other in pairs[:3]], len(pairs),
    )  # fmt: skip
