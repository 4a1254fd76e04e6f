"""Where the error lies, how the model came to be, and what it costs: by step, variate and epoch."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from multiway.report import charts, text
from multiway.report.charts import ChartSeries
from multiway.report.scales import (
    NUM_COLOURS,
    Floats,
    Scale,
    Tick,
    axis_numbers,
    axis_ticks,
    chosen_first,
    number_ticks,
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
    return charts.line_drawing(
        lines,
        across.place(steps),
        [f"step {step:.0f}" for step in steps],
        up,
        _step_ticks(length, across),
        describes=text.sentence_case(what),
        x_title=x_title,
        marks=[charts.level(float(up.place(value)), style, label) for value, style, label in claims],
    )


def _step_ticks(length: int, across: Scale) -> list[Tick]:
    """First and last step, and round steps between that do not crowd them."""
    ticks = [tick for tick in number_ticks(across, 6) if 0.06 < tick.place < 0.94 and "." not in tick.label]
    return [Tick(0.0, "1"), *ticks, Tick(1.0, f"{length}")] if length > 1 else [Tick(0.0, "1")]


def variate_bars(
    names: Sequence[str], errors: Mapping[str, npt.ArrayLike], colours: Mapping[str, int], metric: str
) -> Bars | None:
    """Error of each variate, the worst by the chosen (or first) model first; other models are marks on the bars."""
    models = chosen_first(errors, colours)
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
    lines = {
        f"{kind}, seed {seed}" if len(seeds) > 1 else kind: (style, _losses(rows, seed, kind, epochs))
        for kind, style in (("train", "t0"), ("validation", "t1"))
        for seed in seeds
    }
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


def _losses(rows: Sequence[TrainingRow], seed: int | None, kind: str, epochs: Sequence[float]) -> Floats:
    losses = {row.epoch: getattr(row, kind) for row in rows if row.seed == seed}
    return np.array([losses.get(epoch) for epoch in epochs], float)


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


LARGEST = 26
"""Pixels across the dot of the largest memory; areas are as the memories."""


def _colour(number: int) -> int:
    return number % NUM_COLOURS


def cost_chart(
    title: str, scores: Mapping[str, float], seconds: Mapping[str, float], memory: Mapping[str, int]
) -> Chart:
    """One dot per name."""
    names = list(scores)
    x, y, held = (np.array([values[name] for name in names], float) for values in (seconds, scores, memory))
    across, up = scale_of([x], from_zero=True), scale_of([y])
    sizes = LARGEST * np.sqrt(held / held.max())
    styles = [f"--size:{{}}px;background:var(--c{_colour(number)})" for number in range(len(names))]
    places = zip(across.place(x), up.place(y), styles, sizes, strict=True)
    rows = np.argsort(x, kind="stable")
    drawing = charts.Drawing(
        curves=[],
        x_ticks=number_ticks(across, 6),
        y_ticks=number_ticks(up, 5),
        at=across.place(x[rows]),
        words=[f"{names[row]}: {text.duration(x[row])}, {text.magnitude(held[row], 'B')}" for row in rows],
        series=[charts.ChartSeries(title, "v0", y[rows])],
        describes=f"{title} over the time of training: {text.listing(names)}. Larger dots take more memory.",
        x_title="seconds",
        marks=[charts.sign("dot", *position) for position in places],
    )
    legend = [(name, f"f{_colour(number)}") for number, name in enumerate(names)]
    return Chart(drawing=drawing, title=f"{title} over the time of training", legend=legend)


def cost_bars(title: str, values: Mapping[str, float], words: Callable[[float], str]) -> Bars:
    """One bar per name, in its colour."""
    largest = max(values.values()) or 1.0
    bars = [
        Bar(name, words(value), round(100 * value / largest, 2), _colour(number))
        for number, (name, value) in enumerate(values.items())
    ]
    return Bars(title=title, bars=bars)


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
        {"weights": ("s0", heights), "normal": ("s1", normal)}, across.place(middles),
        [f"{value:.3g}" for value in middles], scale_of([heights, normal], from_zero=True), number_ticks(across, 6),
        describes=f"Density of {name}", height=HEIGHT, x_title="weight",
    )  # fmt: skip
    return Chart(drawing=drawing, title=name, legend=[("weights", "s0"), ("normal", "s1")])


def spread_chart(name: str, epochs: Sequence[float], quantiles: npt.ArrayLike) -> Chart:
    """Quantiles of weights by epoch, `(epochs, 5)`: median, the half about it, and nine tenths."""
    low, lower, middle, upper, high = np.asarray(quantiles, float).T
    across = scale_of([epochs], margin=0.01)
    bands = [ChartSeries("half of them", "b0", lower, upper), ChartSeries("nine tenths", "b1", low, high)]
    drawing = charts.line_drawing(
        {"median": ("s0", middle)}, across.place(epochs), [f"epoch {epoch:g}" for epoch in epochs],
        scale_of([low, high]), number_ticks(across, 6), describes=f"Spread of {name} by epoch", bands=bands,
        height=HEIGHT, x_title="epoch",
    )  # fmt: skip
    return Chart(drawing=drawing, title=f"{name} by epoch", legend=[("median", "s0"), ("spread", "b0")])
