"""What stands beside every score: class shares, the last direction, and the calendar; learnt on the training days.

Each baseline has `p_up(samples, rows, vectors)`, the probability of a rise for the given samples and every ticker,
`(rows, tickers)`, and `facts()`, plain values to be stored.
"""

import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks import StockSamples

Rows = NDArray[np.int64]
Probabilities = NDArray[np.float64]

WEEKDAYS, MONTHS = 7, 12
PRIOR = 1.0
"""Movements that each cell of a look-up is given beforehand, with the share of rises of all."""
TABLES: tuple[tuple[str, ...], ...] = (
    ("weekday",),
    ("month",),
    ("last", "next"),
    ("weekday", "last", "next"),
    ("weekday", "month", "last", "next"),
)
"""Look-ups that the calendar baseline chooses from; `last` and `next` say whether those days trade."""


class MovementBaseline(Protocol):
    """Anything that says how likely each ticker rises on the days of some samples."""

    def p_up(self, samples: StockSamples, rows: Rows, vectors: NDArray[np.float32] | None = None) -> Probabilities:
        """`(rows, tickers)`; `vectors` are those of the samples' groups of texts, for baselines that read them."""

    def facts(self) -> dict[str, Any]:
        """What was learnt, in plain values."""


@dataclasses.dataclass(frozen=True)
class Majority:
    """The share of rises in training, whatever the ticker and day; the more frequent direction is named."""

    share: float

    def p_up(self, samples: StockSamples, rows: Rows, vectors: NDArray[np.float32] | None = None) -> Probabilities:
        """The same everywhere."""
        return np.full((len(rows), len(samples.tickers)), self.share)

    def facts(self) -> dict[str, Any]:
        """Share of rises."""
        return {"share": self.share}


@dataclasses.dataclass(frozen=True)
class Previous:
    """The direction of the last movement known before the day; the share of rises in training where there is none."""

    share: float

    def p_up(self, samples: StockSamples, rows: Rows, vectors: NDArray[np.float32] | None = None) -> Probabilities:
        """1 after a rise, 0 after a fall."""
        last = samples.previous[rows]
        return np.where(last > 0, 1.0, np.where(last < 0, 0.0, self.share))

    def facts(self) -> dict[str, Any]:
        """Share of rises where no direction is known."""
        return {"share": self.share}


@dataclasses.dataclass(frozen=True, eq=False)
class Calendar:
    """A look-up of what a calendar knows: weekday and month of the day, and whether it and the last day trade."""

    keys: tuple[str, ...]
    shares: Probabilities
    losses: dict[str, float]

    def p_up(self, samples: StockSamples, rows: Rows, vectors: NDArray[np.float32] | None = None) -> Probabilities:
        """Share of rises in the training cell."""
        return self.shares[_cells(samples, rows, self.keys)]

    def facts(self) -> dict[str, Any]:
        """The keys chosen, and the validation loss of every choice."""
        return {"keys": list(self.keys), "validation_loss": self.losses}


def fit_majority(samples: StockSamples) -> Majority:
    """Count the training labels."""
    return Majority(_share(samples))


def fit_previous(samples: StockSamples) -> Previous:
    """Nothing but the share for unknown directions is learnt."""
    return Previous(_share(samples))


def fit_calendar(samples: StockSamples) -> Calendar:
    """Count rises in every cell of each look-up; take the look-up with the lowest log loss on validation."""
    tables = {keys: _table(samples, keys) for keys in TABLES}
    held = samples.splits["validation"]
    labels = samples.labels[held]
    losses = {
        keys: log_loss(labels[labels >= 0], shares[_cells(samples, held, keys)][labels >= 0])
        for keys, shares in tables.items()
    }
    best = min(TABLES, key=lambda keys: losses[keys])
    return Calendar(best, tables[best], {" + ".join(keys): loss for keys, loss in losses.items()})


def log_loss(labels: NDArray[Any], probabilities: Probabilities) -> float:
    """Mean over movements; a certainty that is wrong costs 27.6."""
    given = np.clip(np.where(labels == 1, probabilities, 1 - probabilities), 1e-12, 1.0)
    return float(-np.log(given).mean())


def _share(samples: StockSamples) -> float:
    labels = samples.labels[samples.splits["train"]]
    return float(labels[labels >= 0].mean())


def _table(samples: StockSamples, keys: tuple[str, ...]) -> Probabilities:
    rows = samples.splits["train"]
    labels, share = samples.labels[rows], _share(samples)
    cells = _cells(samples, rows, keys)[labels >= 0]
    size = int(np.prod([_size(key) for key in keys]))
    rises = np.bincount(cells, weights=labels[labels >= 0], minlength=size)
    shares: Probabilities = (rises + PRIOR * share) / (np.bincount(cells, minlength=size) + PRIOR)
    return shares


def _size(key: str) -> int:
    return {"weekday": WEEKDAYS, "month": MONTHS}.get(key, 2)


def _cells(samples: StockSamples, rows: Rows, keys: tuple[str, ...]) -> NDArray[np.int64]:
    """`(rows, tickers)` cell of each movement."""
    targets = samples.targets[rows]
    day = samples.days[targets].astype("datetime64[D]")
    values: dict[str, NDArray[Any]] = {
        "weekday": ((day.astype(np.int64) + 3) % WEEKDAYS)[:, None],
        "month": (day.astype("datetime64[M]").astype(np.int64) % MONTHS)[:, None],
        "last": _last_traded(samples, rows),
        "next": samples.traded[targets],
    }
    cells = np.zeros((len(rows), len(samples.tickers)), np.int64)
    for key in keys:
        cells = cells * _size(key) + values[key]
    return cells


def _last_traded(samples: StockSamples, rows: Rows) -> NDArray[np.bool_]:
    """Whether the ticker traded on the last slot before the day asked about; False without one."""
    slots = samples.slots[rows]
    last = np.where(slots == samples.targets[rows][:, None], -1, slots).max(1)
    traded: NDArray[np.bool_] = samples.traded[last] & (last >= 0)[:, None]
    return traded
