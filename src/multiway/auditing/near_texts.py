"""Near copies among texts: those of two splits that share nearly all their words."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, found
from multiway.data.encoders import HashedEncoder
from multiway.data.findings import quoted

NEAR = 0.85
"""Cosine of counts of words, pairs and letter triples from which on two texts are near copies."""
FEWEST_WORDS = 5
"""Shorter texts share all their words by chance."""
MANY = 0.03
"""Share of near copies from which on they are a leak."""
MOST_ROWS, MOST_KNOWN = 1000, 20_000


def check_near_texts(texts: Sequence[str], train: NDArray[np.int64], rest: NDArray[np.int64], split: str) -> Verdict:
    """Whether texts of a later split are training texts but for a word or two; exact copies are not counted."""
    known, wanted = (_some(rows, texts, most) for rows, most in ((train, MOST_KNOWN), (rest, MOST_ROWS)))
    encoder, copies = HashedEncoder(1024), {texts[row].casefold() for row in train.tolist()}
    wanted = np.array([row for row in wanted.tolist() if texts[row].casefold() not in copies], dtype=np.int64)
    if not len(known) or not len(wanted):
        return f"no {split} text is long enough to be a near copy"
    vectors = [_unit(encoder.encode([texts[row] for row in rows.tolist()])) for rows in (wanted, known)]
    cosines = vectors[0] @ vectors[1].T
    near = np.flatnonzero(cosines.max(1) >= NEAR)
    if not len(near):
        return f"none of {len(wanted):,} {split} texts is a training text but for a word or two"
    pairs = [(texts[wanted[row]], texts[known[cosines[row].argmax()]]) for row in near[:3].tolist()]
    return found(
        "near", "error" if len(near) > MANY * len(wanted) else "warning",
        f"{len(near):,} of {len(wanted):,} {split} texts are training texts but for a word or two",
        "Give texts that go together a group (--group NAME).",
        [f"'{quoted(one, 60)}' = '{quoted(other, 60)}'" for one, other in pairs], len(near),
    )  # fmt: skip


def _some(rows: NDArray[np.int64], texts: Sequence[str], most: int) -> NDArray[np.int64]:
    long = np.array([row for row in rows.tolist() if len(texts[row].split()) >= FEWEST_WORDS], dtype=np.int64)
    return long[:: max(-(-len(long) // most), 1)]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1))
