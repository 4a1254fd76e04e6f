"""Windows of tokens that do not overlap, what a language model is trained on and scored by, and what is counted."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

COUNTED = ("tokens", "words", "bytes")
NO_TARGET = -100
"""Stands for the target where a window has ended; it is never counted."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TokenWindows:
    """Stretches of documents. A window says each of its tokens from those before it in the window.

    tokens: All documents one after another, each between two marks.
    document: `(windows,)` which document each is of.
    first: `(windows,)` where its first input stands; the target stands after it.
    length: `(windows,)` how many targets it has.
    mark: Fills inputs after a window's end.
    """

    tokens: Tensor
    document: NDArray[np.int64]
    first: NDArray[np.int64]
    length: NDArray[np.int64]
    mark: int

    @classmethod
    def of(cls, pieces: Sequence[NDArray[np.int64]], context: int, mark: int) -> Self:
        """Cut documents: a document of n tokens has n + 1 targets, the last of which is the mark."""
        parts = [np.concatenate([[mark], piece, [mark]]) for piece in pieces]
        sizes = np.array([len(part) for part in parts], np.int64)
        counts = -(-(sizes - 1) // context)
        document = np.repeat(np.arange(len(parts)), counts)
        start = context * (np.arange(len(document)) - np.repeat(counts.cumsum() - counts, counts))
        length = np.minimum(context, sizes[document] - 1 - start)
        tokens = torch.from_numpy(np.concatenate([np.empty(0, np.int64), *parts]))
        first = (sizes.cumsum() - sizes)[document] + start
        return cls(tokens=tokens, document=document, first=first, length=length, mark=mark)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def targets(self) -> int:
        """Tokens that are said."""
        return int(self.length.sum())

    def head(self, most: int | None) -> Self:
        """The first windows, until they have so many targets."""
        if most is None or most >= self.targets:
            return self
        stop = int(np.searchsorted(self.length.cumsum(), most)) + 1
        return dataclasses.replace(
            self, document=self.document[:stop], first=self.first[:stop], length=self.length[:stop]
        )

    def of_first(self, documents: int) -> Self:
        """Windows of so many documents, the first ones."""
        return self.head(int(self.length[self.document < documents].sum()))

    def some(self, most: int) -> Tensor:
        """Indices of so many of the longest windows at most, evenly spread."""
        chosen = torch.from_numpy((self.length == self.length.max()).nonzero()[0])
        return chosen[torch.linspace(0, len(chosen) - 1, min(most, len(chosen))).round().long()]

    def said(self) -> Tensor:
        """Every target, window after window."""
        spans = zip(self.first + 1, self.length, strict=True)
        return torch.cat([self.tokens[low : low + size] for low, size in spans])

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """A value of every target, summed by window."""
        return np.asarray(np.add.reduceat(values, np.cumsum(self.length) - self.length))

    def stretches(self) -> list[Tensor]:
        """Tokens of each document, as far as windows cover it, marks among them."""
        starts = np.flatnonzero(np.diff(self.document, prepend=-1))
        ends = [*starts[1:], len(self)]
        reach = self.first + self.length + 1
        return [self.tokens[self.first[low] : reach[high - 1]] for low, high in zip(starts, ends, strict=True)]

    def batches(self, size: int) -> Iterator[dict[str, Tensor]]:
        """All windows in order, so many at once."""
        for index in torch.arange(len(self)).split(size):
            yield self.gather(index)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Inputs and targets `(windows, tokens)` of some windows, as wide as the longest of them."""
        first, length = torch.from_numpy(self.first)[index], torch.from_numpy(self.length)[index]
        step = torch.arange(int(length.max()))
        inside = step < length[:, None]
        position = first[:, None] + torch.where(inside, step, 0)
        return {
            "inputs": torch.where(inside, self.tokens[position], self.mark),
            "target": torch.where(inside, self.tokens[position + 1], NO_TARGET),
        }


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Tokens, words and bytes of a split.

    documents: A row per document: where it stands, its split, and what is counted of it.
    document: `(windows,)` document of each window.
    windows: `(windows, 3)` what is counted of each; of its document's words and bytes it has its share by tokens,
        none where the tokens lose text.
    """

    documents: pd.DataFrame
    document: NDArray[np.int64]
    windows: NDArray[np.float64]

    @classmethod
    def of(
        cls, split: str, places: Sequence[str], texts: Sequence[str], windows: TokenWindows, *, is_whole: bool = True
    ) -> Self:
        """Count texts that are cut into these windows: words are what blanks and line ends separate."""
        tokens = np.bincount(windows.document, windows.length, len(texts)).astype(np.int64)
        words = np.array([len(text.split()) for text in texts], np.int64)
        size = np.array([len(text.encode()) for text in texts], np.int64)
        head = {"document": list(places), "split": split}
        documents = pd.DataFrame({**head, "tokens": tokens, "words": words, "bytes": size})
        whole = documents[list(COUNTED)].to_numpy(np.float64)[windows.document]
        shares = is_whole * windows.length / whole[:, 0]
        counted = np.stack([windows.length, *(whole[:, 1:] * shares[:, None]).T], axis=1)
        return cls(documents=documents, document=windows.document, windows=counted)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """A value of every window, summed by document."""
        return np.asarray(np.bincount(self.document, values, len(self.documents)))
