"""Whether a day's row of prices tells the next day's movement, as columns that lie a day early do."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.lookup import check_lookup
from multiway.auditing.report import Verdict
from multiway.data import Finding

BINS = 20
DRAWS = 200
BLOCK = 5
"""Days that are drawn together for the interval."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def check_quotes(
    fields: Mapping[str, Floats], ticker: Ints, day: Ints, label: Ints, target: Ints, training: Flags, tested: Flags
) -> Verdict | None:
    """Look movements up in what each field of the last row is beside the close of its day.

    Args:
        fields: Prices and volume by name, `(tickers, days)` each, NaN without a row.
        ticker: `(cases,)`, of which stock.
        day: `(cases,)`, the last row before the target day; -1 without one.
        label: `(cases,)`, 0 fall, 1 rise.
        target: `(cases,)`, day that is predicted: those of one day are drawn together.
        training: Which are learnt from.
        tested: Which judge what was learnt.
    """
    facts = quote_facts(fields, ticker, day, training)
    verdict = check_lookup(
        {name: codes[training] for name, codes in facts.items()}, label[training],
        {name: codes[tested] for name, codes in facts.items()}, label[tested],
        what="the row of prices before the target day", groups=(target[training], target[tested]), block=BLOCK,
        draws=DRAWS,
    )  # fmt: skip
    return dataclasses.replace(verdict, kind="quotes") if isinstance(verdict, Finding) else verdict


def quote_facts(fields: Mapping[str, Floats], ticker: Ints, day: Ints, training: Flags) -> dict[str, Ints]:
    """In which twentieth of the training rows each field lies; a volume stands beside the ticker's usual one.

    Arguments as those of `check_quotes`; the training cases bound the bins.
    """
    facts = {}
    for name, column in fields.items():
        if name != "close":
            with np.errstate(divide="ignore", invalid="ignore"):
                beside = np.log(column / (_usual(column) if name == "volume" else fields["close"]))
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
