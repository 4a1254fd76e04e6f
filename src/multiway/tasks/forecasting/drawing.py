"""History, forecast and bands of series as a figure of matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from multiway.explain.figures import new_figure
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.protocol import OURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HORIZONS = 4
"""Steps of history that are drawn, in horizons."""


def plot_forecast(panel: Panel, frame: pd.DataFrame, names: Sequence[str], levels: Sequence[float]) -> "Figure":
    """Draw one chart a series, the widest band behind the others; each has its own scale, in the units of the file.

    Args:
        panel: The history.
        frame: Its forecast, long, with bands of these levels in percent.
        names: Series to draw.
        levels: Of the bands.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    figure = new_figure(8, 2.2 * len(names) + 0.4, dpi=100)
    charts = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for name, axes in zip(names, charts, strict=True):
        ahead = frame[frame["unique_id"] == name]
        rows = max(HORIZONS * len(ahead), 1)
        past = panel.values[-rows:, panel.names.index(name)]
        axes.plot(panel.times[-rows:], past, color="0.3", label="history")
        axes.plot(ahead["ds"], ahead[OURS], color="C0", label="forecast")
        for level in sorted(levels, reverse=True):
            edges = (ahead[f"{OURS}-{side}-{level:g}"] for side in ("lo", "hi"))
            axes.fill_between(ahead["ds"], *edges, color="C0", alpha=0.2, linewidth=0, label=f"{level:g} % band")
        axes.set_title(name, loc="left", fontsize=10)
    charts[0].legend(loc="upper left", fontsize=8)
    figure.autofmt_xdate()
    return figure
