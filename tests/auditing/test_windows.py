"""Splits of windows, honest and not, as anyone may have made them."""

import dataclasses

import numpy as np
import pandas as pd

from multiway.auditing import WindowSplit, audit_windows
from multiway.auditing.windows import verdicts_on_windows

ROWS, LOOKBACK, HORIZON = 400, 6, 2
VALUES = np.random.default_rng(0).normal(size=(ROWS, 2)).cumsum(0)


def mean(rows):
    return rows.mean(0)


def chronological(**changes):
    last = ROWS - LOOKBACK - HORIZON + 1
    split = WindowSplit(
        values=VALUES, times=pd.date_range("2024-01-01", periods=ROWS, freq="h"), names=("a", "b"),
        lookback=LOOKBACK, horizon=HORIZON, used={"mean": mean(VALUES[:200])}, statistics={"mean": mean},
        starts={
            "train": np.arange(200 - LOOKBACK - HORIZON + 1),
            "validation": np.arange(200 - LOOKBACK, 300 - LOOKBACK - HORIZON + 1),
            "test": np.arange(300 - LOOKBACK, last),
        },
    )  # fmt: skip
    return dataclasses.replace(split, **changes)


def kinds(split):
    return {finding.kind: finding.severity for finding in audit_windows(split, "mine").findings}


def test_a_split_by_time_passes():
    report = audit_windows(chronological(), "mine")
    assert not report.findings and not report.leaks and len(report.passed) == 12
    assert "none of 391 windows of 8 rows that vary is in two splits" in report.passed


def test_windows_at_random_overlap():
    count = ROWS - LOOKBACK - HORIZON + 1
    order = np.random.default_rng(1).permutation(count)
    parts = {"train": order[:200], "validation": order[200:300], "test": order[300:]}
    found = kinds(chronological(starts={name: np.sort(part) for name, part in parts.items()}))
    assert found["overlap"] == "error" and found["order"] == "warning" and found["statistics"] == "error"


def test_one_window_too_many_is_seen():
    starts = chronological().starts
    late = np.append(starts["train"], starts["train"][-1] + 1)  # its last target is the first of validation
    found = audit_windows(chronological(starts={**starts, "train": late}), "mine").findings
    assert [finding.kind for finding in found if finding.severity == "error"] == ["overlap"]
    assert "1 of 99 validation windows have a target" in found[0].line()
    assert "row 200 (2024-01-09 08:00:00)" in found[0].line()


def test_scaling_by_all_rows_is_seen():
    assert kinds(chronological(used={"mean": mean(VALUES)})) == {"statistics": "error"}


def test_scaling_by_one_row_too_many_is_seen():
    assert kinds(chronological(used={"mean": mean(VALUES[:201])})) == {"statistics": "error"}


def test_a_file_that_holds_a_stretch_twice_is_seen():
    values = VALUES.copy()
    values[320:360] = values[20:60]
    finding = next(each for each in audit_windows(chronological(values=values), "mine").findings)
    assert (finding.kind, finding.severity, finding.count) == ("duplicates", "error", 33)
    assert "test window at row 320 = train window at row 20" in finding.line()


def test_more_than_one_copy_in_a_hundred_is_a_leak_and_fewer_are_a_warning():
    values, starts = VALUES.copy(), chronological().starts
    values[330:338] = values[30:38]
    assert len(starts["test"]) == 99
    assert kinds(chronological(values=values, used={})) == {"duplicates": "error"}
    values = np.concatenate([values, VALUES[300:310] + 50])
    more = {**starts, "test": np.arange(300 - LOOKBACK, len(values) - LOOKBACK - HORIZON + 1)}
    times = pd.date_range("2024-01-01", periods=len(values), freq="h")
    assert kinds(chronological(values=values, times=times, starts=more, used={})) == {"duplicates": "warning"}


def test_a_series_that_repeats_itself_everywhere_is_a_warning_and_no_leak():
    counts = np.random.default_rng(4).integers(0, 2, (ROWS, 1)).astype(float)
    found = kinds(chronological(values=counts, names=("sales",), used={}))
    assert found == {"duplicates": "warning"}


def test_without_a_test_split_the_choice_of_the_epoch_is_what_is_scored():
    starts = chronological().starts
    assert kinds(chronological(starts={name: starts[name] for name in ("train", "validation")})) == {
        "selection": "warning"
    }


def test_a_series_that_is_the_calendar_is_a_warning_and_no_leak():
    hours = np.sin(2 * np.pi * np.arange(ROWS) / 24)[:, None] + [0.0, 5.0]
    noisy = hours + np.random.default_rng(2).normal(0, 0.02, hours.shape)
    report = audit_windows(chronological(values=noisy, used={}), "mine")
    assert not report.leaks and [finding.kind for finding in report.findings] == ["calendar"]
    assert "(2 of 2 variates above 90%)" in report.findings[0].line()
    assert kinds(chronological(values=noisy, used={}, times=pd.RangeIndex(ROWS))) == {}


def test_missing_cells_are_left_out():
    holes = VALUES.copy()
    holes[::7, 0] = np.nan
    used = {"mean": np.nanmean(holes[:200], 0)}
    split = chronological(values=holes, used=used, statistics={"mean": lambda rows: np.nanmean(rows, 0)})
    assert all(isinstance(each, str | None) for each in verdicts_on_windows(split))


def test_where_every_training_row_is_a_target_scaling_has_none_of_its_own():
    split = chronological(starts={"train": np.arange(30, 40), "test": np.arange(60)})
    report = audit_windows(split, "mine")
    assert {finding.kind for finding in report.findings if finding.severity == "error"} == {
        "overlap", "statistics", "duplicates",
    }  # fmt: skip
    assert any("every training row is a target of another split" in line for line in report.lines())
