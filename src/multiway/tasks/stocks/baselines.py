"""Baselines: class shares, a coin, the last direction, the calendar, ARIMA, a logistic regression, and quantiles.

Each is a module of buffers, and answers for samples of this or other data of the same stocks.
"""

import hashlib
import math
from collections.abc import Callable
from typing import Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.words import FIRST
from multiway.models.arima import Arima
from multiway.models.baselines import Facts, Linear, fit_logistic
from multiway.models.tfidf import TfidfLogistic
from multiway.tasks.run import Run
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.encode import PreparedStocks
from multiway.tasks.stocks.panel import ADJUSTED, StockPanel, months, weekdays
from multiway.tasks.stocks.samples import StockSamples
from multiway.tasks.stocks.state import Sizes, StockState

QUANTILES = "training_quantiles"
OF_WORDS = ("tfidf", "tfidf_ticker")
Rows = NDArray[np.int64]
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
PENALTIES = (20.0, 2.0, 2e-1, 2e-2, 2e-3, 2e-4)
MOVEMENTS = 60_000
"""Movements of a split that the logistic regression uses at most, evenly spaced."""
CHUNK = 20_000
"""Movements whose inputs are held at once in prediction, or those of one day if they are more."""


class StockBaseline(Protocol):
    """What every baseline does."""

    def fit(self, prepared: PreparedStocks) -> Facts:
        """Learn from the training samples; validation chooses where there is a choice."""

    def says(self, prepared: PreparedStocks, rows: Rows) -> Values:
        """Probability of a rise, `(rows, tickers)`, or with a third axis quantiles."""


def baseline_in(run: Run, name: str) -> StockBaseline:
    """A baseline of a run."""
    return cast(StockBaseline, run.models[name])


class MovementMajority(nn.Module):
    """The share of rises in training, whatever the ticker and day; the more frequent direction is named."""

    share: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("share", torch.zeros((), dtype=torch.float64))

    def fit(self, prepared: PreparedStocks) -> Facts:
        """Count the training labels."""
        self.share.fill_(share_of_rises(prepared.samples))
        return {"share": float(self.share)}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Values:
        """The same everywhere."""
        return np.full((len(rows), len(prepared.samples.tickers)), float(self.share))


class Previous(MovementMajority):
    """The direction of the last movement known before the day; the share of rises in training where there is none."""

    def says(self, prepared: PreparedStocks, rows: Rows) -> Values:
        """1 after a rise, 0 after a fall."""
        last = prepared.samples.previous[rows]
        return np.where(last > 0, 1.0, np.where(last < 0, 0.0, float(self.share)))


class Random(nn.Module):
    """A fair coin for every stock and day; seed, ticker and day alone decide how it falls."""

    seed: Tensor

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.register_buffer("seed", torch.tensor(seed))

    def fit(self, prepared: PreparedStocks) -> Facts:
        """Learn nothing."""
        return {}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Values:
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

    def fit(self, prepared: PreparedStocks) -> Facts:
        """Count rises in every cell of each look-up; take the look-up with the lowest log loss on validation."""
        samples, held = prepared.samples, prepared.samples.splits["validation"]
        tables, labels = {keys: _table(samples, keys) for keys in TABLES}, samples.labels[held]
        losses = {
            " + ".join(keys): log_loss(labels[labels >= 0], shares[_cells(samples, held, keys)][labels >= 0])
            for keys, shares in tables.items()
        }
        best = int(np.argmin(list(losses.values())))
        self.choice.fill_(best)
        self.shares[: len(tables[TABLES[best]])] = torch.from_numpy(tables[TABLES[best]])
        return {"keys": list(self.keys), "validation_loss": losses}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Values:
        """Share of rises in the training cell."""
        shares: Values = self.shares.numpy()[_cells(prepared.samples, rows, self.keys)]
        return shares


class TrainingQuantiles(nn.Module):
    """The quantiles of all training movements together, whatever the stock and day."""

    levels: Tensor

    def __init__(self, count: int) -> None:
        super().__init__()
        self.register_buffer("levels", torch.zeros(count, dtype=torch.float64))

    def fit(self, prepared: PreparedStocks) -> Facts:
        """Take those that the scale has learnt."""
        self.levels.copy_(torch.tensor(prepared.scale.movement_levels, dtype=torch.float64))
        return {}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Values:
        """The same everywhere."""
        levels = self.levels.numpy()
        return np.broadcast_to(levels, (len(rows), len(prepared.samples.tickers), len(levels)))


class PriceArima(Arima):
    """ARIMA of the logarithm of each stock's adjusted close over the days on which it traded.

    share: Of rises in training: what is said where the forecast is the last price itself.
    """

    share: Tensor

    def __init__(self, num_stocks: int) -> None:
        super().__init__(num_stocks)
        self.register_buffer("share", torch.zeros((), dtype=torch.float64))

    def fit(self, prepared: PreparedStocks) -> Facts:
        """Choose and fit on the rows up to the last training day."""
        samples, panel = prepared.samples, prepared.panel
        self.share.fill_(share_of_rises(samples))
        training = panel.days <= samples.target_days[samples.splits["train"]].max()
        self.fit_series(_log_prices(panel, stock)[training[traded]] for stock, traded in enumerate(panel.traded))
        return {"orders": self.orders()}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Values:
        """How much of the forecast's normal distribution lies above the last price."""
        panel, samples = prepared.panel, prepared.samples
        places = np.searchsorted(panel.days, samples.target_days[rows])
        expected = np.empty((len(rows), len(panel.tickers)))
        for stock, traded in enumerate(panel.traded):
            before = np.append(0, traded.cumsum())[places]
            expected[:, stock] = self.changes(stock, _log_prices(panel, stock))[before]
        chance = torch.special.ndtr(torch.from_numpy(expected) / self.deviation).numpy()
        return np.where(expected == 0, float(self.share), chance)


class Logistic(Linear):
    """Logistic regression on what the network reads: prices, which of them are known, and the mean text."""

    def __init__(self, sizes: Sizes) -> None:
        text_features = 0 if sizes.text_features is None else sizes.text_features + 1
        super().__init__(sizes.slots * (sizes.price_features + 1) + text_features, 2)

    def fit(self, prepared: PreparedStocks) -> Facts:
        """Minimise the penalised log loss in training; the penalty is that of the lowest validation loss."""
        training, validation = (flat_movements(prepared, split, MOVEMENTS) for split in ("train", "validation"))
        facts = fit_logistic(self, *training, *validation, PENALTIES)
        return {**facts, "inputs": len(self.centre)}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Values:
        """Probability of a rise of every ticker, `(rows, tickers)`."""
        stocks = len(prepared.samples.tickers)
        days, parts = max(CHUNK // stocks, 1), [np.empty((0, stocks))]
        for start in range(0, len(rows), days):
            some = rows[start : start + days]
            values = flat_inputs(prepared, some, np.ones((len(some), stocks), np.bool_))
            parts.append(self(torch.from_numpy(values)).softmax(1)[:, 1].reshape(len(some), stocks).numpy())
        return np.concatenate(parts)


class Words(nn.Module):
    """Logistic regression on TF-IDF of what was written since the last session, of all tickers or one for each.

    Without a text, or of a ticker that training tells nothing of, the share of rises in training is named.
    """

    share: Tensor
    learnt: Tensor

    def __init__(self, num_words: int, parts: int = 1) -> None:
        super().__init__()
        self.parts = nn.ModuleList(TfidfLogistic(num_words + FIRST, 2) for _ in range(parts))
        self.register_buffer("share", torch.zeros((), dtype=torch.float64))
        self.register_buffer("learnt", torch.zeros(parts, dtype=torch.bool))

    def fit(self, prepared: PreparedStocks) -> Facts:
        """Choose the penalty of each part on validation."""
        self.share.fill_(share_of_rises(prepared.samples))
        for number, part in enumerate(self.parts):
            (ids, labels), held = (self._movements(prepared, split, number) for split in ("train", "validation"))
            if len(labels.unique()) == 2 and len(held[1]):
                cast(TfidfLogistic, part).fit(ids, labels, *held)
                self.learnt[number] = True
        return {"words": len(prepared.words), "learnt": int(self.learnt.sum())}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Values:
        """Probability of a rise of every ticker, `(rows, tickers)`."""
        groups = prepared.samples.text_rows[rows, :, -1]
        chances = np.full(groups.shape, float(self.share))
        for number, part in enumerate(self.parts):
            chosen = (groups > 0) & self._tickers(groups.shape[1], number) & bool(self.learnt[number])
            shares = part(prepared.word_ids[torch.from_numpy(groups[chosen]).long()]).softmax(1)[:, 1]
            chances[chosen] = shares.numpy()
        return chances

    def _movements(self, prepared: PreparedStocks, split: str, number: int) -> tuple[Tensor, Tensor]:
        """Ids and classes of the labelled movements of a split that texts stand before."""
        samples, rows = prepared.samples, prepared.samples.splits[split]
        groups, labels = samples.text_rows[rows, :, -1], samples.labels[rows]
        chosen = (groups > 0) & (labels >= 0) & self._tickers(groups.shape[1], number)
        ids = prepared.word_ids[torch.from_numpy(groups[chosen]).long()]
        return ids, torch.from_numpy(labels[chosen].astype(np.int64))

    def _tickers(self, count: int, number: int) -> NDArray[np.bool_]:
        """Which tickers a part is of."""
        return np.arange(count) == number if len(self.parts) > 1 else np.ones(count, np.bool_)


def build_stock_baseline(config: StockConfig, state: StockState, name: str) -> nn.Module:
    """A baseline by its name, not yet fitted."""
    makers: dict[str, Callable[[], nn.Module]] = {
        "majority": MovementMajority,
        "previous": Previous,
        "calendar": Calendar,
        "random": lambda: Random(config.training.seed),
        "arima": lambda: PriceArima(len(state.tickers)),
        "logistic": lambda: Logistic(state.sizes),
        "tfidf": lambda: Words(len(state.words)),
        "tfidf_ticker": lambda: Words(len(state.words), len(state.tickers)),
        QUANTILES: lambda: TrainingQuantiles(len(config.levels)),
    }
    return makers[name]()


def flat_inputs(prepared: PreparedStocks, rows: Rows, mask: NDArray[np.bool_]) -> Values:
    """`(movements, inputs)` of the masked tickers of some samples, in the order of samples and then tickers.

    Price features of each slot, 0 where not known; whether they are; and with vectors, the mean over the slots that
    have texts, and whether any has.
    """
    samples, vectors = prepared.samples, prepared.vectors
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


def flat_movements(prepared: PreparedStocks, split: str, most: int) -> tuple[Tensor, Tensor]:
    """Inputs and classes of the labelled movements of a split, thinned evenly to `most` of them."""
    rows = prepared.samples.splits[split]
    labels = prepared.samples.labels[rows]
    places = np.flatnonzero(labels >= 0)
    if len(places) > most:
        places = places[np.linspace(0, len(places) - 1, most).astype(np.int64)]
    mask = np.zeros_like(labels, dtype=np.bool_)
    mask.flat[places] = True
    return torch.from_numpy(flat_inputs(prepared, rows, mask)), torch.from_numpy(labels[mask].astype(np.int64))


def log_loss(labels: NDArray[np.int8], probabilities: Values) -> float:
    """Mean over movements; a certainty that is wrong costs 27.6."""
    given = np.clip(np.where(labels == 1, probabilities, 1 - probabilities), 1e-12, 1.0)
    return float(-np.log(given).mean())


def share_of_rises(samples: StockSamples) -> float:
    """Of the training labels."""
    labels = samples.labels[samples.splits["train"]]
    return float(labels[labels >= 0].mean())


def _log_prices(panel: StockPanel, stock: int) -> Values:
    """Logarithms of the adjusted close on the days on which the stock traded."""
    prices: Values = np.log(panel.prices[stock, panel.traded[stock], ADJUSTED])
    return prices


def _table(samples: StockSamples, keys: tuple[str, ...]) -> Values:
    rows = samples.splits["train"]
    labels, size = samples.labels[rows], math.prod(SIZES[key] for key in keys)
    cells = _cells(samples, rows, keys)[labels >= 0]
    rises = np.bincount(cells, weights=labels[labels >= 0], minlength=size)
    shares: Values = (rises + PRIOR * share_of_rises(samples)) / (np.bincount(cells, minlength=size) + PRIOR)
    return shares


def _coin(seed: int, ticker: str, day: np.datetime64) -> int:
    return hashlib.blake2b(f"{seed} {ticker} {day}".encode("utf-8", "surrogatepass")).digest()[0] % 2


def _cells(samples: StockSamples, rows: Rows, keys: tuple[str, ...]) -> NDArray[np.int64]:
    """`(rows, tickers)` cell of each movement."""
    days, last = samples.target_days[rows], samples.last_days(rows)
    values: dict[str, NDArray[np.bool_] | NDArray[np.int64]] = {
        "weekday": weekdays(days)[:, None],
        "month": months(days)[:, None],
        "last": samples.traded[last] & (last >= 0)[:, None],
        "next": samples.traded[samples.targets[rows]],
    }
    cells = np.zeros((len(rows), len(samples.tickers)), np.int64)
    for key in keys:
        cells = cells * SIZES[key] + values[key]
    return cells
