"""Logistic regression on what the network reads: prices of the slots, which of them are known, and the mean text."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.stocks import StockSamples
from multiway.tasks.baselines import Facts, Linear, fit_logistic
from multiway.tasks.stocks.baselines import Probabilities, Rows
from multiway.tasks.stocks.prepared import Prepared

PENALTIES = (20.0, 2.0, 2e-1, 2e-2, 2e-3, 2e-4)
MOVEMENTS = 60_000
"""Movements of a split used at most, evenly spaced."""
CHUNK = 20_000
"""Movements whose inputs are held at once in prediction, or those of one day if they are more."""

Vectors = NDArray[np.float32] | None
Matrix = NDArray[np.float64]


class Logistic(Linear):
    """Logistic regression of each movement's inputs.

    Args:
        size: Inputs of a movement, see `num_inputs`.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size, 2)

    def fit(self, prepared: Prepared) -> Facts:
        """Minimise the penalised log loss in training; the penalty is that of the lowest validation loss."""
        facts = fit_logistic(self, *_labelled(prepared, "train"), *_labelled(prepared, "validation"), PENALTIES)
        return {**facts, "inputs": len(self.centre)}

    def says(self, prepared: Prepared, rows: Rows) -> Probabilities:
        """Probability of a rise of every ticker, `(rows, tickers)`."""
        samples = prepared.samples
        stocks = len(samples.tickers)
        days = max(CHUNK // stocks, 1)
        mask = np.ones((days, stocks), np.bool_)
        parts = [
            self._rises(inputs(samples, some, mask[: len(some)], prepared.vectors)).reshape(len(some), stocks)
            for some in (rows[first : first + days] for first in range(0, len(rows), days))
        ]
        return np.concatenate(parts) if parts else np.empty((0, stocks))

    def _rises(self, values: Matrix) -> Probabilities:
        return np.asarray(self(torch.from_numpy(values)).softmax(1)[:, 1].numpy())


def num_inputs(slots: int, price_features: int, text_features: int | None) -> int:
    """Inputs of a movement: see `inputs`."""
    return slots * (price_features + 1) + (0 if text_features is None else text_features + 1)


def inputs(samples: StockSamples, rows: Rows, mask: NDArray[np.bool_], vectors: Vectors = None) -> Matrix:
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


def _labelled(prepared: Prepared, split: str) -> tuple[Tensor, Tensor]:
    """Inputs and classes of the labelled movements of a split, thinned evenly if they are many."""
    samples = prepared.samples
    rows = samples.splits[split]
    mask = samples.labels[rows] >= 0
    if mask.sum() > MOVEMENTS:
        places = np.flatnonzero(mask)
        mask = np.zeros_like(mask)
        mask.flat[places[np.linspace(0, len(places) - 1, MOVEMENTS).astype(np.int64)]] = True
    values, labels = inputs(samples, rows, mask, prepared.vectors), samples.labels[rows][mask]
    return torch.from_numpy(values), torch.from_numpy(labels.astype(np.int64))
