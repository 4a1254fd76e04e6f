"""Which days are targets, what may be known by then, what counts as a movement; and what published protocols fix."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from multiway.config import Config
from multiway.data.samples import SPLITS
from multiway.errors import ConfigError, DataError, Fix
from multiway.lazy import load_extensions
from multiway_papers.stocks.panel import DIGITS

CHRONOLOGICAL = "chronological"
FIXED = ("down", "up", "borders")
"""Fields that a published protocol settles."""


class StockProtocol(Config):
    """What is predicted of each ticker and day, from what, and in which split."""

    name: str = CHRONOLOGICAL
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
    borders: tuple[str, str] | None = None
    """First day of validation and first day of test, in place of the shares."""
    literal: bool = False
    """For `published-code`: a ratio of exactly 1 counts as a rise, as there, though neither day traded."""

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name != CHRONOLOGICAL and name not in published_protocol():
            *first, last = map(repr, protocol_names())
            raise ValueError(f"Input should be {', '.join(first)} or {last}")
        return name

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        days = _days(self.borders or ())
        if len(days) and not days[0] < days[1]:
            raise ValueError(f"borders must rise: first day of validation, then of test. Got {self.borders}")
        if self.rules is not None:
            changed = [field for field in FIXED if self._is_changed(field)]
            if changed:
                raise ValueError(f"{' and '.join(changed)} cannot be set, the protocol {self.name} fixes them")
        if self.literal and not (self.rules and self.rules.literal):
            owners = ", ".join(name for name, rules in published_protocol().items() if rules.literal)
            raise ValueError(f"literal belongs to the protocol {owners}. Got {self.name}")
        refused = (self.rules.refused if self.rules else {}).items()
        for field, reason in refused:
            if self._is_changed(field):
                raise ValueError(reason)
        return self

    def _is_changed(self, field: str) -> bool:
        return bool(getattr(self, field) != type(self).model_fields[field].default)

    @property
    def rules(self) -> "PublishedProtocol | None":
        """What a published protocol fixes; None for any data in the order of time."""
        return None if self.name == CHRONOLOGICAL else published_protocol()[self.name]

    @property
    def of_movements(self) -> bool:
        """Whether its labels are those of true movements, which can be predicted ahead and traded."""
        return self.rules is None or self.rules.of_movements

    def official(self, days: NDArray[np.datetime64], source: str) -> tuple[str, ...] | None:
        """The split of each target day, where the protocol says it; else the shares do."""
        if self.rules is None and self.borders is None and len(days):
            return None
        borders = _days(self.borders or ()) if self.rules is None else self.rules.borders[1:3]
        part = np.searchsorted(borders, days, side="right")
        counts = np.bincount(part, minlength=len(SPLITS))
        if not counts.all():
            named = ", ".join(f"{name} {count}" for name, count in zip(SPLITS, counts, strict=True))
            span = f"from {days[0]} to {days[-1]}" if len(days) else "on no day"
            rule = f"{source}: every split needs days with a movement to label. Got {named}, {span}. "
            raise DataError(rule, *_fix_of_empty(self))
        return tuple(SPLITS[place] for place in part)

    @property
    def dead_zone(self) -> tuple[float, float]:
        """Movements from the first number to the second, the second excluded, have no label."""
        down, up = self.rules.dead_zone if self.rules else (self.down, self.up)
        return -down, up


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PublishedProtocol:
    """What a published protocol fixes.

    borders: `(4,)` first day of each split, and the day after the last.
    dead_zone: Falls up to the first and rises below the second have no label.
    by_calendar: Slots are the trading days of so many calendar days, and texts are read by their day alone.
    literal: Whether it has a literal form.
    refused: Fields that it cannot have, with the reason.
    of_movements: Whether its labels are those of true movements; others are in `samples.CUTS`.
    """

    borders: NDArray[np.datetime64]
    dead_zone: tuple[float, float] = (0.0, 0.0)
    by_calendar: bool = False
    literal: bool = False
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    of_movements: bool = True


PUBLISHED: dict[str, PublishedProtocol] = {}
"""By name; rooms above add theirs."""


def published_protocol() -> dict[str, PublishedProtocol]:
    """Published protocols by name."""
    load_extensions("stock protocols")
    return PUBLISHED


def protocol_names() -> tuple[str, ...]:
    """Every protocol that is known."""
    return (CHRONOLOGICAL, *published_protocol())


def movement_labels(movement: NDArray[np.float64], protocol: StockProtocol) -> NDArray[np.int8]:
    """1 for a rise, 0 for none, -1 where the movement is unknown or too small for a label."""
    known = np.isfinite(movement)
    rounded = np.round(np.where(known, movement, 0.0), DIGITS)
    low, high = protocol.dead_zone
    labelled = known & ~((rounded >= low) & (rounded < high))
    labels: NDArray[np.int8] = np.where(labelled, rounded > 0, -1).astype(np.int8)
    return labels


def _fix_of_empty(protocol: StockProtocol) -> tuple[str | Fix, ...]:
    if protocol.rules is None:
        return ("Give more days, other borders, or a smaller dead zone.",)
    first, last = protocol.rules.borders[0], protocol.rules.borders[-1] - np.timedelta64(1, "D")
    needs = f"It needs prices from {first} to {last}; use the protocol {CHRONOLOGICAL} for other data ("
    return needs, Fix("protocol.name", CHRONOLOGICAL), ")."


def _days(texts: Sequence[str]) -> NDArray[np.datetime64]:
    for text in texts:
        try:
            np.datetime64(text, "D")
        except ValueError:
            raise ValueError(f"borders are days like 2015-08-01. Got {text!r}") from None
    return np.array(texts, dtype="datetime64[D]")


def refuse_tomorrow(protocol: StockProtocol) -> None:
    """Refuse to look ahead with labels that are no movements."""
    if not protocol.of_movements:
        others = " or ".join(name for name in protocol_names() if StockProtocol(name=name).of_movements)
        raise ConfigError(
            f"protocol: {protocol.name} predicts ratios of standardised prices, which say nothing about the next "
            f"session. Got {protocol.name}. Train with the protocol {others} to predict."
        )
