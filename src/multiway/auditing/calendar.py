"""Whether the calendar alone explains a series: no leak, as a forecast may know the date, but no skill either."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, found

EXPLAINED = 0.9
DAY = 24 * 60
"""Minutes."""
"""Share of the variance above which a series is called a matter of the calendar."""


def calendar_of(times: pd.Index) -> dict[str, NDArray[np.int64]]:
    """Month, weekday and time of day of each row, as far as the index has them."""
    if not isinstance(times, pd.DatetimeIndex):
        return {}
    minute = times.hour * 60 + times.minute
    parts = {"month": times.month, "weekday": times.day_of_week, "time of day": minute}
    return {name: np.asarray(part, np.int64) for name, part in parts.items()}


def check_calendar(
    values: NDArray[np.float64], times: pd.Index, training: NDArray[np.bool_], tested: NDArray[np.bool_],
    names: Sequence[str],
) -> Verdict | None:  # fmt: skip
    """How much of the tested rows the mean of training rows of the same month, weekday and time of day explains.

    Args:
        values: `(rows, variates)`, NaN where missing.
        times: Of the rows.
        training: `(rows,)`, which are learnt from.
        tested: `(rows,)`, which are explained.
        names: Of the variates.
    """
    parts = calendar_of(times)
    if not parts or not training.any() or not tested.any():
        return None
    time, day = parts["time of day"], parts["weekday"] * DAY
    keys = [time, time + day, time + parts["month"] * 7 * DAY, time + day + parts["month"] * 7 * DAY]
    explained = np.max(np.stack([_explained(values, key, training, tested) for key in keys]), axis=0)
    if np.isnan(explained).all():
        return None
    best = int(np.nanargmax(explained))
    high = np.flatnonzero(explained > EXPLAINED)
    if not len(high):
        return (
            f"month, weekday and time of day explain at most {max(explained[best], 0):.0%} of a variate "
            f"({names[best]}) in the tested rows"
        )
    return found(
        "calendar", "warning",
        f"month, weekday and time of day alone explain {explained[best]:.1%} of {names[best]} in the tested rows "
        f"({len(high)} of {len(names)} variates above {EXPLAINED:.0%})",
        "This is no leak, but a low error is no skill: look at seasonal_naive beside it.", count=len(high),
    )  # fmt: skip


def _explained(
    values: NDArray[np.float64], key: NDArray[np.int64], training: NDArray[np.bool_], tested: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """R² against the training mean, per variate; NaN where it is undefined."""
    frame = pd.DataFrame(values)
    usual = frame[training].mean()
    table = frame[training].groupby(key[training]).mean()
    looked_up = table.reindex(key[tested]).set_axis(frame.index[tested]).fillna(usual)
    error = np.square(frame[tested] - looked_up).sum()
    spread = np.square(frame[tested] - usual).sum()
    return np.asarray((1 - error / spread.where(spread > 0)).to_numpy(np.float64))
