"""What a run writes: texts continued, and how surprising each token is."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from torch import nn

from multiway.data.language import PreparedText
from multiway.models import next_token
from multiway.tasks.language.scoring import surprises

SHOWN = 200
"""Characters of a text that an answer begins with."""
CONTINUED, AFTER = 3, 24
"""Test documents that a report continues, and by how many tokens."""


def continued(model: nn.Module, prepared: PreparedText, text: str, tokens: int, **how: Any) -> str:
    """A text's continuation; `how` it is chosen as of `next_token.continued`."""
    vocabulary, context = prepared.vocabulary, prepared.options.context
    (before,) = vocabulary.encode([text])
    ids = [vocabulary.mark, *before.tolist()]
    return vocabulary.decode(next_token.continuation(model, ids, context, tokens, end=vocabulary.mark, **how))


def answers(
    model: nn.Module, prepared: PreparedText, *, tokens: int = 32, temperature: float = 0.0, draw: int = 0
) -> pd.DataFrame:
    """A row per document: how it begins, its continuation, and how surprising it is."""
    texts, windows, listed = prepared.documents("all"), prepared.part("all"), prepared.tally("all").documents
    written = [continued(model, prepared, text, tokens, temperature=temperature, seed=draw) for text in texts]
    nats = np.bincount(np.repeat(windows.document, windows.length), surprises(model, windows), len(texts))
    return pd.DataFrame(
        {
            "text": [text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…" for text in texts],
            **({"continuation": written} if tokens else {}),
            "tokens": listed["tokens"],
            "nats_per_token": nats / listed["tokens"],
            "bits_per_byte": nats / np.log(2) / listed["bytes"],
        }
    )


def token_table(models: Mapping[str, nn.Module], prepared: PreparedText, split: str, first: int = 4) -> pd.DataFrame:
    """Every token of the first documents of a split with its surprise in bits under each model."""
    windows = prepared.part(split).of_first(first)
    bits = {f"bits_{name}": surprises(model, windows) / np.log(2) for name, model in models.items()}
    return prepared.spelt(split, windows).assign(**bits)


def continuations(model: nn.Module, prepared: PreparedText) -> pd.DataFrame:
    """The first test documents, cut off: how each goes on, and how the model goes on."""
    rows = [
        {"before": before, "continuation": continued(model, prepared, before, AFTER), "after": after}
        for before, after in prepared.cut("test", CONTINUED, AFTER)
    ]
    return pd.DataFrame(rows)
