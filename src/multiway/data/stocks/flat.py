"""Movements as rows of a plain table: what a model reads that knows no windows."""

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks.samples import StockSamples

Matrix = NDArray[np.float64]


def num_inputs(slots: int, price_features: int, text_features: int | None) -> int:
    """Columns of `flat_inputs`."""
    return slots * (price_features + 1) + (0 if text_features is None else text_features + 1)


def flat_inputs(
    samples: StockSamples, rows: NDArray[np.int64], mask: NDArray[np.bool_], vectors: NDArray[np.float32] | None = None
) -> Matrix:
    """`(movements, inputs)` of the masked tickers of some samples, in the order of samples and then tickers.

    Price features of each slot, 0 where not known; whether they are; and with vectors, the mean over the slots that
    have texts, and whether any has.
    """
    day, stock = np.nonzero(mask)
    known = samples.price_valid(rows)[day, stock]
    prices = samples.features[samples.slots[rows[day]], stock[:, None]] * known[:, :, None]
    parts = [prices.reshape(len(day), -1), known]
    if vectors is not None:
        texts = samples.text_rows[rows[day], stock]
        count = (texts > 0).sum(1, keepdims=True)
        mean = np.zeros((len(day), vectors.shape[1]))
        for slot in range(texts.shape[1]):
            mean += np.where(texts[:, slot, None] > 0, vectors[texts[:, slot]], 0)
        parts += [mean / np.maximum(count, 1), count > 0]
    return np.concatenate([part.astype(np.float64) for part in parts], axis=1)


def flat_movements(
    samples: StockSamples, split: str, most: int, vectors: NDArray[np.float32] | None = None
) -> tuple[Matrix, NDArray[np.int64]]:
    """Inputs and classes of the labelled movements of a split, thinned evenly to `most` of them."""
    rows = samples.splits[split]
    mask = samples.labels[rows] >= 0
    if mask.sum() > most:
        places = np.flatnonzero(mask)
        mask = np.zeros_like(mask)
        mask.flat[places[np.linspace(0, len(places) - 1, most).astype(np.int64)]] = True
    return flat_inputs(samples, rows, mask, vectors), samples.labels[rows][mask].astype(np.int64)
