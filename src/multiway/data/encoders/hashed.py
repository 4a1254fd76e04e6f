"""Texts by their words: hashed counts of words, pairs and letter triples, and ids of the frequent words of training."""

import collections
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
PADDING, UNKNOWN, FIRST = 0, 1, 2
"""Ids of what stands behind a text, of a word that training had not, and of the most frequent word."""


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
            spelled = WORD.findall(text.casefold())
            words = np.array([zlib.crc32(word.encode()) for word in spelled], np.uint64)
            pairs = _mix(words[:-1]) + words[1:]
            letters = np.frombuffer(f" {' '.join(spelled)} ".encode("utf-32-le"), "<u4").astype(np.uint64)
            triples = (letters[:-2] << np.uint64(42)) | (letters[1:-1] << np.uint64(21)) | letters[2:]
            features = words, pairs, triples
            kind = np.repeat(np.arange(KINDS), [len(part) for part in features])
            hashes = _mix(np.concatenate(features) ^ SALTS[kind])
            signs = 1.0 - 2.0 * (hashes >> np.uint64(63)).astype(np.float64)
            places = (hashes % np.uint64(self.dim)).astype(np.int64)
            counts = np.bincount(kind * self.dim + places, signs, KINDS * self.dim).astype(np.float64)
            vectors[row] = _unit(_unit(counts.reshape(KINDS, self.dim)).sum(0, keepdims=True))[0]
        return vectors


def _mix(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of the result depends on every bit of the value."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length one; those of zeros stay."""
    lengths = np.sqrt((rows * rows).sum(1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))


def words_in(text: str) -> list[str]:
    """Words and marks, case folded."""
    return WORD.findall(text.casefold())


def longest(texts: Sequence[str], most: int) -> int:
    """Words of the longest text, at most `most`, at least one."""
    return min(max([1, *(len(words_in(text)) for text in texts)]), most)


def frequent_words(texts: Sequence[str], max_words: int, min_count: int) -> tuple[str, ...]:
    """Words that so many texts hold at least, the most frequent first; ties go to the alphabet."""
    counts = collections.Counter(word for text in texts for word in set(words_in(text)))
    frequent = [word for word, count in counts.items() if count >= min_count]
    return tuple(sorted(frequent, key=lambda word: (-counts[word], word))[:max_words])


def word_ids(texts: Sequence[str], vocabulary: Sequence[str], length: int) -> NDArray[np.int64]:
    """Ids `(texts, length)` int64, padded behind; `vocabulary[i]` has id i + 2, what is longer is cut off."""
    id_of = {word: number for number, word in enumerate(vocabulary, start=FIRST)}
    ids = np.full((len(texts), length), PADDING, np.int64)
    for row, text in enumerate(texts):
        words = words_in(text)[:length]
        ids[row, : len(words)] = [id_of.get(word, UNKNOWN) for word in words]
    return ids
