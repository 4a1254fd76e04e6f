"""The data of a run, of its training or later, as windows beside the ridge forecast of them."""

import dataclasses
import functools
from typing import Any

from multiway.data import Panel, read_panel, season_of
from multiway.data.series import later
from multiway.data.series.panel import targets_last
from multiway.data.series.prepared import PreparedPanel
from multiway.data.series.state import ForecastState
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.floor import Floor, fit_floor


class Prepared(PreparedPanel):
    """A panel cut into windows, and ridge."""

    @functools.cached_property
    def floor(self) -> Floor:
        """The ridge forecast, fitted when it is first needed."""
        return fit_floor(self.windows["train"].of_targets(), self.windows["validation"].of_targets())


def prepare(config: ForecastConfig, source: Any) -> Prepared:
    """Read a file or frame and cut it into windows; see `PreparedPanel.of`.

    Raises:
        DataError: The file has a flaw that no policy covers, or is too short.
        ConfigError: The split contradicts the data.
    """
    panel = targets_last(read_panel(source, config.read), config.targets)
    prepared = Prepared.of(panel, config.split, config.lookback, config.horizon, config.num_targets)
    notes = _notes(config, season_in(config, prepared.panel))
    return dataclasses.replace(prepared, notes=(*prepared.notes, *notes))


def season_in(config: ForecastConfig, panel: Panel) -> int:
    """Steps in a season: as configured, or from the frequency."""
    return config.season or season_of(panel.frequency)


def _notes(config: ForecastConfig, season: int) -> tuple[str, ...]:
    if season <= config.lookback:
        return ()
    words = f"The season of {season} steps is longer than the look-back of {config.lookback}: seasonal_naive is naive."
    return (words,)


def read_later(config: ForecastConfig, state: ForecastState, source: Any) -> Panel:
    """Read a file or frame as a run read its own; see `multiway.data.series.later`."""
    return later.read_later(source, config.read, state.names, state.frequency)


def prepare_later(config: ForecastConfig, state: ForecastState, source: Any) -> Prepared:
    """Read later data and cut it into windows; see `PreparedPanel.later`."""
    panel, sizes = read_later(config, state, source), (config.lookback, config.horizon, config.num_targets)
    return Prepared.later(panel, state.scaler, *sizes)
