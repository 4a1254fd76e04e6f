"""Forecasts as small charts, one per variate: history, what happened, each model's line, and the bands."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from multiway.report import charts, text
from multiway.report.scales import Floats, axis_numbers, axis_ticks, order_models, scale_of, stamps_in_words, title

MAX_PANELS, FEW = 24, 12
"""Charts of a group: all of up to 24 series, of more the first 12; the others are small lines."""
SPARK = (120, 40)
SPARK_POINTS = 40


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
    sign: Of the unit, a currency or percent.
    """

    name: str
    times: pd.Index
    lines: Mapping[str, npt.ArrayLike]
    group: str = "Forecast"
    sign: str = ""
    history_times: pd.Index | None = None
    history: npt.ArrayLike = ()
    actual: npt.ArrayLike | None = None
    bands: Mapping[float, tuple[npt.ArrayLike, npt.ArrayLike]] = field(default_factory=dict)

    @property
    def head(self) -> str:
        """The variate with its unit."""
        return f"{self.name}, {self.sign}" if self.sign else self.name


class Group(NamedTuple):
    """The charts of one forecast by variate, and a word about those left out.

    sparks: The others as (name, drawing).
    """

    title: str
    span: str
    panels: list[tuple[str, charts.Drawing]]
    note: str
    levels: list[float]
    has_actual: bool
    models: list[tuple[str, int]]
    sparks: list[tuple[str, Markup]]


def groups(panels: Sequence[ForecastPanel], colours: Mapping[str, int]) -> list[Group]:
    """Sort panels into their groups, in the order given."""
    panels_by_group: dict[str, list[ForecastPanel]] = {}
    for panel in panels:
        panels_by_group.setdefault(panel.group, []).append(panel)
    return [
        _group(name, members, colours, is_first=not place)
        for place, (name, members) in enumerate(panels_by_group.items())
    ]


def _group(name: str, panels: Sequence[ForecastPanel], colours: Mapping[str, int], *, is_first: bool) -> Group:
    shown = panels if len(panels) <= MAX_PANELS else panels[:FEW]
    others = panels[len(shown) :] if is_first else []
    drawings = [_drawing(panel, colours) for panel in shown]
    width = max(drawing.widest_label for drawing in drawings)
    models = order_models(dict.fromkeys(model for panel in shown for model in panel.lines), colours)
    return Group(
        title=name,
        span=_span(shown[0].times),
        panels=[(panel.head, replace(item, label_width=width)) for panel, item in zip(shown, drawings, strict=True)],
        note=f"The first {len(shown)} of {len(panels)} series are drawn."
        if len(panels) > len(shown) + len(others)
        else "",
        levels=sorted({level for panel in shown for level in panel.bands}),
        has_actual=any(panel.actual is not None for panel in shown),
        models=[(title(model), colours[model]) for model in models],
        sparks=[_spark(panel) for panel in others],
    )


def _spark(panel: ForecastPanel) -> tuple[str, Markup]:
    """A line of what came before and one of the forecast, on a scale of its own."""
    line = np.asarray(next(iter(panel.lines.values())), float)
    history = np.asarray(panel.history, float)[-2 * len(line) - 1 :]
    whole = np.concatenate([history, line])
    at, heights = np.linspace(0, 1, len(whole)), scale_of([whole]).place(whole)
    step = -(-len(whole) // SPARK_POINTS)
    parts = [("actual", slice(0, len(history), step)), ("s0", slice(max(len(history) - 1, 0), None, step))]
    paths = [charts.curve_path(at[part], heights[part], style, SPARK) for style, part in parts]
    return panel.head, Markup().join(paths)


def _span(times: pd.Index) -> str:
    return " to ".join(stamps_in_words(times)[:: max(len(times) - 1, 1)])


def _drawing(panel: ForecastPanel, colours: Mapping[str, int]) -> charts.Drawing:
    """What happened before and since, the models' lines in front of it, the bands behind."""
    history = np.asarray(panel.history, float)
    kept = charts.thin(history)
    times = [panel.times[:0] if panel.history_times is None else panel.history_times, panel.times]
    numbers = axis_numbers(times)
    across = scale_of(numbers, margin=0)
    past, ahead = (across.place(part) for part in numbers)
    known = np.concatenate([history[kept], np.ravel([] if panel.actual is None else panel.actual)])
    before = np.full(len(kept), np.nan)  # nothing of a forecast lies over the history

    def ahead_of_history(values: npt.ArrayLike) -> Floats:
        return np.concatenate([before, np.asarray(values, float)])

    lines = {
        title(model): (f"s{colours[model]}", ahead_of_history(panel.lines[model]))
        for model in order_models(panel.lines, colours)
    }
    bands = [
        charts.ChartSeries(f"{level:g} % band", f"b{min(index, 2)}", ahead_of_history(low), ahead_of_history(high))
        for index, (level, (low, high)) in enumerate(sorted(panel.bands.items()))
    ]
    return charts.line_drawing(
        {**lines, "actual": ("actual", known)} if len(known) else lines,
        np.concatenate([past[kept], ahead]),
        [*np.array(stamps_in_words(times[0]))[kept], *stamps_in_words(times[1])],
        scale_of([known, *panel.lines.values(), *itertools.chain(*panel.bands.values())]),
        axis_ticks(times, across, 4),
        describes=f"{text.name(panel.head)}, {_span(panel.times)}",
        bands=bands,
        most=4,
        height=150,
        marks=[charts.rule(float((past[-1] + ahead[0]) / 2), "start")] if len(past) and len(ahead) else [],
    )
