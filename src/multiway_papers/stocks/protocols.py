"""Which days are targets, what may be known by then, what counts as a movement; and what published protocols fix."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from multiway.data.samples import SPLITS
from multiway.errors import ConfigError, DataError, Fix
from multiway_papers.stocks.config import CHRONOLOGICAL, StockProtocol, parse_days, protocol_names
from multiway_papers.stocks.panel import DIGITS


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


def find_official(protocol: StockProtocol, days: NDArray[np.datetime64], source: str) -> tuple[str, ...] | None:
    """The split of each target day, where the protocol says it; else the shares do."""
    if protocol.rules is None and protocol.borders is None and len(days):
        return None
    borders = parse_days(protocol.borders or ()) if protocol.rules is None else protocol.rules.borders[1:3]
    part = np.searchsorted(borders, days, side="right")
    counts = np.bincount(part, minlength=len(SPLITS))
    if not counts.all():
        named = ", ".join(f"{name} {count}" for name, count in zip(SPLITS, counts, strict=True))
        span = f"from {days[0]} to {days[-1]}" if len(days) else "on no day"
        rule = f"{source}: every split needs days with a movement to label. Got {named}, {span}. "
        if protocol.rules is None:
            raise DataError(rule, "Give more days, other borders, or a smaller dead zone.")
        first, last = protocol.rules.borders[0], protocol.rules.borders[-1] - np.timedelta64(1, "D")
        needs = f"It needs prices from {first} to {last}; use the protocol {CHRONOLOGICAL} for other data ("
        raise DataError(rule, needs, Fix("protocol.name", CHRONOLOGICAL), ").")
    return tuple(SPLITS[place] for place in part)


def movement_labels(movement: NDArray[np.float64], protocol: StockProtocol) -> NDArray[np.int8]:
    """1 for a rise, 0 for none, -1 where the movement is unknown or too small for a label."""
    known = np.isfinite(movement)
    rounded = np.round(np.where(known, movement, 0.0), DIGITS)
    low, high = protocol.dead_zone
    labelled = known & ~((rounded >= low) & (rounded < high))
    labels: NDArray[np.int8] = np.where(labelled, rounded > 0, -1).astype(np.int8)
    return labels


def refuse_tomorrow(protocol: StockProtocol) -> None:
    """Refuse to look ahead with labels that are no movements."""
    if not protocol.of_movements:
        others = " or ".join(name for name in protocol_names() if StockProtocol(name=name).of_movements)
        raise ConfigError(
            f"protocol: {protocol.name} predicts ratios of standardised prices, which say nothing about the next "
            f"session. Got {protocol.name}. Train with the protocol {others} to predict."
        )
