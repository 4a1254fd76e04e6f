"""Where training, validation and test targets lie: always in the order of time."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import list_some
from multiway.data.scaling import Scaler
from multiway.errors import ConfigError, DataError, Fix
from multiway.tasks.forecasting.calendar import time_like
from multiway.tasks.forecasting.config import SplitOptions, find_published_split
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.sizes import Borders

if TYPE_CHECKING:  # a check of rows does without windows, and without torch
    from multiway.auditing import WindowSplit
    from multiway.tasks.forecasting.windows import Windows

ETT_MONTHS = (12, 4, 4)
ETT_NAMES = ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")
ETT_FREQUENCIES = {"h": "ett_hourly", "15min": "ett_quarter_hourly"}
ETT_STEPS = {"ett_hourly": 24, "ett_quarter_hourly": 96}
"""Of a day."""
FEWEST = 10
"""Values that scale a series without a training value: their deviation is off by about a quarter."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class PublishedSplit:
    """A way to scale and split windows that was published and leaks, added by an entry point of `multiway.splits`.

    note: What it is worth, for whoever reads its scores.
    scale: From all rows, `(time, variates)`.
    split: Of all windows, by a seed, with the name of the data: windows of every split.
    audited: The windows as an audit looks at them.
    """

    note: str
    scale: Callable[[NDArray[np.float64]], Scaler]
    split: "Callable[[Windows, int, str], dict[str, Windows]]"
    audited: "Callable[[Panel, Mapping[str, Windows], Scaler], WindowSplit]"


def borders_of(panel: Panel, options: SplitOptions) -> Borders:
    """Borders of a panel under the chosen protocol.

    `auto` means the ETT borders for a panel with the columns, step and length of an ETT file, else `fraction`: the
    first `int(train * rows)` rows, the last `int(test * rows)` rows, and validation between them.

    Raises:
        DataError: The panel is too short for the protocol, or a date lies outside it.
        ConfigError: The options contradict themselves.
    """
    protocol = _detect(panel) if options.protocol == "auto" else options.protocol
    if find_published_split(protocol) is not None:
        return whole_borders(panel.num_rows)
    if protocol == "dates":
        return date_borders(panel.times, options.validation_start, options.test_start)
    if protocol == "fraction":
        rows, train, test = panel.num_rows, options.train, options.test
        first, last = int(train * rows), rows - int(test * rows)
        if not 0 < first < last < rows:
            raise ConfigError(f"split: shares train={train} and test={test} of {rows} rows leave no row for one split.")
        return Borders.at(first, last, rows)
    borders = ett_borders(protocol)
    if borders.test[1] > panel.num_rows:
        raise DataError(
            f"{panel.source}: the protocol {protocol} uses {borders.test[1]:,} rows. Got {panel.num_rows:,}. "
            f"Set protocol to fraction or dates (",
            Fix("split.protocol", "fraction"),
            ").",
        )
    return borders


def _detect(panel: Panel) -> str:
    protocol = ETT_FREQUENCIES.get(panel.frequency or "")
    is_ett = panel.names == ETT_NAMES and protocol is not None and panel.num_rows >= ett_borders(protocol).test[1]
    return protocol if protocol is not None and is_ett else "fraction"


def ett_borders(protocol: str) -> Borders:
    """12, 4 and 4 months of 30 days, as every published ETT table uses; later rows are unused."""
    return Borders.at(*itertools.accumulate(months * 30 * ETT_STEPS[protocol] for months in ETT_MONTHS))


def whole_borders(rows: int) -> Borders:
    """All rows in every split."""
    return Borders(train=(0, rows), validation=(0, rows), test=(0, rows))


def date_borders(times: pd.Index, validation_start: str | None, test_start: str | None) -> Borders:
    """Split at two times: validation starts at the first row not before one, test at the other."""
    if validation_start is None or test_start is None:
        raise ConfigError(
            "split: the protocol `dates` needs validation_start and test_start. Set both (",
            Fix("split.validation_start", like="DATE"),
            " ",
            Fix("split.test_start", like="DATE"),
            ").",
        )
    first, last = (_row_of(times, moment) for moment in (validation_start, test_start))
    if not 0 < first < last < len(times):
        raise DataError(
            f"split: validation_start={validation_start} is row {first} and test_start={test_start} is row {last} of "
            f"{len(times)}; each split needs rows. The data goes from {times[0]} to {times[-1]}."
        )
    return Borders.at(first, last, len(times))


def _row_of(times: pd.Index, moment: str) -> int:
    try:
        return int(times.searchsorted(time_like(times, moment)))
    except (ValueError, TypeError):
        raise ConfigError(f"split: {moment!r} is not a time like {times[0]}.") from None


def young_series(panel: Panel, borders: Borders) -> NDArray[np.bool_]:
    """Which series have no value before validation, `(variates,)`: nothing can be learnt from them."""
    young = np.asarray(np.isnan(panel.values[slice(*borders.train)]).all(0))
    for name, (start, stop) in {"": (0, panel.num_rows), **borders.by_name()}.items():
        empty = np.asarray(np.isnan(panel.values[start:stop]).all(0))
        if empty[~young].all() or (not name and empty.any()):
            shown = ", ".join(panel.names[index] for index in np.flatnonzero(empty)[:5])
            where = f"in the {name} rows, {panel.times[start]} to {panel.times[stop - 1]}" if name else "at all"
            raise DataError(
                f"{panel.source}: {shown} has no value {where}. Leave it out with variates (",
                Fix("read.variates", like="NAME,NAME"),
                "), or move the split.",
            )
    return young


def first_scored(panel: Panel, young: NDArray[np.bool_], borders: Borders, season: int) -> NDArray[np.int64]:
    """First target row of the windows that score each series, `(variates,)`: young ones follow what scales them."""
    counts = (~np.isnan(panel.values)).cumsum(0)
    behind = (counts < max(season, FEWEST)).sum(0) + 1
    return np.where(young, np.maximum(behind, borders.test[0]), 0)


def until(values: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Values before a row of each series; NaN from there on."""
    return np.where(np.arange(len(values))[:, None] < rows, values, np.nan)


def words_on_young(names: Sequence[str]) -> str:
    """What becomes of series without a value in the training rows."""
    return (
        f"{list_some(names)}: no value in the training rows, so nothing is learnt there; the forecast is by what the "
        f"other series taught, on the scale of the values before the test rows, at least a season and {FEWEST} of "
        "them, and scored after these; its bands are at least as wide as its last values suggest"
    )
