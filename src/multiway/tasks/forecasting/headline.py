"""What a forecast is worth in the units of the file: how far it is off, and against what needs no model."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.report import text
from multiway.report.forecasts import ForecastPanel
from multiway.report.scales import stamps_in_words
from multiway.report.sections import Table, Values
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.forecasts import absent_others, forecast_columns
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.plan import knows_ahead
from multiway.tasks.forecasting.scores import read_test_errors
from multiway.tasks.forecasting.steps import Sessions, step_of
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

SPANS = {
    "h": "hour",
    "D": "day",
    "B": "day",
    "W": "week",
    "M": "month",
    "ME": "month",
    "MS": "month",
    "BMS": "month",
    "BME": "month",
    "Q": "quarter",
    "QS": "quarter",
    "QE": "quarter",
    "Y": "year",
    "YS": "year",
    "YE": "year",
    "min": "minute",
    "s": "second",
}
SEASONS = {
    ("hour", 24): "the same hour yesterday",
    ("hour", 168): "the same hour last week",
    ("day", 7): "the same day last week",
    ("day", 5): "the same day last week",
    ("day", 365): "the same day last year",
    ("week", 52): "the same week last year",
    ("month", 12): "the same month last year",
    ("quarter", 4): "the same quarter last year",
}
TRIVIAL = ("seasonal_naive", "naive")
HISTORY_WINDOWS = 2
MOST_ROWS, MOST_NUMBERS = 100, 15_000
"""Series in the table of errors, and figures in that of forecasts; of more the first are listed."""


class Worth(NamedTuple):
    """Mean absolute test errors by series, in the units of the file, and those of the best trivial forecast."""

    errors: pd.Series
    trivial: pd.Series
    words: str

    @property
    def gains(self) -> pd.Series:
        """How much smaller each series' errors are, in percent."""
        return 100 * (1 - self.errors / self.trivial)


def span_of(frequency: str | None) -> str:
    """A step in words: "day"; "step" where it has no name."""
    whole = re.match(r"([A-Za-z]+)(-\w+)?(?: |$)", frequency or "")
    return SPANS.get(whole[1], "step") if whole else "step"


def steps_in_words(count: int, frequency: str | None) -> str:
    """So many steps: "7 days"; "4 steps of 15min" where a step has no name."""
    span = span_of(frequency)
    of = f" of {frequency.partition(' ')[0]}" if span == "step" and frequency is not None else ""
    return f"{count:,} {span}{'' if count == 1 else 's'}{of}"


def worth_of(run: Run) -> Worth:
    """Errors of a run's answer; the trivial forecast is that of the lower mean scaled error."""
    scaled = (
        read_test_errors(run)
        .pivot_table(index="variate", columns="model", values="mae", sort=False)
        .reindex(run.state.targets)
    )
    known = [name for name in TRIVIAL if name in scaled and name in run.state.candidates]
    best = min(known, key=lambda name: float(scaled[name].to_numpy().mean()), default=OURS)
    words = _season_in_words(run.state.frequency, run.state.season)
    units = pd.Series(run.state.target_scaler.std, index=scaled.index)
    if best == "naive":
        words = "the last value"
    return Worth(scaled[OURS] * units, scaled[best] * units, words)


def _season_in_words(frequency: str | None, season: int) -> str:
    """What the seasonal naive forecast repeats."""
    span, step = span_of(frequency), None if frequency is None else step_of(frequency)
    if isinstance(step, Sessions) and season == step.season:
        return f"the same {span} of the last {'session' if season < len(step.slots) else 'week'}"
    return SEASONS.get((span, season), f"the value {season} steps before")


def headline(run: Run) -> str:
    """How far the forecasts are off in the units of the file, and how much better that is than a trivial one."""
    worth, span, columns = worth_of(run), span_of(run.state.frequency), run.state.columns
    if len(worth.errors) > 1 and run.facts["layout"] != "long":
        relative = worth.errors / worth.trivial.where(worth.trivial > 0)
        gain, worst = float(1 - relative.mean()), str(_in_deviations(run, worth).idxmax())
        return (
            f"Over {len(worth.errors)} series, errors are {text.percent(100 * abs(gain), 0)} "
            f"{'smaller' if gain >= 0 else 'larger'} than those of {worth.words}; the worst, {text.name(worst)}, "
            f"is off by {text.with_unit(float(worth.errors[worst]), columns.sign_of(worst))} {_each(span)}."
        )
    off, other = float(worth.errors.mean()), float(worth.trivial.mean())
    name = text.name(worth.errors.index[0]) if len(worth.errors) == 1 else f"each of {len(worth.errors):,} series"
    gain = 100 * (1 - off / other) if other else 0.0
    side = "better" if gain > 0 else "worse"
    better = "no better than" if abs(gain) < 0.5 else f"{text.percent(abs(gain), 0)} {side} than"
    unit = f" {text.name(columns.value)}" if columns.value not in (None, "value", "y") else ""
    size = text.with_unit(off, columns.sign_of(worth.errors.index[0]))
    return f"The forecast of {name} is off by {size}{unit} {_each(span)} on average; {better} {worth.words}."


def _in_deviations(run: Run, worth: Worth) -> pd.Series:
    """Errors of series whose units differ, in standard deviations of their training rows; 0 for a constant."""
    units = pd.Series(run.state.target_scaler.std, index=run.state.targets)
    return (worth.errors / units.where(units > 0)).fillna(0)


def _each(span: str) -> str:
    return f"{'an' if span == 'hour' else 'a'} {span}"


def forecast_panels(run: Run, prepared: PreparedPanel) -> list[ForecastPanel]:
    """The steps after the end of the data, and the last test window with what happened.

    Where others' forecasts have a share, it is the last one at whose start there are some.
    """
    panel, steps, (first, stop) = prepared.panel, run.config.horizon, prepared.borders.test
    is_known = knows_ahead(panel, steps) and not absent_others(run, panel)
    future = _panels(run, panel, panel.future_times(steps), None, "Next steps") if is_known else []
    row = next(row for row in range(stop - steps, first - 1, -1) if not absent_others(run, panel, row))
    before, actual = panel.slice(0, row), panel.slice(row, row + steps)
    return future + _panels(run, before, actual.times, actual.values, "Last test window", "test")


def _panels(
    run: Run, panel: Panel, times: pd.Index, actual: NDArray[np.float64] | None, group: str, use: str = "future"
) -> list[ForecastPanel]:
    """A chart for each series that is forecast; they are the last ones."""
    columns, names = forecast_columns(run, panel, run.config.levels, use=use), run.state.targets
    history = panel.slice(-max(HISTORY_WINDOWS * run.config.horizon, run.config.lookback), panel.num_rows)
    return [
        ForecastPanel(
            name=name,
            sign=run.state.columns.sign_of(name),
            times=times,
            group=group,
            history_times=history.times,
            history=history.values[:, index - len(names)],
            lines={"forecast": columns[OURS][:, index]},
            actual=None if actual is None else actual[:, index - len(names)],
            bands={
                level: (columns[f"{OURS}-lo-{level:g}"][:, index], columns[f"{OURS}-hi-{level:g}"][:, index])
                for level in run.config.levels
            },
        )
        for index, name in enumerate(names)
    ]


def rank_panels(run: Run, panels: Sequence[ForecastPanel]) -> list[ForecastPanel]:
    """Largest series first where all are of one column; else those that are forecast worst, in deviations."""
    if run.facts["layout"] == "long":
        sizes = {panel.name: float(np.nanmean(np.abs(np.append(panel.history, 0.0)))) for panel in panels}
    else:
        sizes = dict(zip(run.state.targets, _in_deviations(run, worth_of(run)).tolist(), strict=True))
    order = {panel.group: place for place, panel in reversed(list(enumerate(panels)))}
    return sorted(panels, key=lambda panel: (order[panel.group], -sizes.get(panel.name, 0.0)))


def error_table(run: Run, order: Sequence[str]) -> Table | None:
    """Error of each of several series in its own units; nothing for one series, of which the headline says it."""
    worth = worth_of(run)
    if len(worth.errors) < 2:
        return None
    rows = [
        [
            name,
            text.with_unit(float(worth.errors[name]), run.state.columns.sign_of(name)),
            text.with_unit(float(worth.trivial[name]), run.state.columns.sign_of(name)),
            f"{text.with_sign(float(gain), 0)}\u202f%" if np.isfinite(gain := worth.gains[name]) else text.MISSING,
        ]
        for name in order[:MOST_ROWS]
    ]
    span = span_of(run.state.frequency)
    heads = ["Series", f"Off by, {_each(span)}", f"Off by: {worth.words}", "Smaller by"]
    fold = f"Error of each of {len(rows)} series" if len(rows) > 8 else ""
    note = f"The first {len(rows)} of {len(order)} series are listed." if len(order) > len(rows) else ""
    return Table(
        columns=heads,
        rows=rows,
        title="" if fold else "Error of each series",
        fold=fold,
        note=note,
        style="numbers tall",
    )


def forecast_values(panels: Sequence[ForecastPanel], file: str) -> Values:
    """Forecasts and their bands, to copy and to download."""
    first = panels[0]
    levels = sorted(first.bands)
    while len(levels) > 1 and len(panels) * len(first.times) * (1 + 2 * len(levels)) > MOST_NUMBERS:
        levels = levels[:-1]
    columns = ["forecast", *(f"{side}, {level:g} %" for level in levels for side in ("low", "high"))]
    shown = panels[: max(1, MOST_NUMBERS // (len(first.times) * len(columns)))]
    note = "" if len(shown) == len(panels) else f"The first {len(shown)} of {len(panels)} series are listed; "
    return Values(
        axis=("time", stamps_in_words(first.times)),
        columns=columns,
        title="Forecast in figures",
        file=file,
        rows={panel.name: _cells(panel, levels) for panel in shown},
        note=note and f"{note}`multiway predict` writes all.",
    )


def _cells(panel: ForecastPanel, levels: Sequence[float]) -> list[list[str]]:
    line = np.asarray(next(iter(panel.lines.values())), float)
    bands = [np.asarray(edge, float) for level in levels for edge in panel.bands[level]]
    decimals = min(max(text.decimals_for(line) - 1, 0), 4)
    return [[text.number(float(value), decimals) for value in row] for row in np.stack([line, *bands], axis=1)]
