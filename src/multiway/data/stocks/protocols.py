"""Which days are targets, what may be known by then, and what counts as a movement."""

from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from multiway.config import Config
from multiway.errors import ConfigError, DataError

Splits = dict[str, NDArray[np.int64]]

SPLITS = ("train", "validation", "test")
STOCKNET_DOWN, STOCKNET_UP = 0.005, 0.0055
STOCKNET_BORDERS = np.array(["2014-01-01", "2015-08-01", "2015-10-01", "2016-01-01"], dtype="datetime64[D]")
"""First day of each split, and the day after the last."""
DIGITS = 6
"""Of a movement, as StockNet writes it."""
CHRONOLOGICAL_ONLY = ("down", "up", "validation", "test", "borders")


class StockProtocol(Config):
    """What is predicted of each ticker and day, from what, and in which split."""

    name: Literal["chronological", "stocknet", "published-code"] = "chronological"
    """`chronological`: any data, in the order of time. `stocknet`: as the authors of StockNet define it, for its dates.
    `published-code`: the labels that the stock paper's public code makes, which the calendar gives away."""
    complete: bool = False
    """Ask only where every slot of the window has a text and a known price, as StockNet's authors do."""
    look_back: int = Field(5, ge=1, le=60)
    """Slots of a window: trading days, the target day included; calendar days for `stocknet`."""
    prices: Literal["changes", "levels"] = "changes"
    """Adjusted close, high and low of a day: their changes against the adjusted close before, or they themselves."""
    down: float = Field(0.0, ge=0, lt=1)
    """A movement m with -down <= m < up has no label; a share, so 0.005 is half a per cent."""
    up: float = Field(0.0, ge=0, lt=1)
    """See `down`."""
    validation: float = Field(0.1, gt=0, lt=1)
    """Share of the target days to choose the best epoch on."""
    test: float = Field(0.2, gt=0, lt=1)
    """Share of the target days to test on, the last ones."""
    borders: tuple[str, str] | None = None
    """First day of validation and first day of test, in place of the shares."""
    literal: bool = False
    """For `published-code`: a ratio of exactly 1 counts as a rise, as there, though neither day traded."""

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.validation + self.test >= 1:
            raise ValueError(f"validation and test must leave days to train on. Got {self.validation} and {self.test}")
        if self.borders is not None:
            first, second = (_day(text) for text in self.borders)
            if not first < second:
                raise ValueError(f"borders must rise: first day of validation, then of test. Got {self.borders}")
        fixed = [field for field in CHRONOLOGICAL_ONLY if self._is_changed(field)]
        if self.name != "chronological" and fixed:
            raise ValueError(f"{' and '.join(fixed)} cannot be set, the protocol {self.name} fixes them")
        if self.literal and self.name != "published-code":
            raise ValueError(f"literal belongs to the protocol published-code. Got {self.name}")
        if self.complete and self.name == "published-code":
            raise ValueError("complete belongs to the protocols chronological and stocknet. Got published-code")
        if self.prices == "levels" and self.name == "published-code":
            raise ValueError("published-code has levels of its own. Leave prices out")
        return self

    def _is_changed(self, field: str) -> bool:
        return bool(getattr(self, field) != type(self).model_fields[field].default)

    @property
    def dead_zone(self) -> tuple[float, float]:
        """Movements from the first number to the second, the second excluded, have no label."""
        down, up = (STOCKNET_DOWN, STOCKNET_UP) if self.name == "stocknet" else (self.down, self.up)
        return -down, up


def movement_labels(movement: NDArray[np.float64], protocol: StockProtocol) -> NDArray[np.int8]:
    """1 for a rise, 0 for none, -1 where the movement is unknown or too small for a label."""
    known = np.isfinite(movement)
    rounded = np.round(np.where(known, movement, 0.0), DIGITS)
    low, high = protocol.dead_zone
    labelled = known & ~((rounded >= low) & (rounded < high))
    labels: NDArray[np.int8] = np.where(labelled, rounded > 0, -1).astype(np.int8)
    return labels


def split_days(days: NDArray[np.datetime64], protocol: StockProtocol, source: str) -> Splits:
    """Positions of each split's days among the ascending target days.

    Raises:
        DataError: A split would be empty.
    """
    if protocol.name == "stocknet":
        cuts = np.searchsorted(days, STOCKNET_BORDERS)
    elif protocol.borders is not None:
        cuts = np.array([0, *np.searchsorted(days, np.array([_day(text) for text in protocol.borders])), len(days)])
    else:
        last = len(days) - round(protocol.test * len(days))
        cuts = np.array([0, last - round(protocol.validation * len(days)), last, len(days)])
    splits = {name: np.arange(cuts[i], cuts[i + 1]) for i, name in enumerate(SPLITS)}
    if not all(map(len, splits.values())):
        raise DataError(_empty(days, splits, protocol, source))
    return splits


def _empty(days: NDArray[np.datetime64], splits: Splits, protocol: StockProtocol, source: str) -> str:
    counts = ", ".join(f"{name} {len(rows)}" for name, rows in splits.items())
    span = f"from {days[0]} to {days[-1]}" if len(days) else "on no day"
    fix = {
        "stocknet": "It needs prices from 2014-01-01 to 2015-12-31; use the protocol chronological for other data "
        "(--set protocol.name=chronological).",
    }.get(protocol.name, "Give more days, other shares or borders, or a smaller dead zone.")
    return f"{source}: every split needs days with a movement to label. Got {counts}, {span}. {fix}"


def _day(text: str) -> np.datetime64:
    try:
        return np.datetime64(text, "D")
    except ValueError:
        raise ValueError(f"borders are days like 2015-08-01. Got {text!r}") from None


def refuse_tomorrow(protocol: StockProtocol) -> None:
    """Refuse to look ahead with labels that are no movements.

    Raises:
        ConfigError: The protocol is `published-code`.
    """
    if protocol.name == "published-code":
        raise ConfigError(
            "protocol: published-code predicts ratios of standardised prices, which say nothing about the next "
            "session. Got published-code. Train with the protocol chronological or stocknet to predict."
        )
