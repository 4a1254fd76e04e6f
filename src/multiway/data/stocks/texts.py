"""Texts about stocks, or their vectors, each with its ticker and the day it belongs to."""

import dataclasses

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockTexts:
    """One entry per text, sorted by ticker, day and stamp.

    ticker: `(texts,)` positions in the panel's tickers.
    day: `(texts,)` datetime64[D], the exchange's calendar day, the next one after its close. A text says something
        about later days only: it is put on the first trading day strictly after this one.
    stamp: `(texts,)` datetime64[s] in UTC, as stamped; the day at 00:00 where only a day is known.
    text: The texts; None where vectors are given.
    vectors: `(texts, features)` float32; None where texts are given.
    dropped: Why texts were left out, and how many.
    source: Name of the file or folder.
    notes: What a reader should know, one line each.
    """

    ticker: NDArray[np.int64]
    day: NDArray[np.datetime64]
    stamp: NDArray[np.datetime64]
    text: tuple[str, ...] | None
    vectors: NDArray[np.float32] | None
    dropped: dict[str, int]
    source: str
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of texts."""
        return len(self.ticker)
