"""Series that are moving averages: where the window is centred, rows before a target hold part of it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, finding
from multiway.data.findings import quoted

NOTCHED = 0.02
"""Power at the frequencies that an average of so many rows removes, beside that between them; real series keep 0.19."""
SHORTEST, LONGEST = 5, 31
"""Rows of a window."""
FEWEST_ROWS, MOST_ROWS, MOST_SERIES = 200, 6000, 128
EXPLAINED = 0.997
"""Share of a series' changes that another one's past gives where it is a feature that looks back."""
Floats = NDArray[np.float64]


def check_smoothed(values: Floats, names: Sequence[str]) -> Verdict | None:
    """Whether a series `(rows, variates)` is an average over neighbouring rows, and not of another one's past."""
    changes = np.diff(pd.DataFrame(values[-MOST_ROWS:]).ffill().bfill().fillna(0.0).to_numpy(), axis=0)
    if len(changes) < FEWEST_ROWS:
        return None
    windows = {place: window_of(column) for place, column in enumerate(changes.T[:MOST_SERIES])}
    told = [
        f"{quoted(names[place])} over {rows} rows" for place, rows in windows.items()
        if rows and not any(_looks_back(changes[:, place], other, rows) for other in np.delete(changes, place, 1).T)
    ]  # fmt: skip
    if not told:
        return "no series is a moving average"
    return finding(
        "smoothed", "error", f"{len(told)} series are moving averages, of which the rows before a target hold a part "
        "where the window is centred", "Forecast what was measured.", told[:3], len(told),
    )  # fmt: skip


def window_of(changes: Floats) -> int:
    """Rows of the window by which changes were averaged; 0 where they were not.

    An average of w rows removes all of the frequencies k / w, which chance leaves in no series.
    """
    if not np.ptp(changes) > 0:
        return 0
    power = np.abs(np.fft.rfft((changes - changes.mean()) * np.hanning(len(changes)))) ** 2
    shares = {rows: _notched(power, len(changes), rows) for rows in range(SHORTEST, LONGEST + 1)}
    best = min(shares, key=lambda rows: shares[rows])
    return best if shares[best] < NOTCHED else 0


def _notched(power: Floats, count: int, rows: int) -> float:
    """Mean power about the multiples of 1 / rows beside the median between them."""
    multiples = np.arange(1, rows // 2 + 1)
    at, between = (np.rint(places * count / rows).astype(int) for places in (multiples, multiples - 0.5))
    last = len(power) - 1
    removed = power[np.minimum(at[:, None] + np.arange(-1, 2), last)].mean()
    kept = np.median(power[np.minimum(between[:, None] + np.arange(-3, 4), last)])
    return float(removed / kept) if kept > 0 else 1.0


def _looks_back(series: Floats, other: Floats, rows: int) -> bool:
    """Whether the changes of a series are a weighted sum of another one's in the rows before."""
    past = np.lib.stride_tricks.sliding_window_view(other[:-1], rows + 2)
    following = series[rows + 2 :]
    left = following - past @ np.linalg.lstsq(past, following, rcond=1e-9)[0]
    return bool(np.square(left).sum() < (1 - EXPLAINED) * np.square(following).sum())
