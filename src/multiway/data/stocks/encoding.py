"""Vectors of the texts that windows show, and the means of those that share a slot."""

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from multiway.data.encoders import Encoded, TextOptions, chosen_encoder, encode_texts
from multiway.data.stocks.samples import StockSamples
from multiway.data.stocks.texts import StockTexts
from multiway.data.text import free_memory
from multiway.errors import DataError

READY = "ready vectors"
"""Name of the encoder where the texts came as vectors."""
COPIES = 3
"""Of the vectors of groups while they are averaged and scaled."""


def encoder_of(texts: StockTexts, options: TextOptions) -> str:
    """Name of what encodes these texts."""
    return READY if texts.text is None else chosen_encoder(options)


def encode_shown(
    texts: StockTexts | None, samples: StockSamples, options: TextOptions, *, progress: bool = False
) -> Encoded | None:
    """Vectors of the texts that a window shows, from the cache as far as they are there; None without texts."""
    if texts is None or not texts.count:
        return None
    if texts.vectors is not None:
        rows = np.arange(len(texts.vectors))
        return Encoded(vectors=texts.vectors, rows=rows, name=READY, digest=str(texts.vectors.shape[1]))
    assert texts.text is not None
    shown = np.unique(samples.groups.items)
    found = encode_texts([texts.text[row] for row in shown], options, progress=progress)
    rows = np.zeros(texts.count, np.int64)
    rows[shown] = found.rows
    return dataclasses.replace(found, rows=rows)


def group_means(samples: StockSamples, encoded: Encoded) -> NDArray[np.float32]:
    """Mean vector of each group of texts, `(groups, text features)`; zeros for a group without a text.

    Raises:
        DataError: The vectors of all groups do not fit into memory.
    """
    groups, features = samples.groups.num_rows, encoded.vectors.shape[1]
    needed, free = COPIES * 4 * groups * features, free_memory()
    if needed > free:
        raise DataError(
            f"vectors of {groups:,} stock-days with texts would take {needed / 1e9:.2g} GB, and {free / 1e9:.2g} GB "
            f"are free. Choose a smaller encoder (--set text.hashed_dim=128), or keep fewer days."
        )
    rows = torch.from_numpy(np.ascontiguousarray(encoded.rows[samples.groups.items], dtype=np.int64))
    starts = torch.from_numpy(np.ascontiguousarray(samples.groups.starts[:-1], dtype=np.int64))
    vectors = torch.from_numpy(np.ascontiguousarray(encoded.vectors, dtype=np.float32))
    return np.asarray(F.embedding_bag(rows, vectors, starts, mode="mean").numpy())
