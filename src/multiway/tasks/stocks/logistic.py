"""Logistic regression on what the network reads: prices of the slots, which of them are known, and the mean text."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.stocks import StockSamples
from multiway.tasks.stocks.baselines import Probabilities, Rows, log_loss
from multiway.tasks.stocks.prepared import Prepared

PENALTIES = (10.0, 1.0, 1e-1, 1e-2, 1e-3, 1e-4)
MOVEMENTS = 60_000
"""Movements of a split used at most, evenly spaced."""
CHUNK = 20_000
"""Movements whose inputs are held at once in prediction, or those of one day if they are more."""
ROUNDS, STEPS = 50, 10
"""Times that the curvature is measured at most, and steps for each."""
SMALL = 1e-10

Vectors = NDArray[np.float32] | None
Matrix = NDArray[np.float64]


class Logistic(nn.Module):
    """Weights of standardised inputs.

    Args:
        size: Inputs of a movement, see `num_inputs`.
    """

    centre: Tensor
    spread: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        for name, shape in (("centre", (size,)), ("spread", (size,)), ("weight", (size,)), ("bias", ())):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.float64))

    def fit(self, prepared: Prepared) -> dict[str, Any]:
        """Minimise the penalised log loss in training; the penalty is that of the lowest validation loss."""
        values, labels = _labelled(prepared, "train")
        held, held_labels = _labelled(prepared, "validation")
        centre, spread = values.mean(0), values.std(0)
        spread = np.where(spread > SMALL, spread, 1.0)
        values, held = (values - centre) / spread, (held - centre) / spread
        solution, losses, solutions = np.zeros(values.shape[1] + 1), {}, {}
        for penalty in PENALTIES:
            solution = solutions[penalty] = solve(values, labels, penalty, solution)
            losses[penalty] = log_loss(held_labels, sigmoid(held @ solution[1:] + solution[0]))
        best = min(PENALTIES, key=lambda penalty: losses[penalty])
        self._take(centre, spread, solutions[best])
        named = {f"{penalty:g}": loss for penalty, loss in losses.items()}
        return {"penalty": best, "inputs": values.shape[1], "validation_loss": named}

    def _take(self, centre: Matrix, spread: Matrix, solution: Matrix) -> None:
        for buffer, value in ((self.centre, centre), (self.spread, spread), (self.weight, solution[1:])):
            buffer.copy_(torch.from_numpy(value))
        self.bias.fill_(float(solution[0]))

    def says(self, prepared: Prepared, rows: Rows) -> Probabilities:
        """Probability of a rise of every ticker, `(rows, tickers)`."""
        samples = prepared.samples
        stocks = len(samples.tickers)
        days = max(CHUNK // stocks, 1)
        mask = np.ones((days, stocks), np.bool_)
        parts = [
            self._of(inputs(samples, some, mask[: len(some)], prepared.vectors)).reshape(len(some), stocks)
            for some in (rows[first : first + days] for first in range(0, len(rows), days))
        ]
        return np.concatenate(parts) if parts else np.empty((0, stocks))

    def _of(self, values: Matrix) -> Probabilities:
        centre, spread, weight = (each.numpy() for each in (self.centre, self.spread, self.weight))
        return sigmoid((values - centre) / spread @ weight + float(self.bias))


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


def solve(values: Matrix, labels: Matrix, penalty: float, start: Matrix) -> Matrix:
    """Minimise mean log loss + penalty / 2 * |weight|^2 by Newton's steps, halved while they do not help.

    The curvature costs most and changes least, so that it is used for several steps. L-BFGS, which stands beside
    classifiers of volumes with their many inputs and classes, takes five times as long on 400 correlated ones.

    Returns:
        Bias, which is not penalised, and weights.
    """
    full = np.concatenate([np.ones((len(values), 1)), values], axis=1)
    ridge = np.concatenate([[0.0], np.full(values.shape[1], penalty)])
    solution, loss = start, _objective(full, labels, ridge, start)
    for _ in range(ROUNDS):
        inverse = np.linalg.inv(_curvature(full, ridge, solution))
        for _ in range(STEPS):
            slope = full.T @ (sigmoid(full @ solution) - labels) / len(full) + ridge * solution
            solution, smaller = _descended(full, labels, ridge, solution, inverse @ slope, loss)
            gain, loss = loss - smaller, smaller
            if gain <= SMALL:
                return solution
    return solution


def _curvature(full: Matrix, ridge: Matrix, solution: Matrix) -> Matrix:
    probability = sigmoid(full @ solution)
    weighted = full * np.sqrt(probability * (1 - probability) / len(full))[:, None]
    curvature: Matrix = weighted.T @ weighted
    curvature[np.diag_indices_from(curvature)] += ridge + SMALL
    return curvature


def _descended(
    full: Matrix, labels: Matrix, ridge: Matrix, solution: Matrix, step: Matrix, loss: float
) -> tuple[Matrix, float]:
    """Go along a step as far as it lowers the loss; nowhere if it does not."""
    for halvings in range(20):
        candidate = solution - step / 2**halvings
        value = _objective(full, labels, ridge, candidate)
        if value <= loss:
            return candidate, value
    return solution, loss


def _objective(full: Matrix, labels: Matrix, ridge: Matrix, solution: Matrix) -> float:
    logits = full @ solution
    return float((np.logaddexp(0, logits) - labels * logits).mean() + (ridge * solution**2).sum() / 2)


def sigmoid(logits: Matrix) -> Matrix:
    """Without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * logits))


def _labelled(prepared: Prepared, split: str) -> tuple[Matrix, Matrix]:
    samples = prepared.samples
    rows = samples.splits[split]
    mask = samples.labels[rows] >= 0
    if mask.sum() > MOVEMENTS:
        places = np.flatnonzero(mask)
        mask = np.zeros_like(mask)
        mask.flat[places[np.linspace(0, len(places) - 1, MOVEMENTS).astype(np.int64)]] = True
    return inputs(samples, rows, mask, prepared.vectors), samples.labels[rows][mask].astype(np.float64)
