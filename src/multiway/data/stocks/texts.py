"""Texts about tickers, each on the exchange's calendar day it belongs to."""

import dataclasses

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockTexts:
    """One entry per kept text, sorted by ticker, day and stamp."""

    ticker: NDArray[np.int64]
    day: NDArray[np.datetime64]
    stamp: NDArray[np.datetime64]
    text: tuple[str, ...] | None = None
    vectors: NDArray[np.float32] | None = None
    dropped: dict[str, int] = dataclasses.field(default_factory=dict)
    source: str = "texts"
