"""From a file to windows: what every later step of a run starts from."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data import Borders, Panel, Scaler, Windows, borders_of, read_panel, season_of, split_windows
from multiway.data import datasets as known
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.evaluation import mase_scales


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared:
    """A panel, split, scaled by its training rows, and cut into windows."""

    panel: Panel
    borders: Borders
    scaler: Scaler
    windows: dict[str, Windows]
    season: int
    mase_scale: NDArray[np.float64]


def locate(data: str) -> str:
    """Path of a file, or of the known data set of that name."""
    return str(known.dataset_path(data)) if known.is_dataset(data) else data


def prepare(config: ForecastConfig, source: Any) -> Prepared:
    """Read, split, scale and window.

    Raises:
        DataError: The file has a flaw that no policy covers, or is too short.
        ConfigError: The split contradicts the data.
    """
    panel = read_panel(source, config.read)
    borders = borders_of(panel, config.split)
    scaler = Scaler.fit(panel.values[slice(*borders.train)])
    scaled = scaler.transform(panel.values)
    season = config.season or season_of(panel.frequency)
    return Prepared(
        panel=panel,
        borders=borders,
        scaler=scaler,
        windows=split_windows(scaled, borders, config.lookback, config.horizon),
        season=season,
        mase_scale=mase_scales(scaled[slice(*borders.train)], season),
    )
