"""How weights are spread: their density, and their quantiles by epoch (NdLinear, figures 9 and 10)."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from multiway.report import charts
from multiway.report.charts import Series
from multiway.report.scales import number_ticks, scale_of
from multiway.report.sections import Chart

BINS = 41
HEIGHT = 160


def density_chart(name: str, weights: npt.ArrayLike) -> Chart:
    """Density of weights, and that of a normal distribution of the same centre and spread."""
    values = np.asarray(weights, float).ravel()
    centre, spread = float(values.mean()), float(values.std()) or 1.0
    heights, edges = np.histogram(values, bins=BINS, density=True)
    middles = (edges[1:] + edges[:-1]) / 2
    normal = np.exp(-(((middles - centre) / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
    across = scale_of([middles], margin=0.01)
    drawing = charts.lines(
        {"weights": ("s0", heights), "normal": ("s1", normal)}, across.place(middles),
        [f"{value:.3g}" for value in middles], scale_of([heights, normal], from_zero=True), number_ticks(across, 6),
        describes=f"Density of {name}", height=HEIGHT, x_title="weight",
    )  # fmt: skip
    return Chart(drawing=drawing, title=name, legend=[("weights", "s0"), ("normal", "s1")])


def spread_chart(name: str, epochs: Sequence[float], quantiles: npt.ArrayLike) -> Chart:
    """Quantiles of weights by epoch, `(epochs, 5)`: median, the half about it, and nine tenths."""
    low, lower, middle, upper, high = np.asarray(quantiles, float).T
    across = scale_of([epochs], margin=0.01)
    bands = [Series("half of them", "b0", lower, upper), Series("nine tenths", "b1", low, high)]
    drawing = charts.lines(
        {"median": ("s0", middle)}, across.place(epochs), [f"epoch {epoch:g}" for epoch in epochs],
        scale_of([low, high]), number_ticks(across, 6), describes=f"Spread of {name} by epoch", bands=bands,
        height=HEIGHT, x_title="epoch",
    )  # fmt: skip
    return Chart(drawing=drawing, title=f"{name} by epoch", legend=[("median", "s0"), ("spread", "b0")])
