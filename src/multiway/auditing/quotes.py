"""Whether a day's row of prices tells the next day's movement, as columns that lie a day early do."""

import dataclasses
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.lookup import check_lookup
from multiway.auditing.report import Verdict
from multiway.data import Finding
from multiway.data.stocks import FIELDS, StockPanel

BINS = 20
DRAWS = 200
BLOCK = 5
"""Days that are drawn together for the interval."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Outcomes(Protocol):
    """Labels one after another: class, split, stock, positions of the target day and of the last day before it."""

    @property
    def label(self) -> Ints:
        """0 fall, 1 rise."""

    @property
    def split(self) -> NDArray[np.str_]:
        """Name of the split."""

    @property
    def sample(self) -> Ints:
        """Sample that it belongs to."""

    @property
    def ticker(self) -> Ints:
        """Position of the stock."""

    @property
    def target(self) -> Ints:
        """Position of the day that is predicted."""

    @property
    def last(self) -> Ints:
        """Position of the last day before it; -1 without one."""


def check_quotes(panel: StockPanel, days: NDArray[np.datetime64], outcomes: Outcomes) -> Verdict | None:
    """Look movements up in what each field of the last row is beside the close of its day.

    Args:
        panel: Prices.
        days: What positions of days refer to.
        outcomes: The labels.
    """
    train, test = outcomes.split == "train", outcomes.split == "test"
    facts = quote_facts(panel.prices, outcomes.ticker, _columns(panel, days)[outcomes.last], train)
    verdict = check_lookup(
        {name: codes[train] for name, codes in facts.items()}, outcomes.label[train],
        {name: codes[test] for name, codes in facts.items()}, outcomes.label[test],
        what="the row of prices before the target day", groups=(outcomes.target[train], outcomes.target[test]),
        block=BLOCK, draws=DRAWS,
    )  # fmt: skip
    return dataclasses.replace(verdict, kind="quotes") if isinstance(verdict, Finding) else verdict


def _columns(panel: StockPanel, days: NDArray[np.datetime64]) -> Ints:
    """Position among the panel's days of each day; -1 for one that is not there, and at the end for no day at all."""
    wanted = days.astype("datetime64[D]")
    place = np.minimum(np.searchsorted(panel.days, wanted), len(panel.days) - 1)
    return np.append(np.where(panel.days[place] == wanted, place, -1), -1)


def quote_facts(prices: Floats, ticker: Ints, day: Ints, training: Flags) -> dict[str, Ints]:
    """In which twentieth of the training rows each field lies; a volume stands beside the ticker's usual one.

    Args:
        prices: `(tickers, days, fields)`, NaN without a row.
        ticker: `(cases,)`, of which stock.
        day: `(cases,)`, whose row; -1 without one.
        training: `(cases,)`, which bound the bins.
    """
    close = prices[:, :, FIELDS.index("close")]
    facts = {}
    for place, name in enumerate(FIELDS):
        if name != "close":
            column = prices[:, :, place]
            with np.errstate(divide="ignore", invalid="ignore"):
                beside = np.log(column / (_usual(column) if name == "volume" else close))
            cases = np.where(day >= 0, beside[ticker, day], np.nan)
            facts[f"{name} of the day before"] = _binned(np.where(np.isfinite(cases), cases, np.nan), training)
    return facts


def _usual(column: Floats) -> Floats:
    """Median of each ticker."""
    return np.asarray(pd.DataFrame(column).median(axis=1).to_numpy(np.float64)[:, None])


def _binned(column: Floats, training: Flags) -> Ints:
    """Twentieths of the training rows; what is missing has a number of its own."""
    known = column[training & np.isfinite(column)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1])) if len(known) else np.empty(0)
    return np.where(np.isnan(column), BINS + 1, np.searchsorted(edges, column)).astype(np.int64)
