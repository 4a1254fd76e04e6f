"""Later data: read under the policies of earlier data, in their order of series, at their step, under their scaling."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pandas as pd
from torch import Tensor

from multiway.data.options import ReadOptions
from multiway.data.series.panel import Panel, match_panel
from multiway.data.series.reading import read_panel
from multiway.data.series.scaling import Scaler
from multiway.data.series.windows import Windows, observed_rows
from multiway.errors import DataError


def read_later(source: Any, options: ReadOptions, names: Sequence[str], frequency: str | None) -> Panel:
    """Read a file or frame under a run's policies and bring its columns into the run's order by name.

    Raises:
        DataError: It lacks a series, or its rows are not as far apart as those of the training.
    """
    panel = match_panel(_read(source, options.replace(variates=tuple(names))), names)
    return _at_frequency(panel, frequency, strict=options.gaps != "ignore")


def _read(source: Any, options: ReadOptions) -> Panel:
    """Read under a run's policies; a fix that is an option is one of training."""
    try:
        return read_panel(source, options)
    except DataError as error:
        if "(--" not in str(error):
            raise
        raise DataError(f"{error} A run keeps the options it was trained with: fix the file, or train anew.") from None


def _at_frequency(panel: Panel, frequency: str | None, *, strict: bool) -> Panel:
    """Take over a run's step, also where the panel is too short to infer one; if strict, only where it follows it.

    Raises:
        DataError: The rows are not that far apart.
    """
    if frequency is None or not isinstance(panel.times, pd.DatetimeIndex):
        return panel
    if not strict or _follows(panel.times, frequency):
        return dataclasses.replace(panel, frequency=frequency)
    raise DataError(
        f"{panel.source}: the run was trained on steps of {frequency}; these rows follow "
        f"{panel.frequency or 'no regular step'}. Resample them, or train a run on them."
    )


def _follows(times: pd.DatetimeIndex, frequency: str) -> bool:
    """Whether most stamps are on the grid of the step, and most of the grid is there."""
    grid = pd.date_range(times[0], times[-1], freq=frequency)
    return bool(len(grid)) and bool(min(times.isin(grid).mean(), grid.isin(times).mean()) > 0.5)


def all_windows(panel: Panel, scaler: Scaler, lookback: int, horizon: int, num_targets: int | None = None) -> Windows:
    """Every window of a panel, scaled; the last so many variates are targets, all if not given.

    Raises:
        DataError: There are too few rows for one.
    """
    if panel.num_rows < lookback + horizon:
        raise DataError(
            f"{panel.source}: one window needs {lookback + horizon} rows (lookback {lookback}, horizon {horizon}); "
            f"there are {panel.num_rows}. Give more."
        )
    values, observed = observed_rows(scaler.transform(panel.values))
    stop = panel.num_rows
    return Windows(values, observed, start=0, stop=stop, lookback=lookback, horizon=horizon, num_targets=num_targets)


def last_window(panel: Panel, scaler: Scaler, lookback: int) -> tuple[Tensor, Tensor | None]:
    """The last look-back of a panel, scaled, as a batch of one, and which cells are there.

    Raises:
        DataError: The panel has fewer rows.
    """
    rows = panel.num_rows
    if rows < lookback:
        raise DataError(f"{panel.source}: a forecast needs {lookback} steps of history; there are {rows}. Give more.")
    values, observed = observed_rows(scaler.transform(panel.values[rows - lookback :]))
    return values[None], None if observed is None else observed[None]
