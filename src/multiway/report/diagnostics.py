"""Where the error lies, how the model came to be, and what it costs: by step, variate and epoch."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from multiway.report import charts, text
from multiway.report.charts import ChartSeries
from multiway.report.scales import (
    Scale,
    Tick,
    axis_numbers,
    axis_ticks,
    number_ticks,
    order_models,
    scale_of,
    title,
)
from multiway.report.sections import Bar, Bars, Chart, Timeline

MAX_BARS = 40


def step_lines(
    lines: charts.Lines,
    what: str,
    *,
    from_zero: bool = False,
    claims: Sequence[tuple[float, str, str]] = (),
    x_title: str = "step of the horizon",
) -> charts.Drawing:
    """Lines over steps, such as those of the horizon; `claims` are (level, style, label)."""
    length = max((np.size(values) for _, values in lines.values()), default=1)
    steps = np.arange(1, length + 1, dtype=float)
    across = Scale(1.0, float(max(length, 2)))
    up = scale_of([*(values for _, values in lines.values()), [value for value, _, _ in claims]], from_zero=from_zero)
    ticks = [Tick(0.0, "1")]
    if length > 1:  # round steps between the first and the last that do not crowd them
        ticks += [tick for tick in number_ticks(across, 6) if 0.06 < tick.place < 0.94 and "." not in tick.label]
        ticks.append(Tick(1.0, f"{length}"))
    return charts.line_drawing(
        lines,
        across.place(steps),
        [f"step {step:.0f}" for step in steps],
        up,
        ticks,
        describes=text.sentence_case(what),
        x_title=x_title,
        marks=[charts.level(float(up.place(value)), style, label) for value, style, label in claims],
    )


def variate_bars(
    names: Sequence[str], errors: Mapping[str, npt.ArrayLike], colours: Mapping[str, int], metric: str
) -> Bars | None:
    """Error of each variate, the worst by the chosen (or first) model first; other models are marks on the bars."""
    models = order_models(errors, colours)
    if not models or not len(names):
        return None
    values = {model: np.asarray(errors[model], float) for model in models}
    first = values[models[0]]
    largest = max(float(np.nanmax(array, initial=0.0)) for array in values.values()) or 1.0
    decimals = text.decimals_for(first)
    rows = np.argsort(-np.nan_to_num(first, nan=-1.0), kind="stable")[:MAX_BARS]

    def mark(model: str, row: int) -> tuple[str, int, float, str]:
        value = float(values[model][row])
        return title(model), colours[model], round(100 * value / largest, 2), text.number(value, decimals)

    bars = []
    for row in rows:
        (_, colour, width, words), *marks = (mark(model, row) for model in models)
        known = [item for item in marks if np.isfinite(item[2])]
        bars.append(Bar(names[row], words, float(np.nan_to_num(width)), colour, marks=known))
    return Bars(
        title=f"{metric}, by series, worst first",
        bars=bars,
        legend=[(title(model), f"{'m' if index else 'f'}{colours[model]}") for index, model in enumerate(models)],
        note=f"The worst {len(bars)} of {len(first)} series are listed." if len(first) > len(bars) else "",
    )


class TrainingRow(NamedTuple):
    """One point of a training curve; `epoch` may be a fraction, `train` or `validation` may be absent."""

    epoch: float
    train: float | None = None
    validation: float | None = None
    seed: int | None = None


def training_chart(rows: Sequence[TrainingRow], kept: Sequence[float] = ()) -> Chart:
    """Training and validation loss by epoch, one pair of lines per seed.

    kept: Epochs whose weights were kept, by the runs' own record.
    """
    seeds = sorted({row.seed for row in rows}, key=lambda seed: (seed is not None, seed or 0))
    epochs = sorted({row.epoch for row in rows})
    across = scale_of([epochs], margin=0.01)
    lines = {}
    for kind, style in (("train", "t0"), ("validation", "t1")):
        for seed in seeds:
            losses = {row.epoch: getattr(row, kind) for row in rows if row.seed == seed}
            name = f"{kind}, seed {seed}" if len(seeds) > 1 else kind
            lines[name] = style, np.array([losses.get(epoch) for epoch in epochs], float)
    drawing = charts.line_drawing(
        lines,
        across.place(epochs),
        [f"epoch {epoch:g}" for epoch in epochs],
        scale_of([values for _, values in lines.values()]),
        number_ticks(across, 6),
        describes="Loss by epoch",
        height=200,
        x_title="epoch",
        marks=[charts.rule(float(across.place(epoch)), "best", "kept" if len(kept) == 1 else "") for epoch in kept],
    )
    return Chart(drawing=drawing, title="Loss by epoch", legend=[("training", "t0"), ("validation", "t1")])


def epoch_chart(title: str, named: Mapping[str, Mapping[float, float]]) -> Chart:
    """One line per run over its epochs.

    title: What the values are.
    named: Values by epoch, by the name of a run.
    """
    epochs = sorted({epoch for values in named.values() for epoch in values})
    across, up = scale_of([epochs], margin=0.01), scale_of([list(values.values()) for values in named.values()])
    styles = {name: f"s{position}" for position, name in enumerate(named)}
    drawing = charts.Drawing(
        curves=[
            charts.curve_path(across.place(list(values)), up.place(list(values.values())), styles[name])
            for name, values in reversed(list(named.items()))
        ],
        x_ticks=number_ticks(across, 6),
        y_ticks=number_ticks(up, 5),
        at=across.place(epochs),
        words=[f"epoch {epoch:g}" for epoch in epochs],
        series=[
            charts.ChartSeries(name, styles[name], np.array([values.get(epoch, np.nan) for epoch in epochs]))
            for name, values in named.items()
        ],
        describes=f"{title}: {text.listing(list(named))}.",
        x_title="epoch",
    )
    return Chart(drawing=drawing, title=title, legend=list(styles.items()))


def timeline(names: Sequence[str], ends: Sequence[pd.Index]) -> Timeline:
    """Stretches along the time that they cover; `ends` are the first and last time of each."""
    numbers = axis_numbers(ends)
    across = scale_of(numbers, margin=0)
    places = [100 * across.place(pair) for pair in numbers]
    blocks = [
        (name, round(float(first), 2), round(float(last - first), 2))
        for name, (first, last) in zip(names, places, strict=True)
    ]
    return Timeline(blocks=blocks, ticks=axis_ticks(ends, across, 8))


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
    drawing = charts.line_drawing(
        {"weights": ("s0", heights), "normal": ("s1", normal)},
        across.place(middles),
        [f"{value:.3g}" for value in middles],
        scale_of([heights, normal], from_zero=True),
        number_ticks(across, 6),
        describes=f"Density of {name}",
        height=HEIGHT,
        x_title="weight",
    )
    return Chart(drawing=drawing, title=name, legend=[("weights", "s0"), ("normal", "s1")])


def spread_chart(name: str, epochs: Sequence[float], quantiles: npt.ArrayLike) -> Chart:
    """Quantiles of weights by epoch, `(epochs, 5)`: median, the half about it, and nine tenths."""
    low, lower, middle, upper, high = np.asarray(quantiles, float).T
    across = scale_of([epochs], margin=0.01)
    bands = [ChartSeries("half of them", "b0", lower, upper), ChartSeries("nine tenths", "b1", low, high)]
    drawing = charts.line_drawing(
        {"median": ("s0", middle)},
        across.place(epochs),
        [f"epoch {epoch:g}" for epoch in epochs],
        scale_of([low, high]),
        number_ticks(across, 6),
        describes=f"Spread of {name} by epoch",
        bands=bands,
        height=HEIGHT,
        x_title="epoch",
    )
    return Chart(drawing=drawing, title=f"{name} by epoch", legend=[("median", "s0"), ("spread", "b0")])
