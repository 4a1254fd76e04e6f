"""What a score costs: the score over the time of a training, its memory as the size of a dot, and both as bars."""

from collections.abc import Callable, Mapping

import numpy as np

from multiway.report import charts, text
from multiway.report.palette import NUM_COLOURS
from multiway.report.scales import number_ticks, scale_of
from multiway.report.sections import Bar, Bars, Chart

LARGEST = 26
"""Pixels across the dot of the largest memory; areas are as the memories."""


def _colour(number: int) -> int:
    return number % NUM_COLOURS


def cost_chart(
    title: str, scores: Mapping[str, float], seconds: Mapping[str, float], memory: Mapping[str, int]
) -> Chart:
    """One dot per name.

    Args:
        title: What the scores are.
        scores: By name.
        seconds: Of a training.
        memory: Bytes of a step.
    """
    names = list(scores)
    x, y, held = (np.array([each[name] for name in names], float) for each in (seconds, scores, memory))
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
        series=[charts.Series(title, "v0", y[rows])],
        describes=f"{title} over the time of training: {text.listing(names)}. Larger dots take more memory.",
        x_title="seconds",
        marks=[charts.sign("dot", *place) for place in places],
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
