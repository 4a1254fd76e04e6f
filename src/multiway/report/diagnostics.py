"""Where the error lies and how the model came to be: by step, by variate, coverage, training, splits."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from multiway.report import charts, text
from multiway.report.content import CoverageRow, SplitSpan, StepErrors, TrainingRow, VariateErrors
from multiway.report.palette import in_order, title
from multiway.report.scales import (
    Floats,
    Scale,
    Tick,
    axis_numbers,
    axis_ticks,
    number_ticks,
    scale_of,
    stamps_in_words,
)

MAX_BARS = 200
OPEN_BARS = 24


def step_chart(errors: StepErrors, colours: Mapping[str, int], readouts: charts.Readouts) -> Markup:
    """Error by step of the horizon, one line per model."""
    models = in_order(errors.lines, colours)
    lines = {title(model): (f"s{colours[model]}", np.asarray(errors.lines[model], float)) for model in models}
    return step_lines(lines, f"{errors.metric} by step of the horizon", readouts, from_zero=True)


def coverage_chart(rows: Sequence[CoverageRow], readouts: charts.Readouts) -> Markup | None:
    """Coverage by step of the horizon, with the claimed level ruled; `None` where no row has steps."""
    known = [row for row in rows if row.by_step is not None]
    if not known:
        return None
    lines = {
        f"{row.level:g} % band": (f"v{min(index, 2)}", np.asarray(row.by_step, float))
        for index, row in enumerate(known)
    }
    claims = [(row.level, f"v{min(index, 2)}", f"{row.level:g} % claimed") for index, row in enumerate(known)]
    return step_lines(lines, "coverage in percent by step of the horizon", readouts, claims=claims)


def step_lines(
    lines: Mapping[str, tuple[str, Floats]],
    what: str,
    readouts: charts.Readouts,
    *,
    from_zero: bool = False,
    claims: Sequence[tuple[float, str, str]] = (),
) -> Markup:
    """Lines over the steps of the horizon, (style, values) by name; `claims` are (level, style, label)."""
    length = max((len(values) for _, values in lines.values()), default=1)
    steps = np.arange(1, length + 1, dtype=float)
    across = Scale(1.0, float(max(length, 2)))
    up = scale_of([*(values for _, values in lines.values()), [value for value, _, _ in claims]], from_zero=from_zero)
    axis = readouts.axis(across.place(steps), [f"step {step:.0f}" for step in steps])
    series = [charts.Series(name, style, values) for name, (style, values) in lines.items()]
    return charts.frame(
        [
            charts.curve(across.place(steps[: len(values)]), charts.places_of(up, values), style)
            for style, values in reversed(list(lines.values()))
        ],
        _step_ticks(length, across),
        number_ticks(up, 5),
        describes=f"{text.sentence_case(what)}: {text.listing(list(lines))}.",
        height=230,
        x_title="step of the horizon",
        marks=[charts.level(float(up.place(value)), style, label) for value, style, label in claims],
        readout=readouts.chart(axis, series),
    )


def _step_ticks(length: int, across: Scale) -> list[Tick]:
    """First and last step, and round steps between that do not crowd them."""
    found = [tick for tick in number_ticks(across, 6) if 0.06 < tick.place < 0.94 and "." not in tick.label]
    return [Tick(0.0, "1"), *found, Tick(1.0, f"{length}")] if length > 1 else [Tick(0.0, "1")]


class Bar(NamedTuple):
    """One variate: its error under the first model as a bar, under others as marks, places in percent."""

    name: str
    value: str
    width: float
    marks: list[tuple[str, int, float, str]]


class Bars(NamedTuple):
    """Variates, the worst first; those beyond `OPEN_BARS` are folded away."""

    model: str
    colour: int
    others: list[tuple[str, int]]
    bars: list[Bar]
    note: str


def variate_bars(errors: VariateErrors, colours: Mapping[str, int]) -> Bars | None:
    """Error by variate, worst first by the chosen (or first) model."""
    models = in_order(errors.bars, colours)
    if not models or not len(errors.names):
        return None
    values = {model: np.asarray(errors.bars[model], float) for model in models}
    first = values[models[0]]
    worst_first = np.argsort(-np.nan_to_num(first, nan=-1.0), kind="stable")[:MAX_BARS]
    largest = max((float(np.nanmax(array, initial=0.0)) for array in values.values()), default=1.0) or 1.0
    decimals = text.decimals_for(first[np.isfinite(first)])
    bars = [
        Bar(
            name=errors.names[row],
            value=text.number(float(first[row]), decimals),
            width=round(100 * float(np.nan_to_num(first[row])) / largest, 2),
            marks=[
                (
                    title(model),
                    colours[model],
                    round(100 * float(values[model][row]) / largest, 2),
                    text.number(float(values[model][row]), decimals),
                )
                for model in models[1:]
                if np.isfinite(values[model][row])
            ],
        )
        for row in worst_first
    ]
    note = f"The worst {len(bars)} of {len(first)} variates are listed." if len(first) > len(bars) else ""
    others = [(title(model), colours[model]) for model in models[1:]]
    return Bars(title(models[0]), colours[models[0]], others, bars, note)


class CoverageLine(NamedTuple):
    """One level: claimed and measured in percent, how far apart in points, and the mean width."""

    claimed: str
    actual: str
    gap: str
    width: str
    style: str


def coverage_lines(rows: Sequence[CoverageRow]) -> list[CoverageLine]:
    """Set the table of claimed against measured coverage."""
    widths = [row.width for row in rows if row.width is not None]
    decimals = text.decimals_for(widths)
    return [
        CoverageLine(
            claimed=text.percent(row.level, 0 if float(row.level).is_integer() else 1),
            actual=text.percent(row.actual),
            gap=text.signed(row.actual - row.level, 1),
            width=text.number(row.width, decimals) if row.width is not None else "",
            style=f"v{min(index, 2)}",
        )
        for index, row in enumerate(rows)
    ]


def training_chart(rows: Sequence[TrainingRow], readouts: charts.Readouts) -> Markup:
    """Training and validation loss by epoch, one pair of lines per seed, the epoch of the kept weights marked."""
    seeds = sorted({row.seed for row in rows}, key=lambda seed: (seed is not None, seed or 0))
    across = scale_of([[row.epoch for row in rows]], margin=0.01)
    losses = [value for row in rows for value in (row.train, row.validation) if value is not None]
    up = scale_of([losses])
    curves, series = [], []
    epochs = sorted({row.epoch for row in rows})
    axis = readouts.axis(across.place(epochs), [f"epoch {epoch:g}" for epoch in epochs])
    for kind, style in (("train", "t0"), ("validation", "t1")):
        for seed in seeds:
            values = _losses(rows, seed, kind, epochs)
            known = np.isfinite(values)
            curves.append(charts.curve(across.place(epochs)[known], charts.places_of(up, values[known]), style))
            label = f"{kind}, seed {seed}" if len(seeds) > 1 else kind
            series.append(charts.Series(label, style, values))
    return charts.frame(
        curves,
        number_ticks(across, 6),
        number_ticks(up, 5),
        describes="Training and validation loss by epoch.",
        height=200,
        x_title="epoch",
        marks=[charts.rule(float(across.place(epoch)), "best", "best") for epoch in _best_epochs(rows, seeds)],
        readout=readouts.chart(axis, series),
    )


def _losses(rows: Sequence[TrainingRow], seed: int | None, kind: str, epochs: Sequence[float]) -> Floats:
    found = {row.epoch: getattr(row, kind) for row in rows if row.seed == seed and getattr(row, kind) is not None}
    return np.array([found.get(epoch, np.nan) for epoch in epochs], float)


def _best_epochs(rows: Sequence[TrainingRow], seeds: Sequence[int | None]) -> list[float]:
    if len(seeds) > 1:
        return []
    scored = [(-row.score, row.epoch) for row in rows if row.score is not None]
    known = scored or [(row.validation, row.epoch) for row in rows if row.validation is not None]
    return (
        [min(pair for pair in known if np.isfinite(pair[0]))[1]] if any(np.isfinite(pair[0]) for pair in known) else []
    )


class Block(NamedTuple):
    """One split on the time line, places in percent."""

    name: str
    left: float
    width: float
    first: str
    last: str
    rows: str
    windows: str


class Timeline(NamedTuple):
    """The splits in order of time, with ticks."""

    blocks: list[Block]
    ticks: list[Tick]
    has_windows: bool


def timeline(splits: Sequence[SplitSpan]) -> Timeline:
    """Place the splits along the time they cover."""
    ends = [pd.Index([split.first, split.last]) for split in splits]
    numbers = axis_numbers(ends)
    across = scale_of(numbers, margin=0)
    words = [stamps_in_words(pair) for pair in ends]
    blocks = [
        Block(
            name=split.name,
            left=round(100 * float(across.place(pair[0])), 2),
            width=round(100 * float(across.place(pair[1]) - across.place(pair[0])), 2),
            first=word[0],
            last=word[1],
            rows=text.count(split.rows),
            windows="" if split.windows is None else text.count(split.windows),
        )
        for split, pair, word in zip(splits, numbers, words, strict=True)
    ]
    return Timeline(blocks, axis_ticks(ends, across, 8), any(split.windows is not None for split in splits))
