"""Charts of what a model gives over its size: doublings along the axis, counts in powers of ten."""

import math
from collections.abc import Mapping

import numpy as np

from multiway.report import charts, text
from multiway.report.scales import Floats, Scale, Tick, number_ticks, scale_of
from multiway.report.sections import Chart

Sizes = Mapping[int, float]
"""Values by size."""
ROOM = 0.25
"""Doublings left free at either end."""


def size_chart(title: str, named: Mapping[str, Sizes], *, x_title: str, claims: Mapping[str, float]) -> Chart:
    """One line per name over the sizes that any of them has.

    Args:
        title: What the values are.
        named: Values by size, by name; counts where all are whole numbers, which are drawn in powers of ten.
        x_title: What the sizes count.
        claims: Level lines by their words.
    """
    sizes = sorted({size for values in named.values() for size in values})
    at = Scale(math.log2(sizes[0]) - ROOM, math.log2(sizes[-1]) + ROOM).place([math.log2(size) for size in sizes])
    rows = {name: np.array([values.get(size, math.nan) for size in sizes]) for name, values in named.items()}
    is_count = all(isinstance(value, int) for values in named.values() for value in values.values())
    heights = {name: np.log10(values) if is_count else values for name, values in rows.items()}
    up = scale_of([*heights.values(), [] if is_count else list(claims.values())])
    styles = {name: f"s{place}" for place, name in enumerate(named)}
    drawing = charts.Drawing(
        curves=[charts.curve(at, up.place(heights[name]), styles[name]) for name in reversed(list(named))],
        x_ticks=[Tick(float(place), str(size)) for place, size in zip(at, sizes, strict=True)],
        y_ticks=_powers(up) if is_count else number_ticks(up, 5),
        at=at,
        words=[f"{x_title} {size}" for size in sizes],
        series=[charts.Series(name, styles[name], values) for name, values in rows.items()],
        describes=f"{title} over {x_title}: {text.listing(list(named))}.",
        x_title=x_title,
        marks=[charts.level(float(up.place(value)), "t0", words) for words, value in claims.items()],
    )
    return Chart(drawing=drawing, title=title, legend=list(styles.items()))


def _powers(up: Scale) -> list[Tick]:
    """Whole powers of ten, written out."""
    powers: Floats = np.arange(math.ceil(up.low), math.floor(up.high) + 1, dtype=float)
    return [Tick(float(up.place(power)), f"{10**power:,.0f}") for power in powers]
