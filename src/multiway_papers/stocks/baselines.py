"""Baselines: class shares, a coin, the last direction, the calendar, ARIMA, and quantiles.

Each is a module of buffers, and answers for samples of this or other data of the same stocks.
"""

import hashlib
import math
from typing import Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from multiway.models.baselines import Facts
from multiway.tasks.run import Run
from multiway_papers.stocks.arima import Arima
from multiway_papers.stocks.encode import StockInputs
from multiway_papers.stocks.panel import ADJUSTED, StockPanel, months, weekdays
from multiway_papers.stocks.regressions import share_of_rises
from multiway_papers.stocks.samples import StockWindows

Values = NDArray[np.float64]

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


class StockBaseline(Protocol):
    """What every baseline does."""

    def fit(self, training: StockInputs, held: StockInputs) -> Facts:
        """Learn from the training samples; validation chooses where there is a choice."""

    def says(self, inputs: StockInputs) -> Values:
        """Probability of a rise, `(samples, tickers)`, or with a third axis quantiles."""


def baseline_in(run: Run, name: str) -> StockBaseline:
    """A baseline of a run."""
    return cast(StockBaseline, run.models[name])


class MovementMajority(nn.Module):
    """The share of rises in training, whatever the ticker and day; the more frequent direction is named."""

    def __init__(self) -> None:
        super().__init__()
        self.share = nn.Buffer(torch.zeros((), dtype=torch.float64))

    def fit(self, training: StockInputs, held: StockInputs) -> Facts:
        """Count the training labels."""
        self.share.fill_(share_of_rises(training.windows))
        return {"share": float(self.share)}

    def says(self, inputs: StockInputs) -> Values:
        """The same everywhere."""
        return np.full((len(inputs), len(inputs.windows.tickers)), float(self.share))


class Previous(MovementMajority):
    """The direction of the last movement known before the day; the share of rises in training where there is none."""

    def says(self, inputs: StockInputs) -> Values:
        """1 after a rise, 0 after a fall."""
        last = inputs.windows.previous
        return np.where(last > 0, 1.0, np.where(last < 0, 0.0, float(self.share)))


class Random(nn.Module):
    """A fair coin for every stock and day; seed, ticker and day alone decide how it falls."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = nn.Buffer(torch.tensor(seed))

    def fit(self, training: StockInputs, held: StockInputs) -> Facts:
        """Learn nothing."""
        return {}

    def says(self, inputs: StockInputs) -> Values:
        """1 or 0."""
        windows, seed = inputs.windows, int(self.seed)
        throws = (f"{seed} {ticker} {day}" for day in windows.target_days for ticker in windows.tickers)
        sides = [hashlib.blake2b(throw.encode("utf-8", "surrogatepass")).digest()[0] % 2 for throw in throws]
        return np.array(sides, np.float64).reshape(len(inputs), len(windows.tickers))


class Calendar(nn.Module):
    """A look-up of what a calendar knows: weekday and month of the day, and whether it and the last day trade.

    choice: Which of `TABLES`.
    shares: Share of rises in each cell, as many as the table has.
    """

    def __init__(self) -> None:
        super().__init__()
        self.choice = nn.Buffer(torch.zeros((), dtype=torch.int64))
        self.shares = nn.Buffer(torch.zeros(MOST_CELLS, dtype=torch.float64))

    @property
    def keys(self) -> tuple[str, ...]:
        """What is looked up."""
        return TABLES[int(self.choice)]

    def fit(self, training: StockInputs, held: StockInputs) -> Facts:
        """Count rises in every cell of each look-up; take the look-up with the lowest log loss on validation."""
        tables, labels = {keys: _table(training.windows, keys) for keys in TABLES}, held.windows.labels
        losses = {
            " + ".join(keys): log_loss(labels[labels >= 0], shares[_cells(held.windows, keys)][labels >= 0])
            for keys, shares in tables.items()
        }
        best = int(np.argmin(list(losses.values())))
        self.choice.fill_(best)
        self.shares[: len(tables[TABLES[best]])] = torch.from_numpy(tables[TABLES[best]])
        return {"keys": list(self.keys), "validation_loss": losses}

    def says(self, inputs: StockInputs) -> Values:
        """Share of rises in the training cell."""
        shares: Values = self.shares.numpy()[_cells(inputs.windows, self.keys)]
        return shares


class TrainingQuantiles(nn.Module):
    """The quantiles of all training movements together, whatever the stock and day."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.levels = nn.Buffer(torch.zeros(count, dtype=torch.float64))

    def fit(self, training: StockInputs, held: StockInputs) -> Facts:
        """Take those that the scale has learnt."""
        self.levels.copy_(torch.tensor(training.tables.scale.movement_levels, dtype=torch.float64))
        return {}

    def says(self, inputs: StockInputs) -> Values:
        """The same everywhere."""
        levels = self.levels.numpy()
        return np.broadcast_to(levels, (len(inputs), len(inputs.windows.tickers), len(levels)))


class PriceArima(Arima):
    """ARIMA of the logarithm of each stock's adjusted close over the days on which it traded.

    share: Of rises in training: what is said where the forecast is the last price itself.
    """

    def __init__(self, num_stocks: int) -> None:
        super().__init__(num_stocks)
        self.share = nn.Buffer(torch.zeros((), dtype=torch.float64))

    def fit(self, training: StockInputs, held: StockInputs) -> Facts:
        """Choose and fit on the rows up to the last training day."""
        windows, panel = training.windows, training.windows.panel
        self.share.fill_(share_of_rises(windows))
        known = panel.days <= windows.target_days.max()
        self.fit_series(_log_prices(panel, stock)[known[traded]] for stock, traded in enumerate(panel.traded))
        return {"orders": self.orders()}

    def says(self, inputs: StockInputs) -> Values:
        """How much of the forecast's normal distribution lies above the last price."""
        panel = inputs.windows.panel
        places = np.searchsorted(panel.days, inputs.windows.target_days)
        expected = np.empty((len(inputs), len(panel.tickers)))
        for stock, traded in enumerate(panel.traded):
            before = np.append(0, traded.cumsum())[places]
            expected[:, stock] = self.changes(stock, _log_prices(panel, stock))[before]
        chance = torch.special.ndtr(torch.from_numpy(expected) / self.deviation).numpy()
        return np.where(expected == 0, float(self.share), chance)


def log_loss(labels: NDArray[np.int8], probabilities: Values) -> float:
    """Mean over movements; a certainty that is wrong costs 27.6."""
    given = np.clip(np.where(labels == 1, probabilities, 1 - probabilities), 1e-12, 1.0)
    return float(-np.log(given).mean())


def _log_prices(panel: StockPanel, stock: int) -> Values:
    """Logarithms of the adjusted close on the days on which the stock traded."""
    prices: Values = np.log(panel.prices[stock, panel.traded[stock], ADJUSTED])
    return prices


def _table(windows: StockWindows, keys: tuple[str, ...]) -> Values:
    labels, size = windows.labels, math.prod(SIZES[key] for key in keys)
    cells = _cells(windows, keys)[labels >= 0]
    rises = np.bincount(cells, weights=labels[labels >= 0], minlength=size)
    shares: Values = (rises + PRIOR * share_of_rises(windows)) / (np.bincount(cells, minlength=size) + PRIOR)
    return shares


def _cells(windows: StockWindows, keys: tuple[str, ...]) -> NDArray[np.int64]:
    """`(samples, tickers)` cell of each movement."""
    days, last = windows.target_days, windows.last_days
    values: dict[str, NDArray[np.bool_] | NDArray[np.int64]] = {
        "weekday": weekdays(days)[:, None],
        "month": months(days)[:, None],
        "last": windows.traded[last] & (last >= 0)[:, None],
        "next": windows.traded[windows.targets],
    }
    cells = np.zeros((len(windows), len(windows.tickers)), np.int64)
    for key in keys:
        cells = cells * SIZES[key] + values[key]
    return cells
