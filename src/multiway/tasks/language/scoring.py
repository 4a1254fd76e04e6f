"""How surprised the models of a run are by text, token by token, and what that amounts to."""

import dataclasses
import math
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.data.language import NO_TARGET, PreparedText, Windows, words_of
from multiway.metrics.resampling import score_rows
from multiway.models.ngrams import KneserNey
from multiway.tasks.protocol import Metric, Row

Values = NDArray[np.float64]
METRICS = (
    Metric(name="ppl", title="Perplexity", higher=False, spread=True),
    Metric(name="word_ppl", title="Word perplexity", higher=False, spread=True),
    Metric(name="bpb", title="Bits per byte", higher=False),
    Metric(name="loss", title="Nats per token", higher=False),
)
TOKENS, WORDS, BYTES = range(3)
"""Columns of what is counted."""
MANY = 10
"""Documents from which on intervals are over documents; over windows below."""
AT_ONCE = 32
LARGEST = 700.0
"""Exponent up to which a perplexity is a number."""


class TokenLoss:
    """Cross-entropy of the tokens of a batch; what fills windows up is never counted."""

    def __init__(self, smoothing: float = 0.0) -> None:
        self.smoothing = smoothing

    def __call__(self, model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Sum over the tokens, and their number; smoothing is for training alone."""
        target = batch["target"]
        smoothing = self.smoothing if model.training else 0.0
        logits = model(batch["inputs"]).float()
        loss = F.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=NO_TARGET, label_smoothing=smoothing, reduction="sum"
        )
        return loss, (target != NO_TARGET).sum().to(loss.dtype)


@torch.no_grad()
def surprises(model: nn.Module, windows: Windows) -> Values:
    """Nats of every token of the windows, in their order."""
    found = []
    for index in torch.arange(len(windows)).split(AT_ONCE):
        batch = windows.gather(index)
        inputs, target = batch["inputs"], batch["target"]
        nats = -model(inputs, target) if isinstance(model, KneserNey) else _nats(model(inputs), target)
        found.append(nats[target != NO_TARGET].double())
    return np.asarray(torch.cat(found).numpy()) if found else np.empty(0)


def _nats(logits: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(logits.float().transpose(1, 2), target, ignore_index=NO_TARGET, reduction="none")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Surprise:
    """What the models make of a split.

    places: Where each document stands.
    document: `(windows,)` document of each window.
    counted: `(windows, 3)` tokens, words and bytes; of a document's words and bytes a window has its share by tokens.
    nats: `(windows,)` by model.
    """

    places: list[str]
    document: NDArray[np.int64]
    counted: Values
    nats: Mapping[str, Values]

    def scores(self, split: str, draws: int) -> list[Row]:
        """A row per model and metric: value, and its 95 % interval over documents, or over windows of few."""
        units = self.document if len(self.places) >= MANY else None
        return [
            {"model": model, "split": split, **row}
            for model, nats in self.nats.items()
            for row in score_rows(FUNCTIONS, self.counted, nats, units=units, draws=draws)
        ]

    def frame(self, split: str) -> pd.DataFrame:
        """A row per document and model: what was counted, and the nats."""
        size = len(self.places)
        counted = {
            name: np.bincount(self.document, self.counted[:, column], size).round().astype(np.int64)
            for column, name in ((TOKENS, "tokens"), (WORDS, "words"), (BYTES, "bytes"))
        }
        head = {"document": self.places, "split": split, **counted}
        return pd.concat(
            [
                pd.DataFrame({**head, "model": model, "nats": np.bincount(self.document, nats, size)})
                for model, nats in self.nats.items()
            ],
            ignore_index=True,
        )


def surprise_of(models: Mapping[str, nn.Module], prepared: PreparedText, split: str) -> Surprise:
    """Score a split by every model, on the same tokens."""
    windows, texts = prepared.windows_of(split), prepared.documents(split)
    starts = np.cumsum(windows.length) - windows.length
    sizes = np.bincount(windows.document, windows.length, len(texts))
    shares = windows.length / sizes[windows.document]
    words, size = (np.array([count(text) for text in texts], np.float64) for count in (words_of, _bytes_of))
    return Surprise(
        places=[prepared.texts.places[row] for row in prepared.rows(split)],
        document=windows.document,
        counted=np.stack([windows.length, *(each[windows.document] * shares for each in (words, size))], axis=1),
        nats={name: np.add.reduceat(surprises(model, windows), starts) for name, model in models.items()},
    )


def _bytes_of(text: str) -> int:
    return len(text.encode())


def _mean(column: int, finish: Callable[[float], float | None]) -> Callable[[Values, Values], float | None]:
    """A metric: nats over what a column counts, and what is made of it."""

    def metric(counted: Values, nats: Values) -> float | None:
        count = float(counted[:, column].sum())
        return finish(float(nats.sum()) / count) if count else None

    return metric


def _perplexity(nats: float) -> float | None:
    return math.exp(nats) if nats < LARGEST else None


FUNCTIONS = {
    "ppl": _mean(TOKENS, _perplexity),
    "word_ppl": _mean(WORDS, _perplexity),
    "bpb": _mean(BYTES, lambda nats: nats / math.log(2)),
    "loss": _mean(TOKENS, lambda nats: nats),
}
