"""Whether later scans have voxels of the sizes that training saw."""

import warnings
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from multiway.data.findings import listed
from multiway.errors import MultiwayWarning

Spacings = tuple[tuple[float, float], ...]
"""Least and greatest millimetres per voxel, axis by axis."""
APART = 1.1
"""Factor beyond the spacings of the training from which on a scan is called another."""
MOST_LOOKED_AT, MOST_NAMED = 64, 3


def spread_evenly(rows: Sequence[int]) -> list[int]:
    """Some of many cases: enough to know their spacings."""
    places = np.linspace(0, len(rows) - 1, min(len(rows), MOST_LOOKED_AT)).round().astype(int)
    return [int(rows[place]) for place in places]


def spacings_of(found: Iterable[tuple[float, ...] | None]) -> Spacings | None:
    """Least and greatest spacing of scans; None where none of them says it."""
    known = [spacing for spacing in found if spacing is not None]
    return tuple((min(axis), max(axis)) for axis in zip(*known, strict=True)) if known else None


def warn_of_spacing(spacing: tuple[float, ...] | None, trained: Spacings | None) -> None:
    """Warn where the voxels of a prepared scan are larger or smaller than those that training saw."""
    if spacing is not None and _is_other(spacing, trained):
        _warn(f"scans of {_shown(spacing)}", trained)


def warn_of_spacings(scans: Mapping[str, tuple[float, ...] | None], trained: Spacings | None) -> None:
    """Warn once of all prepared scans, by name, whose voxels are larger or smaller than those that training saw."""
    others = [f"{name} ({_shown(each)})" for name, each in scans.items() if each and _is_other(each, trained)]
    if others:
        _warn(f"{len(others)} of {len(scans)} scans with others, {listed(others, MOST_NAMED)}", trained)


def _is_other(spacing: tuple[float, ...], trained: Spacings | None) -> bool:
    within = zip(spacing, trained or (), strict=trained is not None)
    return not all(low / APART <= step <= high * APART for step, (low, high) in within)


def _shown(spacing: tuple[float, ...]) -> str:
    return " x ".join(f"{step:.3g}" for step in spacing) + " mm"


def _warn(given: str, trained: Spacings | None) -> None:
    seen = " x ".join(f"{low:.3g}" if high <= 1.01 * low else f"{low:.3g} to {high:.3g}" for low, high in trained or ())
    warnings.warn(
        f"the run was trained on voxels of {seen} mm. Got {given}, on which it may be far worse. Resample them, or set "
        f"read.spacing in training, which brings every scan to one.",
        MultiwayWarning,
        stacklevel=3,
    )
