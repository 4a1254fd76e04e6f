"""How surprised the models of a run are by text, by token, word or byte, window by window and document by document."""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import nn

from multiway.metrics.resampling import ScoreFunction, model_rows
from multiway.models.next_token import token_nats
from multiway.tasks.choice import Evidence
from multiway.tasks.language.encode import TokenDocuments
from multiway.tasks.language.windows import Tally, TokenWindows
from multiway.tasks.protocol import Metric, Row

Values = NDArray[np.float64]
TOKENS, WORDS, BYTES = range(3)
"""Columns of what is counted, a row per window or document."""
LARGEST = 700.0
"""Exponent up to which a perplexity is a number."""
METRICS = (
    Metric(name="ppl", title="Perplexity", higher=False, spread=True),
    Metric(name="word_ppl", title="Word perplexity", higher=False, spread=True),
    Metric(name="bpb", title="Bits per byte", higher=False),
    Metric(name="loss", title="Nats per token", higher=False),
)
MANY, AT_ONCE = 10, 32
"""Documents from which on intervals are over documents, over windows below; and windows that are read at once."""


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


def nats_of(model: nn.Module, windows: TokenWindows) -> Values:
    """Nats of every token of the windows, in their order."""
    nats = [token_nats(model, batch["inputs"], batch["target"]) for batch in windows.batches(AT_ONCE)]
    return np.concatenate([np.empty(0), *(part.double().numpy() for part in nats)])


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Surprise:
    """What the models make of a split.

    tally: What was counted.
    nats: `(windows,)` by model.
    """

    tally: Tally
    nats: Mapping[str, Values]

    def scores(self, split: str, draws: int) -> list[Row]:
        """A row per model and metric: value, and its 95 % interval over documents, or over windows of few."""
        units = self.tally.document if len(self.tally.documents) >= MANY else None
        return model_rows(FUNCTIONS, self.tally.windows, self.nats, split, units=units, draws=draws)

    def evidence(self) -> Evidence:
        """Losses of every window whose mean is the bits per byte, or per token where tokens lose text."""
        counted = self.tally.windows.mean(0)
        bits = np.log(2) * (counted[BYTES] or counted[TOKENS])
        loss = "bits per byte" if counted[BYTES] else "bits per token"
        losses = {name: nats / bits for name, nats in self.nats.items()}
        few = len(self.tally.documents) < MANY
        units, unit = (None, "windows") if few else (self.tally.document, "documents")
        return Evidence(losses=losses, units=units, loss=loss, unit=unit)

    def frame(self, split: str) -> pd.DataFrame:
        """A row per document and model: what was counted, and the nats."""
        tally = self.tally
        frames = [tally.documents.assign(model=model, nats=tally.sums(nats)) for model, nats in self.nats.items()]
        return pd.concat(frames, ignore_index=True)


def surprise_of(models: Mapping[str, nn.Module], documents: TokenDocuments, split: str) -> Surprise:
    """Score documents by every model, on the same tokens."""
    windows = documents.windows
    nats = {name: windows.sums(nats_of(model, windows)) for name, model in models.items()}
    return Surprise(tally=documents.tally(split), nats=nats)
