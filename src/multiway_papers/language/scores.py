"""How surprised the models of a run are by text, by token, word or byte, window by window; texts they continue."""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import nn

from multiway.metrics.resampling import ScoreFunction, model_rows
from multiway.tasks.choice import Evidence
from multiway.tasks.protocol import Metric, Row
from multiway_papers.language.encode import Ids, TokenDocuments
from multiway_papers.language.windows import Tally, TokenWindows
from multiway_papers.networks import next_token
from multiway_papers.networks.next_token import token_nats

Values = NDArray[np.float64]
TOKENS, WORDS, BYTES = range(3)
"""Columns of what is counted, a row per window or document."""
LARGEST = 700.0
"""Exponent up to which a perplexity is a number."""
METRICS = (
    Metric(name="ppl", title="Perplexity", higher=False, spread=True),
    Metric(name="word_ppl", title="Word perplexity", higher=False, spread=True),
    Metric(name="bpb", title="Bits per byte", higher=False),
    Metric(name="loss", title="Surprise per token", higher=False),
)
MANY, AT_ONCE = 10, 32
"""Documents from which on intervals are over documents, over windows below; and windows that are read at once."""
SHOWN = 200
"""Characters of a text that an answer begins with."""
CONTINUED, AFTER = 3, 24
"""Test documents that a report continues, and by how many tokens."""
CHARACTER_BYTES = 4
"""Of a character at most, so of the tokens that spell it."""
UNFINISHED = "\ufffd"
"""Stands for a character whose last bytes are lacking."""


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


def continued(model: nn.Module, documents: TokenDocuments, text: str, tokens: int, **how: Any) -> str:
    """A text's continuation; `how` it is chosen as of `next_token.continued`."""
    vocabulary, context = documents.vocabulary, documents.options.context
    (before,) = vocabulary.encode([text])
    ids = [vocabulary.mark, *before.tolist()]
    written = next_token.continuation(model, ids, context, tokens, end=vocabulary.mark, **how)
    return vocabulary.decode(written).rstrip(UNFINISHED)


def answers(
    model: nn.Module, documents: TokenDocuments, *, tokens: int = 32, temperature: float = 0.0, draw: int = 0
) -> pd.DataFrame:
    """A row per document: how it begins, its continuation, and how surprising it is."""
    texts, windows, listed = documents.texts, documents.windows, documents.tally("all").documents
    written = [continued(model, documents, text, tokens, temperature=temperature, seed=draw) for text in texts]
    nats = np.bincount(np.repeat(windows.document, windows.length), nats_of(model, windows), len(texts))
    return pd.DataFrame(
        {
            "text": [text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…" for text in texts],
            **({"continuation": written} if tokens else {}),
            "tokens": listed["tokens"],
            "nats_per_token": nats / listed["tokens"],
            "bits_per_byte": nats / np.log(2) / listed["bytes"] if documents.is_whole else np.nan,
        }
    )


def token_table(models: Mapping[str, nn.Module], documents: TokenDocuments, first: int = 4) -> pd.DataFrame:
    """A row per token of the first documents: its place in its window, and its bits under each model."""
    windows = documents.windows.of_first(first)
    bits = {f"bits_{name}": nats_of(model, windows) / np.log(2) for name, model in models.items()}
    return pd.DataFrame(
        {
            "document": documents.places[np.repeat(windows.document, windows.length)],
            "in_window": np.concatenate([np.arange(size) for size in windows.length]),
            "token": [documents.vocabulary.decode([token]) for token in windows.said().tolist()],
            **bits,
        }
    )


def cut_off(documents: TokenDocuments, first: int, after: int) -> Iterator[tuple[str, str]]:
    """The first documents, cut after half a context at most, and at most so many tokens of how each goes on."""
    decode = documents.vocabulary.decode
    for piece in documents.pieces[:first]:
        stop = _between_characters(decode, piece, min(documents.options.context, len(piece)) // 2)
        end = _between_characters(decode, piece, stop + after)
        yield decode(piece[:stop]), decode(piece[stop:end])


def _between_characters(decode: Callable[[Ids], str], piece: Ids, stop: int) -> int:
    """The last place up to `stop` that cuts no character: a token may be a part of one."""
    near = piece[: stop + CHARACTER_BYTES]
    places = range(stop, max(stop - CHARACTER_BYTES, -1), -1)
    return next((place for place in places if decode(near[:place]) + decode(near[place:]) == decode(near)), stop)


def continuations(model: nn.Module, documents: TokenDocuments) -> pd.DataFrame:
    """The first test documents, cut off: how each goes on, and how the model goes on."""
    rows = [
        {"before": before, "continuation": continued(model, documents, before, AFTER), "after": after}
        for before, after in cut_off(documents, CONTINUED, AFTER)
    ]
    return pd.DataFrame(rows)
