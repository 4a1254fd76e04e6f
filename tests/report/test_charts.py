"""Charts read out the values they were given, and draw whatever times and gaps there are."""

import re

import numpy as np
import pandas as pd
import pytest

from multiway.report.curves import confusion_table, reliability_chart
from multiway.report.diagnostics import TrainingRow, step_lines, timeline, training_chart
from multiway.report.forecasts import ForecastPanel, groups
from report.filled import COLOURS, class_sections, make_panels
from tolerances import LONG32

TIMES = pd.date_range("2020-01-01", periods=24, freq="h")


def readout(group, place=0):
    _, found = group.panels[place]
    return found, {series.name: series for series in found.series}


def drawn(drawing):
    return "".join(drawing.curves)


def test_forecasts_read_out_the_values_that_were_given():
    panels = make_panels(["OT"], TIMES[:12], TIMES[12:])
    found, series = readout(groups(panels, COLOURS)[0])
    np.testing.assert_allclose(series["ridge"].values[12:], panels[0].lines["ridge"], rtol=LONG32)
    np.testing.assert_allclose(series["80 % band"].upper[12:], panels[0].bands[80][1], rtol=LONG32)
    np.testing.assert_allclose(series["actual"].values, np.concatenate([panels[0].history, panels[0].actual]))
    assert found.words[12] == "2020-01-01 12:00"
    assert list(found.at) == sorted(found.at)
    assert np.isnan(series["ridge"].values[:12]).all()


def test_missing_values_break_the_line():
    panel = make_panels(["OT"], TIMES[:12], TIMES[12:])[0]
    panel.history[3:5] = np.nan
    panel.lines["ridge"][4] = np.inf
    paths = drawn(groups([panel], COLOURS)[0].panels[0][1])
    assert not re.search(r"nan|inf", paths)
    assert re.search(r'<path class="line actual" d="([^"]*)"', paths)[1].count("M") == 2
    assert re.search(r'<path class="line s1" d="([^"]*)"', paths)[1].count("M") == 2


@pytest.mark.parametrize(
    "times",
    [
        pd.RangeIndex(100, 124),
        pd.date_range("2020-01-01", periods=24, freq="MS"),
        pd.date_range("2020-10-25", periods=24, freq="h", tz="Europe/Berlin"),
        pd.date_range("2020-01-01", periods=24, freq="s"),
        pd.date_range("1900-01-01", periods=24, freq="10YS"),
        pd.period_range("2020-01", periods=24, freq="M"),
        pd.Index([f"day {index}" for index in range(24)]),
        pd.Index([5.0] * 24),
    ],
    ids=lambda times: f"{times.dtype}",
)
def test_any_kind_of_time_is_drawn(times):
    (group, _) = groups(make_panels(["OT"], times[:12], times[12:]), COLOURS)
    assert "<path" in drawn(group.panels[0][1])
    assert timeline(["all"], [pd.Index([times[0], times[-1]])]).blocks[0][2] >= 0


def test_a_forecast_without_history_bands_or_actual_is_drawn():
    bare = ForecastPanel(name="OT", times=TIMES[:12], lines={"ridge": np.ones(12)})
    one_step = ForecastPanel(name="OT", times=TIMES[:1], lines={"ridge": np.ones(1)}, group="One step")
    found = groups([bare, one_step], COLOURS)
    assert [group.title for group in found] == ["Forecast", "One step"]
    assert not found[0].has_actual and found[0].levels == []


def test_one_step_and_one_epoch_are_drawn():
    assert "<path" in drawn(step_lines({"ridge": ("s1", np.ones(1))}, "MSE"))
    assert training_chart([TrainingRow(1.0, 0.5, None)]).drawing.words == ["epoch 1"]


def test_seeds_have_lines_of_their_own_and_marks_without_words():
    rows = [TrainingRow(epoch, 1 / epoch, 2 / epoch, seed) for seed in (0, 1) for epoch in (1, 2, 3)]
    drawing = training_chart(rows, [1, 3]).drawing
    assert [series.name for series in drawing.series] == [
        "train, seed 0", "train, seed 1", "validation, seed 0", "validation, seed 1",
    ]  # fmt: skip
    assert sum("rule best" in mark for mark in drawing.marks) == 2 and "kept" not in "".join(drawing.marks)


def test_the_matrix_says_counts_and_shares():
    table = confusion_table(["benign", "malignant"], np.array([[200, 29], [15, 54]]))
    assert [(cell.text, cell.small, cell.style) for cell in table.rows[0][1:3]] == [
        ("200", "87\u202f%", "right"),
        ("29", "13\u202f%", "wrong"),
    ]
    assert [row[-1] for row in table.rows] == ["229", "69"]
    assert confusion_table(["a", "b"], np.array([[0, 0], [1, 2]])).rows[0][1].small == ""


def test_curves_read_out_what_was_given():
    _, roc, reliability, deletion, areas = class_sections()
    series = roc.drawing.series
    assert [item.name for item in series] == ["blend", "ridge"]
    assert series[0].values[0] == 0 and series[0].values[50] == pytest.approx(0.5**0.1)
    assert [label for label, _ in roc.legend] == ["blend, AUC 0.886", "ridge, AUC 0.500"]
    share, interval = reliability.drawing.series
    assert list(share.values) == [0.5, 0.91]
    low, high = interval.values[0], interval.upper[0]
    assert (low, high) == pytest.approx((0.299298, 0.700702), rel=LONG32)  # Wilson, 10 of 20
    assert [item.name for item in deletion.drawing.series] == ["attention", "gradients", "at random"]
    assert [[row[0].text, *row[1:]] for row in areas.rows] == [
        ["attention", "0.450", "−0.065"],
        ["gradients", "0.295", "−0.220"],
        ["at random", "0.515", ""],
    ]


def test_a_bin_without_cases_is_no_dot():
    assert reliability_chart([{"confidence": 0.5, "accuracy": float("nan"), "count": 0}]) is None
