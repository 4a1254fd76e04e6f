"""A validation too short for its intervals, and intervals that do not hold: said wherever a run is used."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks.short_series import cover, series

import multiway
from command import outcome
from multiway.errors import MultiwayWarning
from multiway.ops import conformal_radii
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.choice import errors_of, fit_radii, out_of_time_errors
from multiway.tasks.forecasting.encode import prepare_panel
from multiway.tasks.forecasting.facts import cautions
from multiway.tasks.forecasting.network import model_of
from multiway.tasks.forecasting.page import report
from tasks.forecasting.panels import QUICK, fitted, make_config, make_frame

FEW = "Validation has 1 window and an interval at 95 % needs 19: the width of 80 % and 95 % is Student's t"


def months(kind: str = "retail", seed: int = 3) -> pd.DataFrame:
    times = pd.date_range("2010-01-01", periods=120, freq="MS")
    return pd.DataFrame({"month": times, "sales": series(kind, seed, 120)})


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Ten years of months, as the command trains on them; what it printed."""
    folder = tmp_path_factory.mktemp("short")
    months().to_csv(folder / "sales.csv", index=False)
    words = ["train", "forecast", "--data", folder / "sales.csv", "--horizon", 12, "--lookback", 24]
    return folder, outcome(*words, "--out", folder / "run", "--set", "network=false")


def test_training_warns_and_prints_what_the_intervals_held(short):
    _, (code, out, err) = short
    assert code == 0 and f"multiway: warning: {FEW}" in err
    head, ours, ridge = (re.split(r"  +", line.strip()) for line in out.splitlines()[1:4])
    assert {"rmse", "wape", "smape", "pinball", "coverage_80", "coverage_95"} <= set(head)
    values = dict(zip(head, ours, strict=True))
    assert 0 < float(values["coverage_80"]) <= float(values["coverage_95"]) <= 1
    assert dict(zip(head, ridge, strict=True))["coverage_80"] == "-"


@pytest.mark.parametrize("command", ["evaluate", "predict", "report"])
def test_every_use_of_the_run_warns(short, command):
    folder, _ = short
    more = ["--out", folder / "page.html"] if command == "report" else []
    code, out, err = outcome(command, folder / "run", *more)
    assert code == 0 and err.count(f"multiway: warning: {FEW}") == 1 and FEW not in out


def test_the_report_says_it_under_its_verdict(short):
    with pytest.warns(MultiwayWarning):
        run = lifecycle.load(short[0] / "run")
    assert FEW.replace("'", "&#39;") in report([run])


def test_python_warns_at_the_fit_and_when_a_forecaster_is_loaded(tmp_path):
    with pytest.warns(MultiwayWarning, match=FEW):
        forecaster = multiway.Forecaster(12, lookback=24, network=False).fit(months())
    forecaster.save(tmp_path / "run")
    with pytest.warns(MultiwayWarning, match=FEW):
        multiway.Forecaster.load(tmp_path / "run")


def test_the_bands_of_a_short_series_differ_and_hold_what_they_claim():
    with pytest.warns(MultiwayWarning):
        rows = [row for seed in range(14) for row in cover(seed, 120)]
    held = {level: np.mean([row["coverage"] for row in rows if row["level"] == level]) for level in (80.0, 95.0)}
    alone = {level: np.mean([row["conformal"] for row in rows if row["level"] == level]) for level in (80.0, 95.0)}
    assert 0.75 < held[80.0] < 0.92 and 0.92 < held[95.0] < 1
    assert alone[80.0] == alone[95.0] < 0.6


def test_radii_with_enough_windows_are_those_of_split_conformal_to_the_bit(finished):
    validation = finished.prepared.windows["validation"]
    errors = errors_of(validation, model_of(finished))
    np.testing.assert_array_equal(finished.calibration["radii"], conformal_radii(errors, (0.8, 0.95)))
    assert finished.facts["intervals"] == {"windows": 27, "by_student": [0.0, 0.0]}


def test_bands_that_miss_twice_as_much_as_they_may_are_named():
    coverage = [{"level": 80.0, "actual": 61.0}, {"level": 95.0, "actual": 90.0}]
    (said,) = cautions({"coverage": coverage, "intervals": {"windows": 40, "by_student": [0.0, 0.0]}, "young": []})
    assert said.startswith("The 95 % interval held 90 % of the test values")


def test_errors_out_of_time_are_of_rows_after_those_fitted_on():
    """What stands after an origin changes no forecast from before it: only errors whose targets it reaches change."""
    frame = make_frame(rows=120)
    frame.loc[70:, "series 1"] += 1000
    plain, changed = (prepare_panel(make_config(levels=()), each) for each in (make_frame(rows=120), frame))
    training = [each.windows["train"] for each in (plain, changed)]
    training[1].rows[:70] = training[0].rows[:70]
    before, after = (out_of_time_errors(each, plain.floor) for each in training)
    horizon, blocks = 4, before.shape[-1] // 4
    assert before.shape == (horizon, 3, 4 * blocks) and blocks > 5
    for block in range(blocks):
        origin = 84 - 2 * horizon + 1 - block * horizon
        same = np.array_equal(before[:, 1, 4 * block : 4 * block + 4], after[:, 1, 4 * block : 4 * block + 4])
        assert same == (origin + 2 * horizon - 1 <= 70), origin


def test_errors_out_of_time_leave_missing_cells_out():
    frame = make_frame(rows=120)
    frame.loc[60:63, "series 0"] = np.nan
    prepared = prepare_panel(make_config(read={"missing": "mask"}), frame)
    errors = out_of_time_errors(prepared.windows["train"], prepared.floor)
    assert np.isnan(errors[:, 0]).sum() == 16 and not np.isnan(errors[:, 1:]).any()


def test_a_network_worse_than_ridge_widens_what_ridge_left(monkeypatch):
    """Errors out of time are ridge's; a forecast that is worse on validation is not given ridge's bands."""
    seen = []
    monkeypatch.setattr(
        "multiway.tasks.forecasting.choice.fit_radii",
        lambda *given: seen.append(given[-1]()) or fit_radii(*given[:-1]),
    )
    monkeypatch.setattr(
        "multiway.tasks.forecasting.network.LOSSES", dict.fromkeys(("mse", "mae", "huber"), _pushed_away)
    )
    run = fitted(make_frame(), selection="network", training={**QUICK, "learning_rate": 0.1})
    chosen, ridge = run.facts["selection"], out_of_time_errors(run.prepared.windows["train"], run.prepared.floor)
    assert chosen["network_error"] > 1.1 * chosen["floor_error"]
    ratio = (chosen["network_error"] / chosen["floor_error"]) ** 0.5
    np.testing.assert_allclose(seen[0], ridge * np.float32(ratio), rtol=1e-5)


def _pushed_away(forecast, target, observed):
    error = (forecast - target - 3).square()
    return error.sum(), torch.tensor(float(error.numel()))


def test_facts_are_plain(short):
    stored = json.loads((short[0] / "run" / "preprocessing.json").read_text())["facts"]
    assert stored["intervals"] == {"windows": 1, "by_student": [1.0, 1.0]}
