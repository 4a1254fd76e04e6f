"""Audit of forecasts: our splits pass, a published one does not, and a run's own scaling is looked at."""

import dataclasses
import types

import numpy as np
import pandas as pd
import pytest
import torch

from multiway import workflows
from multiway.data import Scaler
from multiway.errors import ConfigError, DataError, MultiwayWarning
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.audit import audit_forecast, check_targets
from multiway.tasks.forecasting.encode import prepare_panel
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.lifecycle import SCORED
from multiway_papers.protocols.random_windows import NOTE
from tasks.forecasting.panels import HORIZON, LOOKBACK, make_config
from tolerances import SUMS32

RANDOM = {"protocol": "leaky_random_windows"}
THREE = ["overlap", "statistics", "selection"]
"""What the protocol does wrong: windows overlap, scaling saw all rows, the score is that of the choice."""


def errors(report):
    return [finding.kind for finding in report.findings if finding.severity == "error"]


def test_our_split_passes(data_file):
    report = audit_forecast(make_config(data=str(data_file)))
    assert not report.leaks and report.lines()[-1] == "No leak was found."
    assert "100.00% of 148 targets agree with the series' own values" in report.passed
    assert "all 57 test windows are there, the last of them too" in report.passed


@pytest.mark.parametrize("protocol", ["fraction", "dates"])
def test_borders_of_the_users_own_pass(protocol, data_file):
    split = {"protocol": protocol} | (
        {"validation_start": "2024-01-08", "test_start": "2024-01-10"} if protocol == "dates" else {"train": 0.5}
    )
    assert not audit_forecast(make_config(data=str(data_file), split=split)).leaks


def test_the_leaky_protocol_is_flagged_in_all_three_ways(data_file):
    report = audit_forecast(make_config(data=str(data_file), split=RANDOM))
    assert errors(report) == THREE
    assert {finding.kind for finding in report.findings} == {"overlap", "statistics", "order", "selection"}


def test_a_leaky_run_is_flagged_by_what_it_stores(data_file, tmp_path):
    with pytest.warns(MultiwayWarning, match="leaky_random_windows: windows of training and scores overlap"):
        run = lifecycle.start(TASK, make_config(data=str(data_file), split=RANDOM, network=False), tmp_path / "run")
    assert errors(audit_forecast(run.config, run)) == THREE
    assert NOTE in run.facts["notes"] and NOTE in TASK.page.report([run])
    validation, test = ([row["value"] for row in run.scores if row["split"] == split] for split in SCORED)
    assert validation == test


def test_the_leaky_halves_hold_every_window_once(data_file):
    prepared = prepare_panel(make_config(data=str(data_file), split=RANDOM), str(data_file))
    starts = {name: part.start_rows() for name, part in prepared.windows.items()}
    count = prepared.panel.num_rows - LOOKBACK - HORIZON + 1
    assert {name: len(rows) for name, rows in starts.items()} == {"train": 142, "validation": 143, "test": 143}
    assert sorted(np.concatenate([starts["train"], starts["validation"]]).tolist()) == list(range(count))
    scaled = prepared.scaler.transform(prepared.panel.values)
    assert (scaled.min(0).tolist(), scaled.max(0).tolist()) == ([0.0] * 3, [1.0] * 3)
    batch = prepared.windows["test"].gather(torch.tensor([5, 0]))
    rows = starts["test"][[5, 0]]
    assert batch["start"].tolist() == rows.tolist()
    np.testing.assert_allclose(batch["past"][1].numpy(), scaled[rows[1] : rows[1] + LOOKBACK], rtol=SUMS32)


def test_the_leaky_protocol_needs_two_windows(data_file):
    frame = pd.read_csv(data_file).head(LOOKBACK + HORIZON)
    with pytest.raises(DataError, match="hold no two windows"):
        prepare_panel(make_config(split=RANDOM), frame)


def test_a_run_is_audited_with_the_scaling_it_stores(finished):
    assert not workflows.audit(finished.folder.path).leaks
    panel = prepare_panel(finished.config, finished.config.data).panel
    state = finished.state.replace(scaler=Scaler.fit(panel.values))
    tampered = dataclasses.replace(finished, state=state)
    report = audit_forecast(finished.config, tampered)
    assert errors(report) == ["statistics"] and "as over all rows" in report.findings[0].line()


def test_targets_that_are_not_the_series_are_seen(data_file, monkeypatch):
    config = make_config(data=str(data_file))
    shifted = prepare_panel(config, str(data_file))
    moved = dataclasses.replace(shifted.panel, values=np.roll(shifted.panel.values, 1, axis=0))
    monkeypatch.setattr(
        "multiway.tasks.forecasting.audit.prepare_panel", lambda *_: dataclasses.replace(shifted, panel=moved)
    )
    report = audit_forecast(config)
    assert "labels" in errors(report)
    assert any("0.00% of 148 targets agree with the series' own values" in line for line in report.lines())


@pytest.mark.parametrize(("moved", "agrees"), [(0.0, True), (1e-6, True), (0.01, False), (-0.01, False)])
def test_targets_agree_by_their_size_however_large_they_are(moved, agrees):
    """Of values about 3 and 300 as much may differ in proportion: less than a hundredth."""
    values = np.concatenate([np.full((40, 1), 3.0), np.full((40, 1), 300.0)]) * (-1.0) ** np.arange(80)[:, None]
    start = torch.arange(70)
    rows = start.numpy()[:, None] + np.arange(5, 10)
    part = types.SimpleNamespace(
        lookback=5, horizon=5, num_targets=1,
        gather=lambda index: {"start": start[index], "future": torch.from_numpy(values[rows[index]] * (1 + moved))},
    )  # fmt: skip
    windows = type("Part", (types.SimpleNamespace,), {"__len__": lambda self: 70})(**vars(part))
    panel = types.SimpleNamespace(values=values)
    verdict = check_targets(panel, {"test": windows}, Scaler(np.zeros(1), np.ones(1), ()))
    assert isinstance(verdict, str) == agrees
    assert ("100.00%" if agrees else " 0.00%") in f" {verdict if agrees else verdict.line()}"


def test_missing_cells_are_no_leak(frame, tmp_path):
    frame.iloc[5::9, 2] = None
    frame.to_csv(tmp_path / "holes.csv", index=False)
    assert not audit_forecast(make_config(data=str(tmp_path / "holes.csv"), read={"missing": "mask"})).leaks


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_very_small_and_very_large_numbers_are_no_leak(size, frame, tmp_path):
    frame.iloc[:, 1:] *= size
    frame["still"] = 7.0
    frame.to_csv(tmp_path / "sizes.csv", index=False)
    assert not audit_forecast(make_config(data=str(tmp_path / "sizes.csv"))).leaks


def test_real_hours_pass_and_their_published_split_does_not(real_data):
    hours = {"data": "ett_h1", "horizon": 12, "lookback": 24, "targets": ["OT"]}
    assert not workflows.audit("forecast", hours).leaks
    published = workflows.audit("forecast", hours | {"split": RANDOM})
    assert errors(published) == THREE
    assert "8,693 of 8,693 validation windows have a target" in published.findings[0].line()


def test_what_is_audited_is_a_task_or_a_run(tmp_path):
    with pytest.raises(ConfigError, match=r"audit: there is no data\. Give data=FILE"):
        workflows.audit("forecast")
    with pytest.raises(ConfigError, match=r"forcast is no task and no run folder; did you mean forecast\? Tasks are"):
        workflows.audit("forcast")


def test_a_run_takes_no_settings(finished):
    with pytest.raises(ConfigError, match=r"is a run and has its own data and settings\. Leave out the options"):
        workflows.audit(finished.folder.path, {"horizon": 3})
