"""Logistic regression on what the network reads: prices of the slots, which of them are known, and the mean text."""

import numpy as np
import torch
from torch import Tensor

from multiway.data.stocks.flat import flat_inputs, flat_movements
from multiway.data.stocks.prepared import PreparedStocks
from multiway.models.baselines import Facts, Linear, fit_logistic
from multiway.tasks.stocks.baselines import Probabilities, Rows

PENALTIES = (20.0, 2.0, 2e-1, 2e-2, 2e-3, 2e-4)
MOVEMENTS = 60_000
"""Movements of a split used at most, evenly spaced."""
CHUNK = 20_000
"""Movements whose inputs are held at once in prediction, or those of one day if they are more."""


class Logistic(Linear):
    """Logistic regression of each movement's inputs.

    Args:
        size: Inputs of a movement, see `multiway.data.stocks.flat.num_inputs`.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size, 2)

    def fit(self, prepared: PreparedStocks) -> Facts:
        """Minimise the penalised log loss in training; the penalty is that of the lowest validation loss."""

        def table(split: str) -> tuple[Tensor, Tensor]:
            values, labels = flat_movements(prepared.samples, split, MOVEMENTS, prepared.vectors)
            return torch.from_numpy(values), torch.from_numpy(labels)

        facts = fit_logistic(self, *table("train"), *table("validation"), PENALTIES)
        return {**facts, "inputs": len(self.centre)}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Probabilities:
        """Probability of a rise of every ticker, `(rows, tickers)`."""
        stocks = len(prepared.samples.tickers)
        days, parts = max(CHUNK // stocks, 1), [np.empty((0, stocks))]
        for start in range(0, len(rows), days):
            some = rows[start : start + days]
            values = flat_inputs(prepared.samples, some, np.ones((len(some), stocks), np.bool_), prepared.vectors)
            parts.append(self(torch.from_numpy(values)).softmax(1)[:, 1].reshape(len(some), stocks).numpy())
        return np.concatenate(parts)
