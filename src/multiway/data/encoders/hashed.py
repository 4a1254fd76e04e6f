"""Vectors from counts of words, word pairs and letter triples; numpy alone, the same on every machine."""

import hashlib
import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+|[^\w\s]")
KINDS = 3
SALTS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
"""One per kind of feature: a word and a pair that hash alike still differ."""
FORM = "hashed n-grams 1"
"""Changes with anything below that changes a vector."""

Hashes = NDArray[np.uint64]


class HashedEncoder:
    """Signed feature hashing (Weinberger et al., 2009) of words, pairs of neighbours, and triples of letters.

    Every feature adds plus or minus one to one of `dim` places; its hash says which. Each of the three kinds is
    scaled to length one, so that many triples do not drown few words, and so is their sum. A text without any
    letter or mark gives zeros.

    Args:
        dim: Features of a vector.
    """

    name = "hashed"

    def __init__(self, dim: int = 512) -> None:
        self.dim = dim
        self.digest = hashlib.sha256(f"{FORM}, {dim}".encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Count, place and scale; one row per text."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._vector(text)
        return vectors

    def _vector(self, text: str) -> NDArray[np.float64]:
        features = _features(text.casefold())
        kind = np.repeat(np.arange(KINDS), [len(part) for part in features])
        hashes = _mixed(np.concatenate(features) ^ SALTS[kind])
        signs = 1.0 - 2.0 * (hashes >> np.uint64(63)).astype(np.float64)
        places = (hashes % np.uint64(self.dim)).astype(np.int64)
        counts = np.bincount(kind * self.dim + places, signs, KINDS * self.dim).astype(np.float64)
        vector: NDArray[np.float64] = _unit(_unit(counts.reshape(KINDS, self.dim)).sum(0, keepdims=True))[0]
        return vector


def _features(text: str) -> tuple[Hashes, Hashes, Hashes]:
    """Hashes of the text's words, pairs of words, and triples of letters within a word and its borders."""
    spelled = WORD.findall(text)
    words = np.array([zlib.crc32(word.encode()) for word in spelled], np.uint64)
    pairs = _mixed(words[:-1]) + words[1:]
    letters = np.frombuffer(f" {' '.join(spelled)} ".encode("utf-32-le"), "<u4").astype(np.uint64)
    triples = (letters[:-2] << np.uint64(42)) | (letters[1:-1] << np.uint64(21)) | letters[2:]
    return words, pairs, triples


def _mixed(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of the result depends on every bit of the value."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length one; those of zeros stay."""
    lengths = np.sqrt((rows * rows).sum(1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))
