"""Charts as HTML with SVG inside: the data stretch with the page, the text keeps its size.

Grid lines and labels are HTML placed in percent; only curves are SVG, with strokes that do not scale. A
chart therefore reads as well on a phone as on a wide screen, and takes its colours from the style sheet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from multiway.report import text
from multiway.report.scales import Floats, Scale, Tick, number_ticks

WIDTH, HEIGHT = 4000, 2000  # of the view box: whole numbers then place a point to a quarter of a pixel
MAX_POINTS = 600
Lines = Mapping[str, tuple[str, npt.ArrayLike]]
"""(style, values) by name."""


class ChartSeries(NamedTuple):
    """What a chart reads out under the pointer; `values` are the lower edge of a band where it has an upper one."""

    name: str
    style: str
    values: npt.ArrayLike
    upper: npt.ArrayLike | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Drawing:
    """Curves in axes.

    curves: What `curve` and `band` return, back to front.
    x_ticks: Where the time or step axis is labelled.
    y_ticks: Where the value axis is labelled and grid lines run.
    at: Places on the axis, from 0 to 1, where `series` are read out, and `words` for each.
    describes: What the chart shows, for readers who do not see it.
    height: Of the plot, in CSS pixels.
    x_title: What the horizontal axis counts.
    marks: HTML within the plot, such as `rule`.
    label_width: Characters kept for the labels of the value axis, so that charts of a row align.
    """

    curves: Sequence[Markup]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    at: Floats
    words: Sequence[str]
    series: Sequence[ChartSeries]
    describes: str
    height: int = 230
    x_title: str = ""
    marks: Sequence[Markup] = ()
    label_width: int = 0

    @property
    def widest_label(self) -> int:
        """Characters of the value axis."""
        return max((len(tick.label) for tick in self.y_ticks), default=1)


@dataclass(slots=True)
class Readouts:
    """What the script shows under the pointer on one page; charts share axes."""

    axes: list[dict[str, Any]] = field(default_factory=list)
    charts: list[dict[str, Any]] = field(default_factory=list)

    def number(self, item: Drawing) -> int:
        """Keep what a chart reads out and return the chart's number."""
        axis = {
            "x": [round(float(position), 4) for position in item.at],
            "t": [text.name(label) for label in item.words],
        }
        if axis not in self.axes:
            self.axes.append(axis)
        self.charts.append({"a": self.axes.index(axis), "s": [_entry(series) for series in item.series]})
        return len(self.charts) - 1


def _entry(item: ChartSeries) -> dict[str, Any]:
    """A series from its first known value on."""
    values = _shorts(item.values)
    start = next((index for index, value in enumerate(values) if value is not None), 0)
    upper = {} if item.upper is None else {"w": _shorts(item.upper)[start:]}
    return {"n": text.name(item.name), "c": item.style, "o": start, "v": values[start:], **upper}


def curve_path(places: Floats, heights: Floats, style: str, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Markup:
    """Draw a line through points placed from 0 to 1; a missing point breaks it. `size` is that of the view box."""
    return _path(f"line {style}", path_data(places, heights, size))


def band(places: Floats, low: Floats, high: Floats, style: str) -> Markup:
    """Fill between two lines, in pieces where either is missing."""
    data = ""
    for piece in _runs(np.isfinite(low) & np.isfinite(high)):
        x, below, above = places[piece], low[piece], high[piece]
        data += path_data(np.append(x, x[::-1]), np.append(below, above[::-1])) + "z"
    return _path(f"band {style}", data)


def _path(style: str, data: str) -> Markup:
    return Markup('<path class="{}" d="{}"/>').format(style, data) if data else Markup("")


def path_data(places: Floats, heights: Floats, size: tuple[int, int] = (WIDTH, HEIGHT)) -> str:
    """Path of an SVG: absolute starts, then short relative steps in whole units."""
    x = np.round(places * size[0])
    y = np.round((1 - heights) * size[1])
    parts = []
    for piece in _runs(np.isfinite(x) & np.isfinite(y)):
        xs, ys = x[piece].astype(int), y[piece].astype(int)
        steps = "".join(f"l{dx} {dy}" for dx, dy in zip(np.diff(xs), np.diff(ys), strict=True))
        parts.append(f"M{xs[0]} {ys[0]}{steps or 'h0'}".replace(" -", "-"))
    return "".join(parts)


def thin(values: Floats) -> npt.NDArray[np.intp]:
    """Rows to keep of a long line: the lowest and the highest of each stretch, so that no peak is lost."""
    if len(values) <= MAX_POINTS:
        return np.arange(len(values))
    kept = {0, len(values) - 1}
    for stretch in np.array_split(np.arange(len(values)), MAX_POINTS // 2):
        if np.isfinite(values[stretch]).any():
            kept |= {int(stretch[np.nanargmin(values[stretch])]), int(stretch[np.nanargmax(values[stretch])])}
    return np.array(sorted(kept))


def line_drawing(
    named: Lines,
    at: Floats,
    words: Sequence[str],
    up: Scale,
    x_ticks: Sequence[Tick],
    *,
    describes: str,
    bands: Sequence[ChartSeries] = (),
    most: int = 5,
    **rest: Any,
) -> Drawing:
    """Lines over one axis, the first in front, with all their values to read out.

    Args:
        named: (style, values) by name.
        at: Places on the axis, and `words` for each.
        words: What is said of a place.
        up: Scale of the values.
        x_ticks: Where the axis is labelled.
        describes: What the lines are; their names are added.
        bands: Drawn behind the lines, the first in front.
        most: Ticks of the values.
        rest: More of the `Drawing`.
    """
    series, curves = [*(ChartSeries(name, *line) for name, line in named.items()), *bands], []
    for item in reversed(series):
        low = up.place(np.atleast_1d(item.values))
        if item.upper is None:
            curves.append(curve_path(at[: len(low)], low, item.style))
        else:
            curves.append(band(at, low, up.place(item.upper), item.style))
    return Drawing(
        curves=curves,
        x_ticks=x_ticks,
        y_ticks=number_ticks(up, most),
        at=at,
        words=words,
        series=series,
        describes=f"{describes}: {text.listing([item.name for item in series])}.",
        **rest,
    )


def rule(position: float, style: str, label: str = "") -> Markup:
    """Draw an upright line across the plot, with a word at its head, on the side that has room."""
    style = f"{style} end" if position > 0.8 else style
    return Markup('<i class="{}" style="left:{}%"><b>{}</b></i>').format(f"rule {style}", pct(position), label)


def level(position: float, style: str, label: str = "") -> Markup:
    """Draw a level line across the plot, with a word at its right end."""
    return Markup('<i class="{}" style="bottom:{}%"><b>{}</b></i>').format(f"level {style}", pct(position), label)


def signs(style: str, places: Floats, heights: Floats, size: str, sizes: Floats) -> list[Markup]:
    """Signs at points, each of its own size; see `sign`."""
    return [sign(style, x, y, size, length) for x, y, length in zip(places, heights, sizes, strict=True)]


def sign(style: str, position: float, height: float, size: str, length: float) -> Markup:
    """A sign at a point.

    size: Declarations of the style sheet with a place for its length, such as `height:{}%`.
    """
    shape = Markup('<i class="{}" style="left:{}%;bottom:{}%;' + size + '"></i>')
    return shape.format(style, pct(position), pct(height), round(float(length), 2))


def _runs(known: npt.NDArray[np.bool_]) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    return [slice(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _shorts(values: npt.ArrayLike) -> list[float | None]:
    """Five digits are more than a chart can show; JSON has no word for what is not finite."""
    array = np.ravel(np.asarray(values, float))
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in array]


def pct(share: float) -> str:
    """Write a place in percent, as styles take it."""
    return f"{share * 100:.2f}".rstrip("0").rstrip(".")
