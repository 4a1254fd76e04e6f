"""From a panel to windows: what every later step of a run starts from."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Self

import numpy as np

from multiway.data.series.later import all_windows
from multiway.data.series.leaky import NOTE, leaky_windows
from multiway.data.series.panel import Panel
from multiway.data.series.scaling import Scaler
from multiway.data.series.splits import LEAKY, Borders, SplitOptions, borders_of, whole_borders, young_series
from multiway.data.series.windows import Windows, split_windows
from multiway.errors import DataError


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreparedPanel:
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

    @classmethod
    def of(cls, panel: Panel, split: SplitOptions, lookback: int, horizon: int, num_targets: int | None = None) -> Self:
        """Split, scale and window; whatever can be wrong with the data shows here, before anything is written.

        Args:
            panel: The series.
            split: Which rows are trained on, and which are scored.
            lookback: Past steps per window.
            horizon: Future steps per window.
            num_targets: The last so many variates are forecast; all if not given.

        Raises:
            DataError: The panel is too short, or its step is not known.
            ConfigError: The split contradicts the data.
        """
        panel.future_times(1)  # a step that is unknown is unknown before the training, too
        borders = borders_of(panel, split)
        young = young_series(panel, borders)
        if split.protocol == LEAKY:
            return cls._leaky(panel, split.seed, lookback, horizon, num_targets)
        scaler = Scaler.fit(panel.values[slice(*borders.train)])
        scaled = scaler.transform(np.where(young, np.nan, panel.values))
        windows = split_windows(scaled, borders, lookback, horizon, num_targets)
        if young.any():
            scaler = scaler.taking(Scaler.fit(panel.values), young)
        names = tuple(name for name, is_young in zip(panel.names, young, strict=True) if is_young)
        return cls(panel=panel, borders=borders, scaler=scaler, windows=windows, young=names, notes=panel.notes)

    @classmethod
    def _leaky(cls, panel: Panel, seed: int, lookback: int, horizon: int, num_targets: int | None) -> Self:
        """Scale by all rows and put overlapping windows into halves, as a published protocol does."""
        scaler, borders = Scaler.of_range(panel.values), whole_borders(panel.num_rows)
        windows = leaky_windows(all_windows(panel, scaler, lookback, horizon, num_targets), seed, panel.source)
        return cls(panel=panel, borders=borders, scaler=scaler, windows=windows, notes=(*panel.notes, NOTE))

    @classmethod
    def later(cls, panel: Panel, scaler: Scaler, lookback: int, horizon: int, num_targets: int | None = None) -> Self:
        """Windows over all rows of later data, to score.

        Raises:
            DataError: There are too few rows for one window, or there is no value to compare with.
        """
        windows = all_windows(panel, scaler, lookback, horizon, num_targets)
        if np.isnan(panel.values[lookback:, -windows.num_targets :]).all():
            raise DataError(f"{panel.source}: no value to score stands after the first {lookback} rows. Give more.")
        borders = whole_borders(panel.num_rows)
        found = dict.fromkeys(borders.by_name(), windows)
        return cls(panel=panel, borders=borders, scaler=scaler, windows=found, notes=panel.notes)

    @property
    def source(self) -> str:
        """File name, or "frame"."""
        return self.panel.source

    def content(self) -> Iterator[object]:
        """Names, times and values of the panel."""
        yield from (self.panel.names, self.panel.times.to_numpy(), self.panel.values)
