"""Words of the training texts as whole numbers."""

import collections
import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.data.encoders.hashed import WORD
from multiway.data.labelled_text.options import WordOptions

PADDING, UNKNOWN, FIRST = 0, 1, 2
"""Ids of what stands behind a text, of a word that training had not, and of the most frequent word."""


def words_of(text: str) -> list[str]:
    """Words and marks, case folded."""
    return WORD.findall(text.casefold())


@dataclasses.dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words with an id of their own, the most frequent first; `words[i]` has id i + 2."""

    words: tuple[str, ...]

    @classmethod
    def fit(cls, texts: Sequence[str], options: WordOptions) -> Self:
        """Learn from texts: the training rows and no others. Ties go to the alphabet."""
        counts = collections.Counter(word for text in texts for word in set(words_of(text)))
        frequent = [word for word, count in counts.items() if count >= options.min_count]
        return cls(tuple(sorted(frequent, key=lambda word: (-counts[word], word))[: options.max_words]))

    @property
    def size(self) -> int:
        """Ids there are, padding and the unknown word among them."""
        return len(self.words) + FIRST

    def ids(self, texts: Sequence[str], length: int) -> NDArray[np.int64]:
        """Ids `(texts, length)` int64, padded behind; what is longer is cut off."""
        id_of = self._id_of()
        found = np.full((len(texts), length), PADDING, np.int64)
        for row, text in enumerate(texts):
            words = words_of(text)[:length]
            found[row, : len(words)] = [id_of.get(word, UNKNOWN) for word in words]
        return found

    def _id_of(self) -> dict[str, int]:
        return {word: place + FIRST for place, word in enumerate(self.words)}


def longest(texts: Sequence[str], most: int) -> int:
    """Words of the longest text, at most `most`, at least one."""
    lengths: NDArray[np.int64] = np.array([len(words_of(text)) for text in texts], dtype=np.int64)
    return int(min(max(lengths.max(initial=1), 1), most))
