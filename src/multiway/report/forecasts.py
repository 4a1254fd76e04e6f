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
from multiway.report.scales import axis_numbers, axis_ticks, number_ticks, scale_of, stamps_in_words

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


class _Sheet:
    """One panel with the places of its values."""

    def __init__(self, panel: ForecastPanel, colours: Mapping[str, int]) -> None:
        self.panel, self.colours, self.models = panel, colours, in_order(panel.lines, colours)
        self.history = np.asarray(np.zeros(0) if panel.history is None else panel.history, float)
        self.kept = charts.thin(self.history)
        self.past_times = panel.times[:0] if panel.history_times is None else panel.history_times
        numbers = axis_numbers([self.past_times, panel.times])
        self.across = scale_of(numbers, margin=0)
        self.past, self.ahead = (self.across.place(part) for part in numbers)
        edges = [edge for pair in panel.bands.values() for edge in pair]
        arrays = [panel.history, panel.actual, *panel.lines.values(), *edges]
        self.up = scale_of([array for array in arrays if array is not None])
        self.y_ticks = number_ticks(self.up, 4)

    def drawing(self, label_width: int) -> charts.Drawing:
        """History, bands from the widest to the narrowest, what happened, and the lines."""
        begin = [float((self.past[-1] + self.ahead[0]) / 2)] if len(self.past) and len(self.ahead) else []
        times = [self.past_times, self.panel.times] if len(self.past_times) else [self.panel.times]
        past = charts.curve(self.past[self.kept], charts.places_of(self.up, self.history[self.kept]), "past")
        return charts.frame(
            [*self._bands(), past, *self._lines()],
            axis_ticks(times, self.across, 4),
            self.y_ticks,
            describes=self._description(),
            height=150,
            marks=[charts.rule(place, "start") for place in begin],
            readout=self._readout(),
            label_width=label_width,
        )

    def _bands(self) -> list[Markup]:
        edges = [[charts.places_of(self.up, edge) for edge in pair] for _, pair in sorted(self.panel.bands.items())]
        bands = [charts.band(self.ahead, low, high, f"b{min(index, 2)}") for index, (low, high) in enumerate(edges)]
        return bands[::-1]

    def _lines(self) -> list[Markup]:
        drawn = [
            charts.curve(self.ahead, charts.places_of(self.up, self.panel.lines[model]), f"s{self.colours[model]}")
            for model in reversed(self.models)
        ]
        if self.panel.actual is not None:  # it goes on from the last row of history
            places = np.concatenate([self.past[-1:], self.ahead])
            values = np.concatenate([self.history[-1:], np.asarray(self.panel.actual, float)])
            drawn.insert(0, charts.curve(places[-len(values) :], charts.places_of(self.up, values), "actual"))
        return drawn

    def _readout(self) -> charts.Readout:
        stamps, start = stamps_in_words(self.past_times), len(self.kept)
        labels = [stamps[int(row)] for row in self.kept] + stamps_in_words(self.panel.times)
        actual = np.asarray([] if self.panel.actual is None else self.panel.actual, float)
        series = [charts.Series("actual", "actual", np.concatenate([self.history[self.kept], actual]))]
        series += [
            charts.Series(title(model), f"s{self.colours[model]}", self.panel.lines[model], start)
            for model in self.models
        ]
        series += [
            charts.Series(f"{level:g} % band", f"b{min(index, 2)}", low, start, high)
            for index, (level, (low, high)) in enumerate(sorted(self.panel.bands.items()))
        ]
        return charts.Readout(np.concatenate([self.past[self.kept], self.ahead]), labels, series)

    def _description(self) -> str:
        stamps = stamps_in_words(self.panel.times)
        span = f" from {stamps[0]} to {stamps[-1]}" if stamps else ""
        parts = [f"forecast by {text.listing([title(model) for model in self.panel.lines])}"]
        parts += [f"{len(self.history)} rows of history"] if len(self.history) else []
        parts += ["the actual values"] if self.panel.actual is not None else []
        parts += [f"{level:g} % band" for level in sorted(self.panel.bands)]
        return f"{text.name(self.panel.name)}{span}: {text.listing(parts)}."


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
    found: dict[str, list[_Sheet]] = {}
    for panel in panels:
        found.setdefault(panel.group, []).append(_Sheet(panel, colours))
    return [_group(name, sheets, colours) for name, sheets in found.items()]


def _group(name: str, sheets: Sequence[_Sheet], colours: Mapping[str, int]) -> Group:
    shown = sheets[:MAX_PANELS]
    times = stamps_in_words(shown[0].panel.times)
    width = max((len(tick.label) for sheet in shown for tick in sheet.y_ticks), default=1)
    return Group(
        title=name,
        span=f"{times[0]} to {times[-1]}" if times else "",
        panels=[Panel(sheet.panel.name, sheet.drawing(width)) for sheet in shown],
        note=f"The first {len(shown)} of {len(sheets)} variates are drawn." if len(sheets) > len(shown) else "",
        levels=[f"{level:g}" for level in sorted({level for sheet in shown for level in sheet.panel.bands})],
        has_actual=any(sheet.panel.actual is not None for sheet in shown),
        models=[
            (title(model), colours[model])
            for model in in_order(dict.fromkeys(model for sheet in shown for model in sheet.models), colours)
        ],
    )
