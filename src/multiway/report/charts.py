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


class Series(NamedTuple):
    """What a chart reads out under the pointer.

    start: Place of the first value on the axis, as a number of points.
    upper: Upper edge, where `values` are the lower edge of a band.
    """

    name: str
    style: str
    values: npt.ArrayLike
    start: int = 0
    upper: npt.ArrayLike | None = None


class Readout(NamedTuple):
    """An axis, places from 0 to 1 with a label for each, and what is read out along it."""

    places: Floats
    labels: Sequence[str]
    series: Sequence[Series]


class Drawing(NamedTuple):
    """A chart: what `frame` was given, the SVG inside, and what the script reads out."""

    inner: Markup
    describes: str
    height: int
    label_width: int
    readout: Readout | None = None


@dataclass(slots=True)
class Readouts:
    """What the script shows under the pointer on one page; charts share axes."""

    axes: list[dict[str, Any]] = field(default_factory=list)
    charts: list[dict[str, Any]] = field(default_factory=list)

    def number(self, readout: Readout) -> int:
        """Keep what a chart reads out and return the chart's number."""
        axis = {
            "x": [round(float(place), 4) for place in readout.places],
            "t": [text.name(label) for label in readout.labels],
        }
        if axis not in self.axes:
            self.axes.append(axis)
        self.charts.append({"a": self.axes.index(axis), "s": [_series_entry(item) for item in readout.series]})
        return len(self.charts) - 1


def _series_entry(item: Series) -> dict[str, Any]:
    entry = {"n": text.name(item.name), "c": item.style, "o": item.start, "v": _shorts(item.values)}
    return entry if item.upper is None else {**entry, "w": _shorts(item.upper)}


def curve(places: Floats, heights: Floats, style: str) -> Markup:
    """Draw a line through points placed from 0 to 1; a missing point breaks it."""
    data = path_data(places, heights)
    return Markup('<path class="{}" d="{}"/>').format(f"line {style}", data) if data else Markup("")


def band(places: Floats, low: Floats, high: Floats, style: str) -> Markup:
    """Fill between two lines, in pieces where either is missing."""
    known = np.isfinite(low) & np.isfinite(high)
    pieces = []
    for piece in _runs(known):
        outline_x = np.concatenate([places[piece], places[piece][::-1]])
        outline_y = np.concatenate([low[piece], high[piece][::-1]])
        pieces.append(path_data(outline_x, outline_y) + "z")
    return Markup('<path class="{}" d="{}"/>').format(f"band {style}", "".join(pieces)) if pieces else Markup("")


def path_data(places: Floats, heights: Floats) -> str:
    """Path of an SVG: absolute starts, then short relative steps in whole units."""
    x = np.round(places * WIDTH)
    y = np.round((1 - heights) * HEIGHT)
    parts = []
    for piece in _runs(np.isfinite(x) & np.isfinite(y)):
        xs, ys = x[piece].astype(int), y[piece].astype(int)
        steps = "".join(f"l{dx} {dy}" for dx, dy in zip(np.diff(xs), np.diff(ys), strict=True))
        parts.append(f"M{xs[0]} {ys[0]}{steps or 'h0'}".replace(" -", "-"))
    return "".join(parts)


def thin(values: Floats, most: int = MAX_POINTS) -> npt.NDArray[np.intp]:
    """Rows to keep of a long line: the lowest and the highest of each stretch, so that no peak is lost."""
    if len(values) <= most:
        return np.arange(len(values))
    kept = {0, len(values) - 1}
    for stretch in np.array_split(np.arange(len(values)), most // 2):
        if np.isfinite(values[stretch]).any():
            kept |= {int(stretch[np.nanargmin(values[stretch])]), int(stretch[np.nanargmax(values[stretch])])}
    return np.array(sorted(kept))


def frame(
    curves: Sequence[Markup],
    x_ticks: Sequence[Tick],
    y_ticks: Sequence[Tick],
    *,
    describes: str,
    height: int = 220,
    x_title: str = "",
    marks: Sequence[Markup] = (),
    readout: Readout | None = None,
    label_width: int | None = None,
) -> Drawing:
    """Set curves into axes.

    Args:
        curves: What `curve` and `band` return, back to front.
        x_ticks: Where the time or step axis is labelled.
        y_ticks: Where the value axis is labelled and grid lines run.
        describes: What the chart shows, for readers who do not see it.
        height: Of the plot, in CSS pixels.
        x_title: What the horizontal axis counts.
        marks: HTML within the plot, such as `rule`.
        readout: What is read out under the pointer.
        label_width: Characters kept for the labels of the value axis, so that charts of a row align.
    """
    inner = Markup(
        '<div class="ys">{ys}</div><div class="plot">{grid}{marks}'
        '<svg viewBox="0 0 {w} {h}" preserveAspectRatio="none" aria-hidden="true">{curves}</svg></div>'
        '<div class="xs">{xs}</div>{title}'
    ).format(
        ys=_join(Markup('<span style="bottom:{}%">{}</span>').format(_pct(t.place), t.label) for t in y_ticks),
        grid=_join(Markup('<i class="g" style="bottom:{}%"></i>').format(_pct(t.place)) for t in y_ticks),
        marks=_join(marks),
        w=WIDTH,
        h=HEIGHT,
        curves=_join(curves),
        xs=_join(_x_label(tick, index, len(x_ticks)) for index, tick in enumerate(x_ticks)),
        title=Markup('<div class="xt">{}</div>').format(x_title) if x_title else "",
    )
    width = label_width or max((len(tick.label) for tick in y_ticks), default=1)
    return Drawing(inner, describes, height, width, readout)


def lines(
    named: Lines,
    at: Floats,
    words: Sequence[str],
    up: Scale,
    x_ticks: Sequence[Tick],
    *,
    describes: str,
    bands: Sequence[Series] = (),
    height: int = 230,
    x_title: str = "",
    marks: Sequence[Markup] = (),
) -> Drawing:
    """Lines over one axis, the first in front, with all their values to read out.

    Args:
        named: (style, values) by name.
        at: Places on the axis, and `words` for each.
        words: What is said of a place.
        up: Scale of the values.
        x_ticks: Where the axis is labelled.
        describes: What the lines are; their names are added.
        bands: Drawn behind the lines.
        height: Of the plot, in CSS pixels.
        x_title: What the axis counts.
        marks: HTML within the plot.
    """
    drawn = [
        curve(at[: len(np.atleast_1d(values))], places_of(up, values), style)
        for style, values in reversed(list(named.values()))
    ]
    behind = [
        band(at, places_of(up, item.values), places_of(up, item.upper), item.style)
        for item in bands
        if item.upper is not None
    ]
    series = [Series(name, style, values) for name, (style, values) in named.items()]
    return frame(
        [*behind, *drawn],
        x_ticks,
        number_ticks(up, 5),
        describes=f"{describes}: {text.listing(list(named))}.",
        height=height,
        x_title=x_title,
        marks=marks,
        readout=Readout(at, words, [*series, *bands]),
    )


def rule(place: float, style: str, label: str = "") -> Markup:
    """Draw an upright line across the plot, with a word at its head, on the side that has room."""
    style = f"{style} end" if place > 0.8 else style
    return Markup('<i class="{}" style="left:{}%"><b>{}</b></i>').format(f"rule {style}", _pct(place), label)


def level(place: float, style: str, label: str = "") -> Markup:
    """Draw a level line across the plot, with a word at its right end."""
    return Markup('<i class="{}" style="bottom:{}%"><b>{}</b></i>').format(f"level {style}", _pct(place), label)


def places_of(scale: Scale, values: npt.ArrayLike) -> Floats:
    """Places of values; what is not finite becomes NaN."""
    array = np.asarray(values, float)
    return scale.place(np.where(np.isfinite(array), array, np.nan))


def _x_label(tick: Tick, index: int, total: int) -> Markup:
    """Where there is little room, the "minor" labels go: every second one, but never the last."""
    is_minor = index == total - 2 if total - index <= 2 and total > 2 and total % 2 == 0 else index % 2 == 1
    is_minor = is_minor and index != total - 1
    side = "first" if tick.place < 0.03 else "last" if tick.place > 0.97 else ""
    style = " ".join(part for part in (side, "minor" if is_minor else "") if part)
    attribute = Markup(' class="{}"').format(style) if style else ""
    return Markup('<span{} style="left:{}%">{}</span>').format(attribute, _pct(tick.place), text.name(tick.label))


def _runs(known: npt.NDArray[np.bool_]) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    return [slice(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _shorts(values: npt.ArrayLike) -> list[float | None]:
    """Five digits are more than a chart can show; JSON has no word for what is not finite."""
    array = np.ravel(np.asarray(values, float))
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in array]


def _pct(place: float) -> str:
    return f"{place * 100:.2f}".rstrip("0").rstrip(".")


def _join(parts: Any) -> Markup:
    return Markup("").join(parts)
