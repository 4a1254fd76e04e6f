"""Standardisation by the training rows, in float64, blind to missing cells."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator


def _finite(values: Any) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "fiu":
        raise ValueError("numbers are needed")
    if not np.isfinite(array.astype(np.float64)).all():
        raise ValueError("it holds a number that is not finite")
    return array.astype(np.float64)


LOOKED_AT = 1_000_000
"""Values of a sample that say its level."""
Floats = Annotated[NDArray[np.float64], PlainValidator(_finite), PlainSerializer(lambda array: array.tolist())]
"""A field of a config that is an array of finite numbers."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scaler:
    """Mean and standard deviation (over n, not n - 1) per variate.

    mean, std: `(variates,)` float64.
    constant: Positions of variates that never changed in the rows learnt from; they are shifted, not stretched.
    """

    mean: Floats
    std: Floats
    constant: tuple[int, ...] = ()

    @classmethod
    def fit(cls, values: NDArray[np.float64]) -> Self:
        """Learn from rows `(time, variates)`: the training rows and no others.

        A variate without any value gets mean 0 and standard deviation 1.
        """
        observed = ~np.isnan(values)
        low = np.min(values, axis=0, where=observed, initial=np.inf)
        high = np.max(values, axis=0, where=observed, initial=-np.inf)
        is_constant = low >= high
        # A power of two takes the columns near 1 without rounding, so that squares neither overflow nor vanish.
        largest = np.where(observed.any(0), np.maximum(np.abs(low), np.abs(high)), 1.0)
        unit = np.ldexp(1.0, np.clip(np.frexp(largest)[1], -1000, 1000))
        scaled, count = np.where(observed, values, 0.0) / unit, np.maximum(observed.sum(0), 1)
        mean = scaled.sum(0) / count
        std = np.sqrt(np.square(np.where(observed, scaled - mean, 0.0)).sum(0) / count)
        mean = np.where(is_constant, np.where(observed.any(0), low, 0.0), mean * unit)
        std = np.where(is_constant | (std == 0), 1.0, std * unit)
        return cls(mean, std, tuple(int(position) for position in np.flatnonzero(is_constant)))

    def last(self, count: int) -> Self:
        """Of the last so many variates."""
        first = len(self.mean) - count
        constant = tuple(position - first for position in self.constant if position >= first)
        return type(self)(self.mean[first:], self.std[first:], constant)

    def taking(self, other: Self, chosen: NDArray[np.bool_]) -> Self:
        """The same with some variates as another has learnt them."""
        constant = [place for each, own in ((self, ~chosen), (other, chosen)) for place in each.constant if own[place]]
        mean, std = (np.where(chosen, *pair) for pair in ((other.mean, self.mean), (other.std, self.std)))
        return type(self)(mean, std, tuple(sorted(constant)))

    def transform(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale; NaN stays NaN."""
        return (values - self.mean) / self.std

    def inverse(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return to the units of the file."""
        return values * self.std + self.mean

    def notes(self, names: Sequence[str]) -> tuple[str, ...]:
        """One line for each variate that was constant in the rows learnt from."""
        return tuple(
            f"{names[position]} never changes in the training rows, so it is shifted and not scaled."
            for position in self.constant
        )


def evenly(count: int, most: int) -> NDArray[np.int64]:
    """Indices of so many at most, evenly spread."""
    return np.linspace(0, count - 1, min(most, count)).round().astype(np.int64)


@dataclasses.dataclass(frozen=True, slots=True)
class Level:
    """Mean and standard deviation of the values of a usual sample of many, such as an image or a scan."""

    mean: float
    spread: float

    @classmethod
    def fit(cls, samples: Iterable[NDArray[Any]]) -> Self:
        """The usual one of some samples."""
        means, spreads = np.transpose([cls.measure(sample) for sample in samples])
        return cls(float(np.mean(means)), float(np.mean(spreads)))

    @staticmethod
    def measure(sample: NDArray[Any]) -> tuple[float, float]:
        """Of one sample, by some of its values where they are many."""
        some = sample.reshape(-1)[:: 1 + sample.size // LOOKED_AT]
        return float(some.mean(dtype=np.float64)), float(some.std(dtype=np.float64))


def mase_scales(training: NDArray[np.float64], season: int) -> NDArray[np.float64]:
    """Mean absolute seasonal difference of the training rows, per variate; 0 where it is undefined."""
    if len(training) <= season:
        return np.zeros(training.shape[1])
    difference = np.abs(training[season:] - training[:-season])
    count = np.maximum((~np.isnan(difference)).sum(0), 1)
    return np.asarray(np.nansum(difference, 0) / count)
