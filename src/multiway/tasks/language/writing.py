"""What a run writes: texts continued, and how surprising each token is."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from multiway.data.language import PreparedText, Vocabulary
from multiway.tasks.language.scoring import surprises

SHOWN = 200
"""Characters of a text that an answer begins with."""
CONTINUED, AFTER = 3, 24
"""Test documents that a report continues, and by how many tokens."""


def continued(
    model: nn.Module, vocabulary: Vocabulary, text: str, context: int, *, tokens: int, temperature: float, seed: int
) -> str:
    """A text's continuation by so many tokens, fewer where the model ends it.

    Args:
        model: Gives logits of the next token.
        vocabulary: Of the model.
        text: What stands before; the last `context` tokens of it are read.
        context: Of the model.
        tokens: To write at most.
        temperature: 0 takes the most probable token; else tokens are drawn, the more evenly the higher it is.
        seed: Of the draws of this text.
    """
    (before,) = vocabulary.encode([text])
    ids = [vocabulary.mark, *before.tolist()]
    chance, stop = torch.Generator().manual_seed(seed), len(ids) + tokens
    while len(ids) < stop:
        ids.append(_next(model, ids[-context:], temperature, chance))
        if ids[-1] == vocabulary.mark:
            break
    return vocabulary.decode(ids[len(before) + 1 :])


@torch.no_grad()
def _next(model: nn.Module, ids: list[int], temperature: float, chance: torch.Generator) -> int:
    logits: Tensor = model(torch.tensor([ids]))[0, -1]
    if temperature == 0:
        return int(logits.argmax())
    return int(torch.multinomial((logits.double() / temperature).softmax(0), 1, generator=chance))


def answers(model: nn.Module, prepared: PreparedText, *, tokens: int, temperature: float, seed: int) -> pd.DataFrame:
    """A row per document: how it begins, its continuation, and how surprising it is."""
    texts, windows = prepared.documents("all"), prepared.windows_of("all")
    nats = np.bincount(np.repeat(windows.document, windows.length), surprises(model, windows), len(texts))
    counts = np.bincount(windows.document, windows.length, len(texts))
    context = prepared.options.context
    written = [
        continued(
            model, prepared.vocabulary, text, context, tokens=tokens, temperature=temperature, seed=seed
        )
        for text in texts
    ]  # fmt: skip
    sizes = np.array([len(text.encode()) for text in texts])
    return pd.DataFrame(
        {
            "text": [text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…" for text in texts],
            **({"continuation": written} if tokens else {}),
            "tokens": counts.astype(np.int64),
            "nats_per_token": nats / counts,
            "bits_per_byte": nats / np.log(2) / sizes,
        }
    )


def token_table(models: Mapping[str, nn.Module], prepared: PreparedText, split: str, documents: int) -> pd.DataFrame:
    """Every token of the first documents of a split with its surprise in bits under each model."""
    windows = prepared.windows_of(split)
    chosen = windows.head(int(windows.length[windows.document < documents].sum()))
    spans = zip(chosen.first + 1, chosen.length, strict=True)
    target = torch.cat([chosen.tokens[low : low + size] for low, size in spans])
    places = np.array([prepared.texts.places[row] for row in prepared.rows(split)])
    vocabulary = prepared.vocabulary
    return pd.DataFrame(
        {
            "document": places[np.repeat(chosen.document, chosen.length)],
            "in_window": np.concatenate([np.arange(size) for size in chosen.length]),
            "token": [vocabulary.decode([each]) for each in target.tolist()],
            **{f"bits_{name}": surprises(model, chosen) / np.log(2) for name, model in models.items()},
        }
    )


def continuations(model: nn.Module, prepared: PreparedText) -> pd.DataFrame:
    """The first test documents, cut off after half a context at most: how each goes on, and how the model does."""
    context, vocabulary = prepared.options.context, prepared.vocabulary
    rows = []
    for piece in prepared.pieces("test")[:CONTINUED]:
        stop = min(context, len(piece)) // 2
        before, after = vocabulary.decode(piece[:stop]), vocabulary.decode(piece[stop : stop + AFTER])
        text = continued(model, vocabulary, before, context, tokens=AFTER, temperature=0.0, seed=0)
        rows.append({"before": before, "continuation": text, "after": after})
    return pd.DataFrame(rows)
