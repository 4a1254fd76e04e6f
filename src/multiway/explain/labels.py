"""Labels for positions in time: the stamps of one window, or lags that hold for every window."""

import pandas as pd

from multiway.errors import ShapeError


def time_labels(times: pd.Index, patch_length: int = 1) -> tuple[str, ...]:
    """Name the patches of one window by their first and last stamp: "2016-07-01 00:00 – 03:00".

    Args:
        times: Time stamps or integers of the window's rows.
        patch_length: Rows per patch.

    Raises:
        ShapeError: The rows do not split into whole patches.
    """
    _check_whole(len(times), patch_length)
    return tuple(
        _span(times[start], times[start + patch_length - 1], _is_daily(times))
        for start in range(0, len(times), patch_length)
    )


def lag_labels(lookback: int, patch_length: int = 1) -> tuple[str, ...]:
    """Name the patches of any window by their distance to the first forecast step: "lag 96–93".

    Lag 1 is the last observed row. These labels suit maps averaged over windows.

    Raises:
        ShapeError: The look-back does not split into whole patches.
    """
    _check_whole(lookback, patch_length)
    starts = range(lookback, 0, -patch_length)
    if patch_length == 1:
        return tuple(f"lag {lag}" for lag in starts)
    return tuple(f"lag {lag}–{lag - patch_length + 1}" for lag in starts)


def _span(first: object, last: object, daily: bool) -> str:
    if not (isinstance(first, pd.Timestamp) and isinstance(last, pd.Timestamp)):
        return f"{first}" if first == last else f"{first} – {last}"
    shape = "%Y-%m-%d" if daily else "%Y-%m-%d %H:%M"
    if first == last:
        return first.strftime(shape)
    same_day = not daily and first.date() == last.date()
    return f"{first.strftime(shape)} – {last.strftime('%H:%M' if same_day else shape)}"


def _is_daily(times: pd.Index) -> bool:
    return isinstance(times, pd.DatetimeIndex) and bool((times == times.normalize()).all())


def _check_whole(length: int, patch_length: int) -> None:
    if patch_length < 1 or length % patch_length:
        raise ShapeError(
            f"labels: the rows must split into whole patches. Got {length} rows, patch_length={patch_length}."
        )
