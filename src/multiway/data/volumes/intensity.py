"""Intensities to numbers near 0 and 1: by a window, by the training volumes, or by each volume alone."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.volumes.options import VolumeOptions
from multiway.errors import ConfigError

BYTES = (0.0, 255.0)


@dataclasses.dataclass(frozen=True, slots=True)
class IntensityScale:
    """Subtract `centre` and divide by `spread`, for each channel.

    per_volume: Use mean and deviation of each volume itself instead; `centre` and `spread` are unused.
    """

    centre: tuple[float, ...]
    spread: tuple[float, ...]
    per_volume: bool = False

    @classmethod
    def fit(cls, store: NDArray[Any], train_indices: Sequence[int] | NDArray[np.int64], options: VolumeOptions) -> Self:
        """Learn from the training volumes and no others.

        Args:
            store: `(cases, channels, *sizes)`.
            train_indices: Rows to learn from.
            options: `normalise` and `window`.

        Raises:
            ConfigError: `normalise` is `unit` and there is neither a window nor bytes.
        """
        channels = store.shape[1]
        kind = options.normalise
        if kind == "auto":
            kind = "unit" if options.window is not None or store.dtype == np.uint8 else "train"
        if kind == "unit":
            low, high = options.window or _range_of(store)
            return cls(centre=(low,) * channels, spread=(high - low,) * channels)
        if kind == "train":
            centre, spread = _moments(store, train_indices)
            return cls(centre=centre, spread=spread)
        return cls(centre=(0.0,) * channels, spread=(1.0,) * channels, per_volume=kind == "volume")

    def apply_to(self, values: NDArray[Any]) -> Tensor:
        """Normalise one volume `(channels, *sizes)`."""
        return self.apply(torch.from_numpy(np.ascontiguousarray(values))[None])[0]

    def apply(self, volumes: Tensor) -> Tensor:
        """Normalise `(batch, channels, *sizes)` to float32; each volume by itself, whatever is beside it."""
        if self.per_volume:
            return _by_itself(volumes)
        shape = (-1, *[1] * (volumes.ndim - 2))
        centre, spread = (
            torch.tensor(values, dtype=torch.float32, device=volumes.device).view(shape)
            for values in (self.centre, self.spread)
        )
        return (volumes.to(torch.float32) - centre) / spread


def _range_of(store: NDArray[Any]) -> tuple[float, float]:
    if store.dtype != np.uint8:
        raise ConfigError(
            f"read: normalise=unit needs a window or volumes of bytes. Got {store.dtype} and no window. "
            f"Set window (--window LOW,HIGH), or normalise to train."
        )
    return BYTES


def _moments(
    store: NDArray[Any], rows: Sequence[int] | NDArray[np.int64]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation per channel over all voxels, in float64, one volume at a time; a constant has spread 1."""
    axes = tuple(range(1, store.ndim - 1))
    means = np.array([store[row].mean(axes, dtype=np.float64) for row in rows])
    centre = means.mean(0)
    shape = (-1, *[1] * len(axes))
    squares = [np.square(store[row].astype(np.float64) - centre.reshape(shape)).mean(axes) for row in rows]
    spread = np.sqrt(np.mean(squares, axis=0))
    return tuple(centre.tolist()), tuple(np.where(spread > 0, spread, 1.0).tolist())


def _by_itself(volumes: Tensor) -> Tensor:
    values = volumes.to(torch.float64)
    axes = tuple(range(2, volumes.ndim))
    centre = values.mean(axes, keepdim=True)
    spread = values.std(axes, correction=0, keepdim=True)
    return ((values - centre) / torch.where(spread > 0, spread, 1.0)).to(torch.float32)
