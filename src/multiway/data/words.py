"""Texts as ids of words: the frequent words of training texts, each with a number of its own."""

import collections
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.encoders.hashed import WORD

PADDING, UNKNOWN, FIRST = 0, 1, 2
"""Ids of what stands behind a text, of a word that training had not, and of the most frequent word."""


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
