"""Whole numbers of each label, for a look-up of its movement: the calendar, what is missing, and the last row."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.lookup import check_lookup
from multiway.auditing.report import Verdict
from multiway.tasks.stocks.panel import day_numbers, months, weekdays
from multiway.tasks.stocks.samples import StockSamples

BINS = 20
BLOCK = 5
"""Days that are drawn together for the interval."""
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


def check_facts(facts: Mapping[str, Ints], labels: pd.DataFrame, what: str, draws: int = 1000) -> Verdict | None:
    """Whether the labels of the test days can be looked up in facts of each, as the training labels have them."""
    train, test = ((labels["split"] == split).to_numpy() for split in ("train", "test"))
    seen, later = ({name: codes[part] for name, codes in facts.items()} for part in (train, test))
    label, target = labels["label"].to_numpy(), labels["target"].to_numpy()
    groups = target[train], target[test]
    return check_lookup(seen, label[train], later, label[test], what=what, groups=groups, block=BLOCK, draws=draws)


def traded(samples: StockSamples, labels: pd.DataFrame, day: str) -> Flags:
    """Whether each label's ticker has a price on its `target` or `last` day."""
    position = labels[day].to_numpy()
    return np.asarray(samples.traded[position, labels["ticker"]] & (position >= 0))


def label_facts(samples: StockSamples, labels: pd.DataFrame) -> dict[str, Ints]:
    """What says nothing of a movement: dates, trading days, and which inputs are there."""
    sample, ticker, target, last = (labels[name].to_numpy() for name in ("sample", "ticker", "target", "last"))
    day, weekday = day_numbers(samples.days), weekdays(samples.days)
    bits = 1 << np.arange(samples.slots.shape[1])
    texts = (samples.text_rows[sample, ticker] > 0) @ bits
    prices = (samples.slot_valid[sample, ticker] & samples.known[samples.slots[sample], ticker[:, None]]) @ bits
    return {
        "whether the last day traded": traded(samples, labels, "last").astype(np.int64),
        "whether the next day trades": traded(samples, labels, "target").astype(np.int64),
        "weekday of the last day": np.where(last >= 0, weekday[last], 7),
        "weekday of the next day": weekday[target],
        "month": months(samples.days)[target],
        "days between": np.where(last >= 0, day[target] - day[last], -1),
        "which days have texts": texts.astype(np.int64),
        "which days have prices": prices.astype(np.int64),
    }


def quote_facts(fields: Mapping[str, Floats], ticker: Ints, day: Ints, training: Flags) -> dict[str, Ints]:
    """In which twentieth of the training rows each field lies; a volume stands beside the ticker's usual one.

    Args:
        fields: Prices and volume by name, `(tickers, days)` each, NaN without a row.
        ticker: `(labels,)`, of which stock.
        day: `(labels,)`, the last row before the target day; -1 without one.
        training: `(labels,)`, which bound the bins.
    """
    facts = {}
    for name, column in fields.items():
        if name != "close":
            usual = pd.DataFrame(column).median(axis=1).to_numpy(np.float64)[:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.log(column / (usual if name == "volume" else fields["close"]))
            cases = np.where(day >= 0, ratio[ticker, day], np.nan)
            facts[f"{name} of the day before"] = _binned(np.where(np.isfinite(cases), cases, np.nan), training)
    return facts


def _binned(column: Floats, training: Flags) -> Ints:
    """Twentieths of the training rows; what is missing has a number of its own."""
    known = column[training & np.isfinite(column)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1])) if len(known) else np.empty(0)
    return np.where(np.isnan(column), BINS + 1, np.searchsorted(edges, column)).astype(np.int64)
