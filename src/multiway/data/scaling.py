"""Standardisation by the training rows, in float64, blind to missing cells."""

import dataclasses
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, slots=True)
class Scaler:
    """Mean and standard deviation per variate; a constant variate is only shifted."""

    mean: NDArray[np.float64]
    std: NDArray[np.float64]

    @classmethod
    def fit(cls, values: NDArray[np.float64]) -> Self:
        """Learn from rows `(time, variates)`, the training rows and no others; a column of NaN alone counts as 0."""
        observed = ~np.isnan(values)
        count = np.maximum(observed.sum(0), 1)
        mean = np.where(observed, values, 0).sum(0) / count
        deviation = np.where(observed, values - mean, 0)
        std = np.sqrt(np.square(deviation).sum(0) / count)
        constant = std <= np.abs(mean) * 1e-14  # what rounding leaves of equal numbers
        return cls(mean, np.where(constant, 1.0, std))

    def transform(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale; NaN stays NaN."""
        return (values - self.mean) / self.std

    def inverse(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return to the units of the file."""
        return values * self.std + self.mean

    def to_dict(self) -> dict[str, list[float]]:
        """Plain numbers that JSON keeps exactly."""
        return {"mean": self.mean.tolist(), "std": self.std.tolist()}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Self:
        """Undo `to_dict`."""
        return cls(np.array(state["mean"], dtype=np.float64), np.array(state["std"], dtype=np.float64))
