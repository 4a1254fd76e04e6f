"""Columns of a panel that hold later values of another series to the last digit: at times, or as totals of a period."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, finding
from multiway.data.findings import quoted

LEADS = 7
"""Rows ahead that are looked at."""
OFTEN, MORE = 0.05, 4.0
"""Share of the rows that hold a later value exactly, and how much more often than one as long before."""
FEWEST_PERIODS, SHORTEST = 10, 3
"""Periods of one value, and rows of each on average."""
SAME = 0.9999
"""Correlation of a period's value with the mean of its rows."""
MOST_SERIES = 64

Floats = NDArray[np.float64]


def check_exact(values: Floats, names: Sequence[str]) -> Verdict | None:
    """Whether cells of a series are those of another one in later rows, or the mean or total of a period to come."""
    count = min(len(names), MOST_SERIES)
    told = [
        said for one, other in itertools.permutations(range(count), 2)
        for said in _told(values[:, one], values[:, other], quoted(names[one]), quoted(names[other]))
    ]  # fmt: skip
    if count < 2:
        return None
    if not told:
        return "no series holds later values of another, or totals of periods that they lie in"
    return finding(
        "shifted", "error", f"{len(told)} series hold later values of others exactly",
        "Leave out what is made from later values.", told[:3], len(told),
    )  # fmt: skip


def _told(one: Floats, other: Floats, name: str, of: str) -> Iterator[str]:
    lead, share = max(((rows, _held(one, other, rows)) for rows in range(1, LEADS + 1)), key=lambda each: each[1])
    if share > max(OFTEN, MORE * _held(one, other, -lead)):
        yield f"{name} holds {of} of {lead} rows later in {share:.0%} of the rows"
    if is_total(one, other):
        yield f"{name} is the mean or total of {of} over a period, in each of its rows"


def _held(one: Floats, other: Floats, lead: int) -> float:
    """Share of rows whose value is another's so many rows later, and that row's alone."""
    later = pd.Series(other).shift(-lead)
    fresh = (later != other) & (later.diff() != 0)
    return float(((later == one) & fresh).mean())


def is_total(one: Floats, other: Floats) -> bool:
    """Whether a series that is constant over periods follows the means of another over the same periods."""
    if not np.isfinite(one).all():
        return False
    period = np.concatenate([[0], (one[1:] != one[:-1]).cumsum()])
    count = int(period[-1]) + 1
    if count < FEWEST_PERIODS or len(one) / count < SHORTEST:
        return False
    rows = pd.DataFrame({"one": one, "other": other}).groupby(period)
    mean, size = rows.mean(), rows.size()
    whole = (size == size.median()).to_numpy() & np.isfinite(mean["other"].to_numpy())
    if whole.sum() < FEWEST_PERIODS or mean[whole].std().min() == 0:
        return False
    return bool(abs(mean[whole]["one"].corr(mean[whole]["other"])) > SAME)
