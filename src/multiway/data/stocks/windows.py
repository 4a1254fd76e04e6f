"""The window of each target day: its slots, and the days whose texts fall on each of them."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from multiway.data.stocks.protocols import StockProtocol


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Windows:
    """S windows of W slots for N tickers.

    Attributes:
        slots: `(S, W)` positions of days, -1 in front where the window is shorter.
        valid: `(S, N, W)` whether the slot is the ticker's: it traded, or it is the target day.
        after: `(S, N, W)` first day whose texts fall on the slot.
        before: `(S, 1, W)` first day whose texts no longer do: that of the slot.
    """

    slots: NDArray[np.int64]
    valid: NDArray[np.bool_]
    after: NDArray[np.int64]
    before: NDArray[np.int64]


def cut_windows(
    days: NDArray[np.datetime64], traded: NDArray[np.bool_], targets: NDArray[np.int64], protocol: StockProtocol
) -> Windows:
    """Cut the windows that end with the targets.

    Whether a ticker will trade on the target day is not known before, so that day is a slot of every ticker. The
    texts are those of the days since the last trading day before the window (for `stocknet` since the calendar day
    before it); each falls on the ticker's first slot after it.
    """
    numbers = day_numbers(days)
    if protocol.name == "stocknet":
        earliest = numbers[targets] - protocol.look_back
        first = np.searchsorted(numbers, earliest + 1)
    else:
        first = np.maximum(targets - protocol.look_back + 1, 0)
        earliest = np.where(first > 0, numbers[first - 1], numbers[0] - 1)
    slots = targets[:, None] + np.arange(1 - protocol.look_back, 1)
    slots = np.where(slots >= first[:, None], slots, -1)
    valid = traded[slots].swapaxes(1, 2) & (slots >= 0)[:, None, :]
    valid[:, :, -1] = True
    before = numbers[slots][:, None, :]
    reached = np.where(valid, before, earliest[:, None, None])
    after = np.empty_like(reached)
    after[:, :, 0] = earliest[:, None]
    np.maximum.accumulate(reached[:, :, :-1], axis=2, out=after[:, :, 1:])
    return Windows(slots=slots, valid=valid, after=after, before=before)


def day_numbers(days: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Days since 1970."""
    return days.astype("datetime64[D]").astype(np.int64)


def weekdays(days: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """0 on Mondays to 6 on Sundays; day 0 was a Thursday."""
    return (day_numbers(days) + 3) % 7


def months(days: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """0 in January to 11 in December."""
    return days.astype("datetime64[M]").astype(np.int64) % 12
