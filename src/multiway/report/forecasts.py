"""Forecasts as small charts, one per variate: history, what happened, each model's line, and the bands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from multiway.report import charts, text
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

MAX_PANELS = 24


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ForecastPanel:
    """The forecast of one variate at one place in time, in original units.

    name: The variate.
    group: Which forecast: "Last test window", "Future". Panels of one group are shown together.
    history_times, history: What came before, `(past,)` each; NaN where missing.
    times: `(horizon,)`, the forecast's own time stamps or integers.
    lines: Forecast `(horizon,)` per model.
    actual: What happened, `(horizon,)`, NaN where missing; `None` where nobody knows yet.
    bands: Lower and upper `(horizon,)` per level in percent, {80: (low, high)}.
    """

    name: str
    times: pd.Index
    lines: Mapping[str, npt.ArrayLike]
    group: str = "Forecast"
    history_times: pd.Index | None = None
    history: npt.ArrayLike | None = None
    actual: npt.ArrayLike | None = None
    bands: Mapping[float, tuple[npt.ArrayLike, npt.ArrayLike]] = field(default_factory=dict)


class Panel(NamedTuple):
    """One small chart."""

    name: str
    chart: charts.Drawing


class Group(NamedTuple):
    """The charts of one forecast, and a word about those left out."""

    title: str
    span: str
    panels: list[Panel]
    note: str
    levels: list[str]
    has_actual: bool
    models: list[tuple[str, int]]


def groups(panels: Sequence[ForecastPanel], colours: Mapping[str, int]) -> list[Group]:
    """Sort panels into their groups, in the order given."""
    found: dict[str, list[ForecastPanel]] = {}
    for panel in panels:
        found.setdefault(panel.group, []).append(panel)
    return [_group(name, members, colours) for name, members in found.items()]


def _group(name: str, members: Sequence[ForecastPanel], colours: Mapping[str, int]) -> Group:
    shown = members[:MAX_PANELS]
    ticks = [number_ticks(_value_scale(panel), 4) for panel in shown]
    width = max((len(tick.label) for row in ticks for tick in row), default=1)
    times = stamps_in_words(shown[0].times)
    left_out = len(members) - len(shown)
    return Group(
        title=name,
        span=f"{times[0]} to {times[-1]}" if times else "",
        panels=[
            Panel(panel.name, _chart(panel, y_ticks, width, colours))
            for panel, y_ticks in zip(shown, ticks, strict=True)
        ],
        note=f"The first {len(shown)} of {len(members)} variates are drawn." if left_out else "",
        levels=[f"{level:g}" for level in _levels(shown)],
        has_actual=any(panel.actual is not None for panel in shown),
        models=[
            (title(model), colours[model])
            for model in in_order({model: None for panel in shown for model in panel.lines}, colours)
        ],
    )


def _levels(panels: Sequence[ForecastPanel]) -> list[float]:
    return sorted({level for panel in panels for level in panel.bands})


def _value_scale(panel: ForecastPanel) -> Scale:
    arrays = [panel.history, panel.actual, *panel.lines.values()]
    arrays += [edge for edges in panel.bands.values() for edge in edges]
    return scale_of([array for array in arrays if array is not None])


def _chart(
    panel: ForecastPanel,
    y_ticks: Sequence[Tick],
    label_width: int,
    colours: Mapping[str, int],
) -> charts.Drawing:
    past_index = panel.history_times if panel.history_times is not None else panel.times[:0]
    past, ahead = axis_numbers([past_index, panel.times])
    across = scale_of([past, ahead], margin=0)
    history = np.asarray(panel.history if panel.history is not None else np.zeros(0), float)
    kept = charts.thin(history)
    up = _value_scale(panel)
    past_at, ahead_at = across.place(past), across.place(ahead)
    begin = float((past_at[-1] + ahead_at[0]) / 2) if len(past_at) and len(ahead_at) else 0.0
    return charts.frame(
        [
            *_bands(panel, ahead_at, up),
            charts.curve(past_at[kept], charts.places_of(up, history[kept]), "past"),
            *_lines(panel, past_at, history, ahead_at, up, colours),
        ],
        axis_ticks([past_index, panel.times] if len(past_index) else [panel.times], across, 4),
        y_ticks,
        describes=_describe(panel, history),
        height=150,
        marks=[charts.rule(begin, "start")] if len(past_at) else [],
        readout=_readout(panel, past_index, past_at, history, kept, ahead_at, colours),
        label_width=label_width,
    )


def _bands(panel: ForecastPanel, ahead_at: Floats, up: Scale) -> list[Markup]:
    widest_first = sorted(panel.bands.items(), reverse=True)
    return [
        charts.band(
            ahead_at,
            charts.places_of(up, low),
            charts.places_of(up, high),
            f"b{min(len(widest_first) - 1 - i, 2)}",
        )
        for i, (_, (low, high)) in enumerate(widest_first)
    ]


def _lines(
    panel: ForecastPanel,
    past_at: Floats,
    history: Floats,
    ahead_at: Floats,
    up: Scale,
    colours: Mapping[str, int],
) -> list[Markup]:
    drawn = [
        charts.curve(ahead_at, charts.places_of(up, panel.lines[model]), f"s{colours[model]}")
        for model in reversed(in_order(panel.lines, colours))
    ]
    if panel.actual is not None:
        joined_at = np.concatenate([past_at[-1:], ahead_at])
        joined = np.concatenate([history[-1:], np.asarray(panel.actual, float)])
        drawn.insert(0, charts.curve(joined_at[-len(joined) :], charts.places_of(up, joined), "actual"))
    return drawn


def _readout(
    panel: ForecastPanel,
    past_index: pd.Index,
    past_at: Floats,
    history: Floats,
    kept: Floats | np.ndarray,
    ahead_at: Floats,
    colours: Mapping[str, int],
) -> charts.Readout:
    stamps = stamps_in_words(past_index)
    labels = [stamps[int(row)] for row in kept] + stamps_in_words(panel.times)
    known = history[kept]
    actual = np.asarray([] if panel.actual is None else panel.actual, float)
    series = [charts.Series("actual", "actual", np.concatenate([known, actual]))]
    start = len(kept)
    series += [
        charts.Series(title(model), f"s{colours[model]}", panel.lines[model], start)
        for model in in_order(panel.lines, colours)
    ]
    series += [
        charts.Series(f"{level:g} % band", f"b{min(index, 2)}", low, start, high)
        for index, (level, (low, high)) in enumerate(sorted(panel.bands.items()))
    ]
    return charts.Readout(np.concatenate([past_at[kept], ahead_at]), labels, series)


def _describe(panel: ForecastPanel, history: Floats) -> str:
    stamps = stamps_in_words(panel.times)
    span = f" from {stamps[0]} to {stamps[-1]}" if stamps else ""
    parts = [f"forecast by {text.listing([title(model) for model in panel.lines])}"]
    parts += [f"{len(history)} rows of history"] if len(history) else []
    parts += ["the actual values"] if panel.actual is not None else []
    parts += [f"{level:g} % band" for level in sorted(panel.bands)]
    return f"{text.name(panel.name)}{span}: {text.listing(parts)}."
