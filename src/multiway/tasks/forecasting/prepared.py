"""From a file to windows: what every later step of a run starts from."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from multiway.data import (
    Borders,
    Panel,
    Scaler,
    Windows,
    borders_of,
    read_panel,
    season_of,
    split_windows,
    young_series,
)  # fmt: skip
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.floor import Floor, fit_floor


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared:
    """A panel, split, scaled by its training rows, and cut into windows.

    windows: Of each split; of later data, which is not split, the same ones under every name.
    young: Series without a value in the training rows: in no window, scaled by all rows that they have.
    notes: What a reader of the scores should know about data and splits, one line each.
    """

    panel: Panel
    borders: Borders
    scaler: Scaler
    windows: Mapping[str, Windows]
    young: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """File name, or "frame"."""
        return self.panel.source

    @functools.cached_property
    def floor(self) -> Floor:
        """The ridge forecast, fitted when it is first needed."""
        return fit_floor(self.windows["train"], self.windows["validation"])

    def content(self) -> Iterator[object]:
        """Names, times and values of the panel."""
        yield from (self.panel.names, self.panel.times.to_numpy(), self.panel.values)


def prepare(config: ForecastConfig, source: Any) -> Prepared:
    """Read, split, scale and window; whatever can be wrong with the data shows here, before anything is written.

    Raises:
        DataError: The file has a flaw that no policy covers, or is too short.
        ConfigError: The split contradicts the data.
    """
    panel = read_panel(source, config.read)
    panel.future_times(1)  # a step that is unknown is unknown before the training, too
    borders = borders_of(panel, config.split)
    young = young_series(panel, borders)
    scaler = Scaler.fit(panel.values[slice(*borders.train)])
    scaled = scaler.transform(np.where(young, np.nan, panel.values))
    windows = split_windows(scaled, borders, config.lookback, config.horizon)
    if young.any():
        scaler = scaler.taking(Scaler.fit(panel.values), young)
    notes = (*panel.notes, *_notes(config, season_in(config, panel)))
    names = tuple(name for name, is_young in zip(panel.names, young, strict=True) if is_young)
    return Prepared(panel=panel, borders=borders, scaler=scaler, windows=windows, young=names, notes=notes)


def season_in(config: ForecastConfig, panel: Panel) -> int:
    """Steps in a season: as configured, or from the frequency."""
    return config.season or season_of(panel.frequency)


def _notes(config: ForecastConfig, season: int) -> tuple[str, ...]:
    if season <= config.lookback:
        return ()
    words = f"The season of {season} steps is longer than the look-back of {config.lookback}: seasonal_naive is naive."
    return (words,)
