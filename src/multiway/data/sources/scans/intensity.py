"""What training learns of scans: how to bring intensities near 0 and 1, and the sizes of the voxels it saw."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from multiway.data.findings import list_some
from multiway.data.matching import Far, far_levels
from multiway.data.options import VolumeOptions
from multiway.data.scaling import Level, evenly
from multiway.data.sources.scans.volume import Array, millimetres
from multiway.errors import ConfigError, Fix, warn

if TYPE_CHECKING:  # a check of scans does without torch
    from torch import Tensor

BYTES = (0.0, 255.0)
Spacings = tuple[tuple[float, float], ...]
"""Least and greatest millimetres per voxel, axis by axis."""
APART = 1.1
"""Factor beyond the spacings of the training from which on a scan is called another."""
FAR_APART = 5.5
"""The factor from which on its unit is: centimetres lie 10 from millimetres."""
MOST_LOOKED_AT, MOST_NAMED, USUAL = 64, 3, 16


@dataclasses.dataclass(frozen=True, slots=True)
class IntensityScale:
    """Subtract `centre` and divide by `spread`, for each channel.

    per_volume: Use mean and deviation of each volume itself instead; `centre` and `spread` are unused.
    level: Values of a usual volume; None in a run that does not say it, and where volumes are scaled by themselves.
    """

    centre: tuple[float, ...]
    spread: tuple[float, ...]
    per_volume: bool = False
    level: Level | None = None

    @classmethod
    def fit(cls, volume: Callable[[int], Array], rows: Sequence[int], options: VolumeOptions) -> Self:
        """Learn from the training volumes and no others, one at a time.

        `volume` gives the values of a row, `(channels, *sizes)`.
        """
        first, kind = volume(rows[0]), options.normalise
        channels = len(first)
        if kind == "auto":
            kind = "unit" if options.window is not None or first.dtype == np.uint8 else "train"
        if kind == "unit":
            if options.window is None and first.dtype != np.uint8:
                raise ConfigError(
                    f"read: normalise=unit needs a window or volumes of bytes. Got {first.dtype} and no window. Set "
                    "window (",
                    Fix("read.window", like="LOW,HIGH"),
                    "), or normalise to train.",
                )
            low, high = options.window or BYTES
            scale = cls(centre=(low,) * channels, spread=(high - low,) * channels)
        elif kind == "train":
            scale = cls(*_moments(volume, rows))
        else:
            scale = cls(centre=(0.0,) * channels, spread=(1.0,) * channels, per_volume=kind == "volume")
        if scale.per_volume:
            return scale
        usual = (volume(rows[position]) for position in evenly(len(rows), USUAL).tolist())
        return dataclasses.replace(scale, level=Level.fit(usual))

    def apply_to(self, values: Array) -> "Tensor":
        """Normalise one volume `(channels, *sizes)`."""
        import torch

        return self.apply(torch.from_numpy(np.ascontiguousarray(values))[None])[0]

    def apply(self, volumes: "Tensor") -> "Tensor":
        """Normalise `(batch, channels, *sizes)` to float32, each volume by itself."""
        import torch

        if self.per_volume:
            values, axes = volumes.to(torch.float64), tuple(range(2, volumes.ndim))
            centre = values.mean(axes, keepdim=True)
            spread = values.std(axes, correction=0, keepdim=True)
            return ((values - centre) / torch.where(spread > 0, spread, 1.0)).to(torch.float32)
        shape = (-1, *[1] * (volumes.ndim - 2))
        centre, spread = (
            torch.tensor(values, dtype=torch.float32, device=volumes.device).view(shape)
            for values in (self.centre, self.spread)
        )
        return (volumes.to(torch.float32) - centre) / spread


def _moments(volume: Callable[[int], Array], rows: Sequence[int]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation per channel over all voxels, in float64, one volume at a time; a constant has spread 1."""

    def mean(values: Array) -> Array:
        return np.asarray(values.mean(tuple(range(1, values.ndim)), dtype=np.float64))

    centre = np.array([mean(volume(row)) for row in rows]).mean(0)
    squares = [
        mean(np.square(values.astype(np.float64) - centre.reshape(-1, *[1] * (values.ndim - 1))))
        for values in map(volume, rows)
    ]
    spread = np.sqrt(np.mean(squares, axis=0))
    return tuple(centre.tolist()), tuple(np.where(spread > 0, spread, 1.0).tolist())


def spacings_of(spacing: Callable[[int], tuple[float, ...] | None], rows: Sequence[int]) -> Spacings | None:
    """Least and greatest spacing of scans, by some of many; None where none of them says it.

    `spacing` gives the millimetres per voxel of a row.
    """
    looked_at = (spacing(rows[position]) for position in evenly(len(rows), MOST_LOOKED_AT).tolist())
    known = [steps for steps in looked_at if steps is not None]
    return tuple((min(axis), max(axis)) for axis in zip(*known, strict=True)) if known else None


def warn_of_spacing(spacing: tuple[float, ...] | None, trained: Spacings | None) -> None:
    """Warn where the voxels of a prepared scan are larger or smaller than those that training saw."""
    if spacing is not None and _is_other(spacing, trained):
        _warn(f"scans of {millimetres(spacing)}", trained)


def warn_of_spacings(scans: Mapping[str, tuple[float, ...] | None], trained: Spacings | None) -> None:
    """Warn once of all prepared scans, by name, whose voxels are larger or smaller than those that training saw."""
    others = [f"{name} ({millimetres(steps)})" for name, steps in scans.items() if steps and _is_other(steps, trained)]
    if others:
        _warn(f"{len(others)} of {len(scans)} scans with others, {list_some(others, MOST_NAMED)}", trained)


def _is_other(spacing: Iterable[float], trained: Spacings | None) -> bool:
    within = zip(spacing, trained or (), strict=trained is not None)
    return not all(low / APART <= step <= high * APART for step, (low, high) in within)


def find_far(
    values: Array, spacing: tuple[float, ...] | None, scale: IntensityScale, trained: Spacings | None
) -> list[Far]:
    """How far the values and the voxels of a prepared scan lie from those that training saw."""
    found = [*far_levels([values], scale.level, "scans")]
    within = zip(spacing or (), trained or (), strict=spacing is not None and trained is not None)
    factor = max((max(step / high, low / step) for step, (low, high) in within), default=0)
    if factor >= FAR_APART:
        found.append(Far(f"voxels of {millimetres(spacing)} are {factor:.3g} times those of the training", True))
    return found


def _warn(given: str, trained: Spacings | None) -> None:
    seen = " x ".join(f"{low:.3g}" if high <= 1.01 * low else f"{low:.3g} to {high:.3g}" for low, high in trained or ())
    warn(
        f"the run was trained on voxels of {seen} mm. Got {given}, on which it may be far worse. Resample them, or set "
        f"read.spacing in training, which brings every scan to one."
    )
