"""From texts to what a network sees of them: ids of words, vectors, or ids of an encoder's tokens."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from multiway.data.encoders import TextOptions, encode_texts, token_encoder
from multiway.data.labelled_text.options import InputKind
from multiway.data.labelled_text.vocabulary import Vocabulary
from multiway.data.series.scaling import Scaler
from multiway.errors import ConfigError


class Inputs(NamedTuple):
    """Inputs `(texts, *)`, and the hash of the encoder that made them; None for words."""

    values: Tensor
    digest: str | None = None


def make_inputs(
    kind: InputKind, texts: Sequence[str], vocabulary: Vocabulary, length: int, text: TextOptions, *, progress: bool
) -> Inputs:
    """Inputs of some texts, each of which depends on its text alone.

    Args:
        kind: Which inputs.
        texts: In any order.
        vocabulary: Of the training rows, for words.
        length: Words that are seen.
        text: Encoder of vectors and tokens.
        progress: Show how far encoding is.

    Raises:
        ConfigError: The encoder is not there, or has no tokens.
    """
    if kind == "words":
        return Inputs(torch.from_numpy(vocabulary.ids(texts, length)))
    if kind == "vectors":
        found = encode_texts(texts, text, progress=progress)
        return Inputs(torch.from_numpy(found.vectors[found.rows]), found.digest)
    encoder = token_encoder(text)
    return Inputs(padded(encoder.tokens(texts)), encoder.digest)


def padded(tokens: Sequence[Sequence[int]]) -> Tensor:
    """Ids `(texts, longest)` int64, one more than the tokenizer's, so that 0 is where a text has ended."""
    ids = torch.zeros(len(tokens), max(map(len, tokens), default=1), dtype=torch.int64)
    for row, each in enumerate(tokens):
        ids[row, : len(each)] = torch.tensor(each, dtype=torch.int64) + 1
    return ids


def scaled(values: Tensor, scaler: Scaler | None) -> Tensor:
    """Vectors as a network sees them, float32; ids as they are."""
    return values if scaler is None else torch.from_numpy(scaler.transform(values.double().numpy())).float()


def check_encoder(found: Inputs, encoder: str, digest: str | None) -> None:
    """Whether later texts went through the encoder of the training.

    Raises:
        ConfigError: Its files have changed.
    """
    if found.digest != digest:
        raise ConfigError(
            f"text.encoder: {encoder} is not what the run was trained with: its files or options have changed. "
            f"Install the encoder of the training."
        )
