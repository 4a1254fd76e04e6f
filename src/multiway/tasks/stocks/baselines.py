"""Baselines: class shares, a coin, the last direction, the calendar, and the quantiles of all days.

Each is a module of buffers with `says(prepared, rows)`: for samples of this or other data of the same stocks the
probability of a rise, `(rows, tickers)`, or with a third axis quantiles.
"""

import hashlib
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.stocks import StockSamples
from multiway.data.stocks.prepared import PreparedStocks
from multiway.data.stocks.windows import months, weekdays

Rows = NDArray[np.int64]
Probabilities = NDArray[np.float64]

SIZES = {"weekday": 7, "month": 12, "last": 2, "next": 2}
"""What a day is looked up by; `last` and `next` say whether those days trade."""
PRIOR = 1.0
"""Movements that each cell of a look-up is given beforehand, with the share of rises of all."""
TABLES: tuple[tuple[str, ...], ...] = (
    ("weekday",),
    ("month",),
    ("last", "next"),
    ("weekday", "last", "next"),
    ("weekday", "month", "last", "next"),
)
"""Look-ups that the calendar baseline chooses from."""
MOST_CELLS = math.prod(SIZES.values())


class Majority(nn.Module):
    """The share of rises in training, whatever the ticker and day; the more frequent direction is named."""

    share: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("share", torch.zeros((), dtype=torch.float64))

    def fit(self, prepared: PreparedStocks) -> dict[str, Any]:
        """Count the training labels."""
        self.share.fill_(share_of_rises(prepared.samples))
        return {"share": float(self.share)}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Probabilities:
        """The same everywhere."""
        return np.full((len(rows), len(prepared.samples.tickers)), float(self.share))


class Previous(Majority):
    """The direction of the last movement known before the day; the share of rises in training where there is none."""

    def says(self, prepared: PreparedStocks, rows: Rows) -> Probabilities:
        """1 after a rise, 0 after a fall."""
        last = prepared.samples.previous[rows]
        return np.where(last > 0, 1.0, np.where(last < 0, 0.0, float(self.share)))


class Random(nn.Module):
    """A fair coin for every stock and day; seed, ticker and day alone decide how it falls."""

    seed: Tensor

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.register_buffer("seed", torch.tensor(seed))

    def fit(self, prepared: PreparedStocks) -> dict[str, Any]:
        """Learn nothing."""
        return {}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Probabilities:
        """1 or 0."""
        samples, seed = prepared.samples, int(self.seed)
        sides = [[_coin(seed, ticker, day) for ticker in samples.tickers] for day in samples.target_days[rows]]
        return np.array(sides, np.float64).reshape(len(rows), len(samples.tickers))


class Calendar(nn.Module):
    """A look-up of what a calendar knows: weekday and month of the day, and whether it and the last day trade.

    choice: Which of `TABLES`.
    shares: Share of rises in each cell, as many as the table has.
    """

    choice: Tensor
    shares: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("choice", torch.zeros((), dtype=torch.int64))
        self.register_buffer("shares", torch.zeros(MOST_CELLS, dtype=torch.float64))

    @property
    def keys(self) -> tuple[str, ...]:
        """What is looked up."""
        return TABLES[int(self.choice)]

    def fit(self, prepared: PreparedStocks) -> dict[str, Any]:
        """Count rises in every cell of each look-up; take the look-up with the lowest log loss on validation."""
        samples = prepared.samples
        tables = [_table(samples, keys) for keys in TABLES]
        held = samples.splits["validation"]
        labels = samples.labels[held]
        losses = [
            log_loss(labels[labels >= 0], shares[_cells(samples, held, keys)][labels >= 0])
            for keys, shares in zip(TABLES, tables, strict=True)
        ]
        best = int(np.argmin(losses))
        self.choice.fill_(best)
        self.shares[: len(tables[best])] = torch.from_numpy(tables[best])
        named = {" + ".join(keys): loss for keys, loss in zip(TABLES, losses, strict=True)}
        return {"keys": list(self.keys), "validation_loss": named}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Probabilities:
        """Share of rises in the training cell."""
        shares: Probabilities = self.shares.numpy()[_cells(prepared.samples, rows, self.keys)]
        return shares


class TrainingQuantiles(nn.Module):
    """The quantiles of all training movements together, whatever the stock and day."""

    levels: Tensor

    def __init__(self, count: int) -> None:
        super().__init__()
        self.register_buffer("levels", torch.zeros(count, dtype=torch.float64))

    def fit(self, prepared: PreparedStocks) -> dict[str, Any]:
        """Take those that the scale has learnt."""
        self.levels.copy_(torch.tensor(prepared.scale.movement_levels, dtype=torch.float64))
        return {}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Probabilities:
        """The same everywhere."""
        levels = self.levels.numpy()
        return np.broadcast_to(levels, (len(rows), len(prepared.samples.tickers), len(levels)))


def log_loss(labels: NDArray[Any], probabilities: Probabilities) -> float:
    """Mean over movements; a certainty that is wrong costs 27.6."""
    given = np.clip(np.where(labels == 1, probabilities, 1 - probabilities), 1e-12, 1.0)
    return float(-np.log(given).mean())


def share_of_rises(samples: StockSamples) -> float:
    """Of the training labels."""
    labels = samples.labels[samples.splits["train"]]
    return float(labels[labels >= 0].mean())


def _table(samples: StockSamples, keys: tuple[str, ...]) -> Probabilities:
    rows = samples.splits["train"]
    labels, size = samples.labels[rows], math.prod(SIZES[key] for key in keys)
    cells = _cells(samples, rows, keys)[labels >= 0]
    rises = np.bincount(cells, weights=labels[labels >= 0], minlength=size)
    shares: Probabilities = (rises + PRIOR * share_of_rises(samples)) / (np.bincount(cells, minlength=size) + PRIOR)
    return shares


def _coin(seed: int, ticker: str, day: np.datetime64) -> int:
    return hashlib.blake2b(f"{seed} {ticker} {day}".encode("utf-8", "surrogatepass")).digest()[0] % 2


def _cells(samples: StockSamples, rows: Rows, keys: tuple[str, ...]) -> NDArray[np.int64]:
    """`(rows, tickers)` cell of each movement."""
    days, last = samples.target_days[rows], samples.last_days(rows)
    values: dict[str, NDArray[Any]] = {
        "weekday": weekdays(days)[:, None],
        "month": months(days)[:, None],
        "last": samples.traded[last] & (last >= 0)[:, None],
        "next": samples.traded[samples.targets[rows]],
    }
    cells = np.zeros((len(rows), len(samples.tickers)), np.int64)
    for key in keys:
        cells = cells * SIZES[key] + values[key]
    return cells
