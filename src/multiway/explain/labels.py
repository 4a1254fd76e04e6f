"""Labels for positions: stamps of one window, lags that hold for every window, slices of a volume."""

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
    is_daily = isinstance(times, pd.DatetimeIndex) and bool((times == times.normalize()).all())
    starts = range(0, len(times), patch_length)
    return tuple(_span(times[start], times[start + patch_length - 1], is_daily) for start in starts)


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


def slice_labels(slices: int, stride: int = 1, spacing: float | None = None, *, first: int = 0) -> tuple[str, ...]:
    """Name the tokens along one axis of a volume by the slices they stand for: "slices 0–3, 0–8 mm".

    Slices count from `first`, millimetres from the outer face of that slice.

    Args:
        slices: Voxels along the axis.
        stride: Voxels per token; the last token has fewer where they do not divide the axis.
        spacing: Millimetres from one slice to the next, if known.
        first: Number of the first slice.

    Raises:
        ShapeError: The axis or the stride is empty.
    """
    if min(slices, stride) < 1:
        raise ShapeError(f"slice_labels: slices and stride must be positive. Got slices={slices}, stride={stride}.")
    spans = [(start, min(start + stride, slices)) for start in range(0, slices, stride)]
    labels = []
    for start, stop in spans:
        low, high = start + first, stop + first - 1
        label = f"slice {low}" if low == high else f"slices {low}–{high}"
        labels.append(label if spacing is None else f"{label}, {start * spacing:.4g}–{stop * spacing:.4g} mm")
    return tuple(labels)


def span_labels(length: int, count: int) -> tuple[str, ...]:
    """Name equal spans of one axis by their voxels: "8-11", or "8" where a span is one voxel."""
    step = -(-length // count)
    ends = [(index * step, min((index + 1) * step, length) - 1) for index in range(count)]
    return tuple(str(low) if high <= low else f"{low}-{high}" for low, high in ends)


def _span(first: object, last: object, daily: bool) -> str:
    if not (isinstance(first, pd.Timestamp) and isinstance(last, pd.Timestamp)):
        return f"{first}" if first == last else f"{first} – {last}"
    shape = "%Y-%m-%d" if daily else "%Y-%m-%d %H:%M"
    if first == last:
        return first.strftime(shape)
    same_day = not daily and first.date() == last.date()
    return f"{first.strftime(shape)} – {last.strftime('%H:%M' if same_day else shape)}"


def _check_whole(length: int, patch_length: int) -> None:
    if patch_length < 1 or length % patch_length:
        raise ShapeError(
            f"labels: the rows must split into whole patches. Got {length} rows, patch_length={patch_length}."
        )
