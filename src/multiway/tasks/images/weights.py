"""How the weights of a network are spread, and how that changes with the epochs (NdLinear, figures 9 and 10)."""

import math
import re
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from multiway.report import charts
from multiway.report.charts import Series
from multiway.report.scales import number_ticks, scale_of
from multiway.report.sections import Chart, Part
from multiway.tasks.run import Run

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 41
MOST = 6
"""Charts of either kind."""
Quantiles = dict[str, list[float]]
"""By the name of a weight, one value for each of `QUANTILES`."""


def check_pattern(pattern: str | None) -> None:
    """Refuse what is no regular expression.

    Raises:
        ValueError: It is none.
    """
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ValueError(f"weights is a pattern of names, such as hidden. Got {pattern!r}: {error}") from None


def matrices_of(model: nn.Module, pattern: str) -> dict[str, Tensor]:
    """Weights of two axes or more whose names have the pattern in them."""
    found = model.named_parameters()
    return {name: weight.detach() for name, weight in found if weight.ndim > 1 and re.search(pattern, name)}


def quantiles_of(model: nn.Module, pattern: str) -> Quantiles:
    """How the values of each of these weights are spread."""
    levels = torch.tensor(QUANTILES)
    return {
        name: torch.quantile(weight.float().cpu().flatten(), levels).tolist()
        for name, weight in matrices_of(model, pattern).items()
    }


def weights_part(run: Run, pattern: str) -> Part:
    """The weights that were kept, and how their spread came about."""
    side = [
        "Above, the weights of the kept epoch: their density, and that of a normal distribution of the same spread.",
        "Below, their median by epoch, half of them in the dark band and nine tenths in the light one.",
    ]
    kept = [_density(name, weight) for name, weight in [*matrices_of(run.model, pattern).items()][:MOST]]
    return Part(id="weights", title="Weights", side=side, content=[*kept, *_by_epoch(run)])


def _density(name: str, weight: Tensor) -> Chart:
    values = weight.flatten().double().numpy()
    centre, spread = float(values.mean()), float(values.std()) or 1.0
    heights, edges = np.histogram(values, bins=BINS, density=True)
    middles = (edges[1:] + edges[:-1]) / 2
    normal = np.exp(-(((middles - centre) / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
    across = scale_of([middles], margin=0.01)
    drawing = charts.lines(
        {"weights": ("s0", heights), "normal": ("s1", normal)}, across.place(middles),
        [f"{value:.3g}" for value in middles], scale_of([heights, normal], from_zero=True), number_ticks(across, 6),
        describes=f"Density of {name}", height=160, x_title="weight",
    )  # fmt: skip
    return Chart(drawing=drawing, title=name, legend=[("weights", "s0"), ("normal", "s1")])


def _by_epoch(run: Run) -> Iterator[Chart]:
    """A chart for each weight that the log watched."""
    log = [row for row in (run.folder.read_log() if run.folder else []) if row.get("watched")]
    for name in [*(log[0]["watched"] if log else {})][:MOST]:
        low, lower, middle, upper, high = np.array([row["watched"][name] for row in log], float).T
        epochs = [float(row["epoch"]) for row in log]
        across = scale_of([epochs], margin=0.01)
        bands = [Series("half of them", "b0", lower, upper), Series("nine tenths", "b1", low, high)]
        yield Chart(
            drawing=charts.lines(
                {"median": ("s0", middle)}, across.place(epochs), [f"epoch {epoch:g}" for epoch in epochs],
                scale_of([low, high]), number_ticks(across, 6), describes=f"Spread of {name} by epoch", bands=bands,
                height=160, x_title="epoch",
            ),
            title=f"{name} by epoch", legend=[("median", "s0"), ("spread", "b0")],
        )  # fmt: skip
