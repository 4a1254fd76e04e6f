"""Audit of forecasts: our splits pass, a published one does not, and a run's own scaling is looked at."""

import dataclasses

import numpy as np
import pytest

from multiway import workflows
from multiway.auditing import random_windows
from multiway.data import Scaler
from multiway.errors import ConfigError, DataError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.auditing import audit
from multiway.tasks.forecasting.prepared import prepare
from multiway.tasks.forecasting.task import TASK
from tasks.forecasting.panels import HORIZON, LOOKBACK, make_config

RANDOM = {"protocol": "random_windows"}


def errors(report):
    return [finding.kind for finding in report.findings if finding.severity == "error"]


def test_our_split_passes(data_file):
    report = audit(make_config(data=str(data_file)))
    assert not report.leaks and report.lines()[-1] == "No leak was found."
    assert "100.00% of 148 targets agree with the series' own values" in report.passed
    assert "all 57 test windows are there, the last of them too" in report.passed


@pytest.mark.parametrize("protocol", ["fraction", "dates"])
def test_borders_of_the_users_own_pass(protocol, data_file):
    split = {"protocol": protocol} | (
        {"validation_start": "2024-01-08", "test_start": "2024-01-10"} if protocol == "dates" else {"train": 0.5}
    )
    assert not audit(make_config(data=str(data_file), split=split)).leaks


def test_windows_at_random_are_flagged_and_cannot_be_trained_on(data_file, tmp_path):
    config = make_config(data=str(data_file), split=RANDOM)
    report = audit(config)
    assert errors(report) == ["overlap", "statistics"]
    assert {finding.kind for finding in report.findings} == {"overlap", "statistics", "order", "selection"}
    with pytest.raises(ConfigError, match="random_windows gives training and validation windows that share rows"):
        lifecycle.start(TASK, config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_published_halves_hold_every_window_once(data_file):
    panel = prepare(make_config(data=str(data_file)), str(data_file)).panel
    split = random_windows(panel, LOOKBACK, HORIZON, seed=0)
    count = panel.num_rows - LOOKBACK - HORIZON + 1
    assert {name: len(starts) for name, starts in split.starts.items()} == {"train": 142, "validation": 143}
    assert sorted(np.concatenate(list(split.starts.values())).tolist()) == list(range(count))
    short = dataclasses.replace(panel, values=panel.values[:LOOKBACK])
    with pytest.raises(DataError, match="12 rows hold no two windows"):
        random_windows(short, LOOKBACK, HORIZON, seed=0)


def test_a_run_is_audited_with_the_scaling_it_stores(finished):
    assert not workflows.audit(finished.folder.path).leaks
    panel = prepare(finished.config, finished.config.data).panel
    state = dataclasses.replace(finished.state, scaler=Scaler.fit(panel.values))
    tampered = dataclasses.replace(finished, state=state)
    report = audit(finished.config, tampered)
    assert errors(report) == ["statistics"] and "as over all rows" in report.findings[0].line()


def test_targets_that_are_not_the_series_are_seen(data_file, monkeypatch):
    config = make_config(data=str(data_file))
    shifted = prepare(config, str(data_file))
    moved = dataclasses.replace(shifted.panel, values=np.roll(shifted.panel.values, 1, axis=0))
    monkeypatch.setattr(
        "multiway.tasks.forecasting.auditing.prepare", lambda *_: dataclasses.replace(shifted, panel=moved)
    )
    report = audit(config)
    assert "labels" in errors(report)
    assert any("0.00% of 148 targets agree with the series' own values" in line for line in report.lines())


def test_missing_cells_are_no_leak(frame, tmp_path):
    frame.iloc[5::9, 2] = None
    frame.to_csv(tmp_path / "holes.csv", index=False)
    assert not audit(make_config(data=str(tmp_path / "holes.csv"), read={"missing": "mask"})).leaks


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_very_small_and_very_large_numbers_are_no_leak(size, frame, tmp_path):
    frame.iloc[:, 1:] *= size
    frame["still"] = 7.0
    frame.to_csv(tmp_path / "sizes.csv", index=False)
    assert not audit(make_config(data=str(tmp_path / "sizes.csv"))).leaks


def test_real_hours_pass_and_their_published_split_does_not(real_data):
    hours = {"data": "ett_h1", "horizon": 12}
    assert not workflows.audit("forecast", hours).leaks
    published = workflows.audit("forecast", hours | {"lookback": 24, "split": RANDOM})
    assert errors(published) == ["overlap", "statistics"]
    assert "8,693 of 8,693 validation windows have a target" in published.findings[0].line()


def test_what_is_audited_is_a_task_or_a_run(tmp_path):
    with pytest.raises(ConfigError, match=r"audit: there is no data\. Give --data FILE"):
        workflows.audit("forecast")
    with pytest.raises(ConfigError, match=r"forcast is no task and no run folder; did you mean forecast\? Tasks are"):
        workflows.audit("forcast")


def test_a_run_takes_no_settings(finished):
    with pytest.raises(ConfigError, match=r"is a run and has its own data and settings\. Leave out the options"):
        workflows.audit(finished.folder.path, {"horizon": 3})
