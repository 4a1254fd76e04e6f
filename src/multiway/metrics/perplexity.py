"""How surprising text is, over the tokens, words or bytes that are counted of it; None where there are none."""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.metrics.resampling import ScoreFunction

Values = NDArray[np.float64]
TOKENS, WORDS, BYTES = range(3)
"""Columns of what is counted, a row per window or document."""
LARGEST = 700.0
"""Exponent up to which a perplexity is a number."""


def mean_nats(counted: NDArray[Any], nats: Values, column: int = TOKENS) -> float | None:
    """Nats per unit of a column."""
    count = float(counted[:, column].sum())
    return float(nats.sum()) / count if count else None


def perplexity(counted: NDArray[Any], nats: Values, column: int = TOKENS) -> float | None:
    """Exponential of the mean nats; None where it is no number."""
    mean = mean_nats(counted, nats, column)
    return None if mean is None or mean >= LARGEST else math.exp(mean)


def bits_per_byte(counted: NDArray[Any], nats: Values) -> float | None:
    """Bits per byte, which compares whatever the tokens are."""
    mean = mean_nats(counted, nats, BYTES)
    return None if mean is None else mean / math.log(2)


FUNCTIONS: dict[str, ScoreFunction] = {
    "ppl": perplexity,
    "word_ppl": functools.partial(perplexity, column=WORDS),
    "bpb": bits_per_byte,
    "loss": mean_nats,
}
"""By the name of the score."""
