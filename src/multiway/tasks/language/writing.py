"""What a run writes: texts continued, and how surprising each token is."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from torch import nn

from multiway.models import next_token
from multiway.tasks.language.encode import TokenDocuments
from multiway.tasks.language.scores import nats_of

SHOWN = 200
"""Characters of a text that an answer begins with."""
CONTINUED, AFTER = 3, 24
"""Test documents that a report continues, and by how many tokens."""


def continued(model: nn.Module, documents: TokenDocuments, text: str, tokens: int, **how: Any) -> str:
    """A text's continuation; `how` it is chosen as of `next_token.continued`."""
    vocabulary, context = documents.vocabulary, documents.options.context
    (before,) = vocabulary.encode([text])
    ids = [vocabulary.mark, *before.tolist()]
    return vocabulary.decode(next_token.continuation(model, ids, context, tokens, end=vocabulary.mark, **how))


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
    """The first documents, cut after half a context at most, and so many tokens of how each goes on."""
    for piece in documents.pieces[:first]:
        stop = min(documents.options.context, len(piece)) // 2
        yield documents.vocabulary.decode(piece[:stop]), documents.vocabulary.decode(piece[stop : stop + after])


def continuations(model: nn.Module, documents: TokenDocuments) -> pd.DataFrame:
    """The first test documents, cut off: how each goes on, and how the model goes on."""
    rows = [
        {"before": before, "continuation": continued(model, documents, before, AFTER), "after": after}
        for before, after in cut_off(documents, CONTINUED, AFTER)
    ]
    return pd.DataFrame(rows)
