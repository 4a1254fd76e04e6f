"""Baselines with a convex solution: logistic regressions on what the network reads, and on the words of texts."""

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.encoders.hashed import FIRST
from multiway.models.baselines import Facts, Linear, TfidfLogistic, fit_logistic
from multiway_papers.stocks.encode import StockInputs
from multiway_papers.stocks.samples import StockWindows
from multiway_papers.stocks.state import Sizes

PENALTIES = (20.0, 2.0, 2e-1, 2e-2, 2e-3, 2e-4)
MOVEMENTS = 60_000
"""Movements of a split that the logistic regression uses at most, evenly spaced."""
CHUNK = 20_000
"""Movements whose inputs are held at once in prediction, or those of one day if they are more."""
Values = NDArray[np.float64]


class Logistic(Linear):
    """Logistic regression on what the network reads: prices, which of them are known, and the mean text."""

    def __init__(self, sizes: Sizes) -> None:
        text_features = 0 if sizes.text_features is None else sizes.text_features + 1
        super().__init__(sizes.num_slots * (sizes.price_features + 1) + text_features, 2)

    def fit(self, training: StockInputs, held: StockInputs) -> Facts:
        """Minimise the penalised log loss in training; the penalty is that of the lowest validation loss."""
        facts = fit_logistic(self, *flat_movements(training), *flat_movements(held), PENALTIES)
        return {**facts, "inputs": len(self.centre)}

    def says(self, inputs: StockInputs) -> Values:
        """Probability of a rise of every ticker, `(samples, tickers)`."""
        stocks = len(inputs.windows.tickers)
        days, parts = max(CHUNK // stocks, 1), [np.empty((0, stocks))]
        for start in range(0, len(inputs), days):
            some = inputs[np.arange(start, min(start + days, len(inputs)))]
            values = flat_inputs(some, np.ones((len(some), stocks), np.bool_))
            parts.append(self(torch.from_numpy(values)).softmax(1)[:, 1].reshape(len(some), stocks).numpy())
        return np.concatenate(parts)


class WordLogistic(nn.Module):
    """Logistic regression on TF-IDF of what was written since the last session, of all tickers or one for each.

    Without a text, or of a ticker that training tells nothing of, the share of rises in training is named.
    """

    def __init__(self, num_words: int, parts: int = 1) -> None:
        super().__init__()
        self.parts = nn.ModuleList(TfidfLogistic(num_words + FIRST, 2) for _ in range(parts))
        self.share = nn.Buffer(torch.zeros((), dtype=torch.float64))
        self.learnt = nn.Buffer(torch.zeros(parts, dtype=torch.bool))

    def fit(self, training: StockInputs, held: StockInputs) -> Facts:
        """Choose the penalty of each part on validation."""
        self.share.fill_(share_of_rises(training.windows))
        for number, part in enumerate(self.parts):
            (ids, labels), validation = (self._movements(inputs, number) for inputs in (training, held))
            if len(labels.unique()) == 2 and len(validation[1]):
                cast(TfidfLogistic, part).fit(ids, labels, *validation)
                self.learnt[number] = True
        return {"words": len(training.tables.words), "learnt": int(self.learnt.sum())}

    def says(self, inputs: StockInputs) -> Values:
        """Probability of a rise of every ticker, `(samples, tickers)`."""
        groups = inputs.windows.text_rows[:, :, -1]
        chances = np.full(groups.shape, float(self.share))
        for number, part in enumerate(self.parts):
            chosen = (groups > 0) & self._tickers(groups.shape[1], number) & bool(self.learnt[number])
            if chosen.any():
                chances[chosen] = part(inputs.word_ids(groups[chosen])).softmax(1)[:, 1].numpy()
        return chances

    def _movements(self, inputs: StockInputs, number: int) -> tuple[Tensor, Tensor]:
        """Ids and classes of the labelled movements that texts stand before."""
        groups, labels = inputs.windows.text_rows[:, :, -1], inputs.windows.labels
        chosen = (groups > 0) & (labels >= 0) & self._tickers(groups.shape[1], number)
        return inputs.word_ids(groups[chosen]), torch.from_numpy(labels[chosen].astype(np.int64))

    def _tickers(self, count: int, number: int) -> NDArray[np.bool_]:
        """Which tickers a part is of."""
        return np.arange(count) == number if len(self.parts) > 1 else np.ones(count, np.bool_)


def flat_inputs(inputs: StockInputs, mask: NDArray[np.bool_]) -> Values:
    """`(movements, inputs)` of the masked tickers of some samples, in the order of samples and then tickers.

    Price features of each slot, 0 where not known; whether they are; and with vectors, the mean over the slots that
    have texts, and whether any has.
    """
    windows, vectors = inputs.windows, inputs.tables.vectors
    day, stock = np.nonzero(mask)
    known = windows.price_valid[day, stock]
    prices = windows.features[windows.slots[day], stock[:, None]] * known[:, :, None]
    parts = [prices.reshape(len(day), -1), known]
    if vectors is not None:
        texts, table = windows.text_rows[day, stock], vectors.numpy()
        count = (texts > 0).sum(1, keepdims=True)
        mean = np.zeros((len(day), table.shape[1]))
        for slot in range(texts.shape[1]):
            mean += np.where(texts[:, slot, None] > 0, table[texts[:, slot]], 0)
        parts += [mean / np.maximum(count, 1), count > 0]
    return np.concatenate([part.astype(np.float64) for part in parts], axis=1)


def flat_movements(inputs: StockInputs) -> tuple[Tensor, Tensor]:
    """Inputs and classes of the labelled movements, thinned evenly to `MOVEMENTS` of them."""
    labels = inputs.windows.labels
    places = np.flatnonzero(labels >= 0)
    if len(places) > MOVEMENTS:
        places = places[np.linspace(0, len(places) - 1, MOVEMENTS).astype(np.int64)]
    mask = np.zeros_like(labels, dtype=np.bool_)
    mask.flat[places] = True
    return torch.from_numpy(flat_inputs(inputs, mask)), torch.from_numpy(labels[mask].astype(np.int64))


def share_of_rises(windows: StockWindows) -> float:
    """Of the labels."""
    return float(windows.labels[windows.labels >= 0].mean())
