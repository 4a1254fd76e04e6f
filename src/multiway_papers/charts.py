"""Charts of published tables: scores over the size of a model, and over what its training costs."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from multiway.report import charts, text
from multiway.report.scales import NUM_COLOURS, Floats, Scale, Tick, number_ticks, scale_of
from multiway.report.sections import Bar, Bars, Chart

Sizes = Mapping[int, float]
"""Values by size."""
ROOM = 0.25
"""Doublings left free at either end."""


def size_chart(title: str, named: Mapping[str, Sizes], *, x_title: str, claims: Mapping[str, float]) -> Chart:
    """One line per name over the sizes that any of them has."""
    sizes = sorted({size for values in named.values() for size in values})
    at = Scale(math.log2(sizes[0]) - ROOM, math.log2(sizes[-1]) + ROOM).place([math.log2(size) for size in sizes])
    rows = {name: np.array([values.get(size, math.nan) for size in sizes]) for name, values in named.items()}
    is_count = all(isinstance(value, int) for values in named.values() for value in values.values())
    heights = {name: np.log10(values) if is_count else values for name, values in rows.items()}
    up = scale_of([*heights.values(), [] if is_count else list(claims.values())])
    whole: Floats = np.arange(math.ceil(up.low), math.floor(up.high) + 1, dtype=float)
    powers = [Tick(float(up.place(power)), f"{10**power:,.0f}") for power in whole]
    styles = {name: f"s{position}" for position, name in enumerate(named)}
    drawing = charts.Drawing(
        curves=[charts.curve_path(at, up.place(heights[name]), styles[name]) for name in reversed(list(named))],
        x_ticks=[Tick(float(position), str(size)) for position, size in zip(at, sizes, strict=True)],
        y_ticks=powers if is_count else number_ticks(up, 5),
        at=at,
        words=[f"{x_title} {size}" for size in sizes],
        series=[charts.ChartSeries(name, styles[name], values) for name, values in rows.items()],
        describes=f"{title} over {x_title}: {text.listing(list(named))}.",
        x_title=x_title,
        marks=[charts.level(float(up.place(value)), "t0", words) for words, value in claims.items()],
    )
    return Chart(drawing=drawing, title=title, legend=list(styles.items()))


LARGEST = 26
"""Pixels across the dot of the largest memory; areas are as the memories."""


def cost_chart(
    title: str, scores: Mapping[str, float], seconds: Mapping[str, float], memory: Mapping[str, int]
) -> Chart:
    """One dot per name."""
    names = list(scores)
    x, y, held = (np.array([values[name] for name in names], float) for values in (seconds, scores, memory))
    across, up = scale_of([x], from_zero=True), scale_of([y])
    sizes = LARGEST * np.sqrt(held / held.max())
    styles = [f"--size:{{}}px;background:var(--c{number % NUM_COLOURS})" for number in range(len(names))]
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
    legend = [(name, f"f{number % NUM_COLOURS}") for number, name in enumerate(names)]
    return Chart(drawing=drawing, title=f"{title} over the time of training", legend=legend)


def cost_bars(title: str, values: Mapping[str, float], words: Callable[[float], str]) -> Bars:
    """One bar per name, in its colour."""
    largest = max(values.values()) or 1.0
    bars = [
        Bar(name, words(value), round(100 * value / largest, 2), number % NUM_COLOURS)
        for number, (name, value) in enumerate(values.items())
    ]
    return Bars(title=title, bars=bars)
