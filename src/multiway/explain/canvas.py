"""Figures of matplotlib that leave its global state alone."""

from typing import TYPE_CHECKING

from multiway.extras import load_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float, dpi: int) -> "Figure":
    """An empty figure of a size in inches, to be drawn off screen.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    load_extra("matplotlib", "Drawing figures", "explain")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure
