"""Medians and quartiles: how far measurements that were repeated lie apart."""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import NamedTuple, Self


class Spread(NamedTuple):
    """Quartiles of measurements; half of them lie between `low` and `high`."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Of one measurement or more."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds of a call before and after a swap, taken in turns.

    speed: Time before over time after, turn by turn.
    """

    before: Spread
    after: Spread
    speed: Spread

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> Self:
        """Of turns: seconds before and after."""
        before, after = zip(*pairs, strict=True)
        return cls(
            before=Spread.of(before),
            after=Spread.of(after),
            speed=Spread.of([first / second for first, second in pairs]),
        )

    @property
    def is_slower(self) -> bool:
        """Whether three turns of four or more were slower after."""
        return self.speed.high < 1

    @property
    def is_faster(self) -> bool:
        """Whether three turns of four or more were faster after."""
        return self.speed.low > 1
