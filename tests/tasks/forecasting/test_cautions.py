"""A validation too short for its intervals, and intervals that do not hold: said wherever a run is used."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import multiway
from command import outcome
from multiway.errors import MultiwayWarning
from multiway.ops import conformal_radii
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.bands import Bands
from multiway.tasks.forecasting.facts import cautions
from multiway.tasks.forecasting.held_out import Stretch, errors_of
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.forecasting.page import report
from tasks.forecasting.short_series import cover, series

FEW = (
    "Forecasts out of time are of 1 window and an interval at 95 % needs 19: the width of 80 % and 95 % is Student's t"
)


def months(kind: str = "retail", seed: int = 3) -> pd.DataFrame:
    times = pd.date_range("2010-01-01", periods=120, freq="MS")
    return pd.DataFrame({"month": times, "sales": series(kind, seed, 120)})


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Ten years of months, as the command trains on them; what it printed."""
    folder = tmp_path_factory.mktemp("short")
    months().to_csv(folder / "sales.csv", index=False)
    words = ["train", "forecast", "--data", folder / "sales.csv", "--horizon", 12, "--lookback", 60]
    return folder, outcome(*words, "--out", folder / "run", "--set", "network=false", "--all")


def test_training_warns_and_prints_what_the_intervals_held(short):
    _, (code, out, err) = short
    assert code == 0 and f"multiway: warning: {FEW}" in err
    head, ours, ridge = (re.split(r"  +", line.strip()) for line in out.splitlines()[2:5])
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
        forecaster = multiway.Forecaster(12, lookback=60, network=False).fit(months())
    forecaster.save(tmp_path / "run")
    with pytest.warns(MultiwayWarning, match=FEW):
        multiway.Forecaster.load(tmp_path / "run")


@pytest.mark.slow
def test_the_bands_of_a_short_series_differ_and_hold_what_they_claim():
    with pytest.warns(MultiwayWarning):
        rows = [row for seed in range(16) for row in cover(seed, 120)]
    held = {level: np.mean([row["coverage"] for row in rows if row["level"] == level]) for level in (80.0, 95.0)}
    alone = {level: np.mean([row["conformal"] for row in rows if row["level"] == level]) for level in (80.0, 95.0)}
    assert 0.75 < held[80.0] < 0.92 and 0.92 < held[95.0] < 1
    assert alone[80.0] == alone[95.0] < 0.6


def test_radii_with_enough_windows_are_those_of_split_conformal_to_the_bit(finished):
    validation = finished.prepared.windows["validation"]
    errors = errors_of([Stretch(validation, lambda *past: {"own": model_of(finished)(*past)})])["own"]
    expected = conformal_radii(np.abs(errors), (0.8, 0.95), validation.horizon)
    edges = Bands.read(finished.calibration).edges((80.0, 95.0)).numpy()
    np.testing.assert_array_equal(edges, np.stack([-expected, expected], 1))
    first = {"following": 0, "by_network": 0, "by_covariates": 0, "first": "2024-01-11 00:00:00"}
    assert finished.facts["intervals"] == {"windows": 27, "by_student": [0.0, 0.0], **first}


def test_bands_that_miss_twice_as_much_as_they_may_are_named():
    coverage = [{"level": 80.0, "actual": 61.0}, {"level": 95.0, "actual": 90.0}]
    (said,) = cautions({"coverage": coverage, "intervals": {"windows": 40, "by_student": [0.0, 0.0]}, "young": []})
    assert said.startswith("The 95 % interval held 90 % of the test values")


def test_facts_are_plain(short):
    stored = json.loads((short[0] / "run" / "preprocessing.json").read_text())["facts"]
    first = {"following": 0, "by_network": 0, "by_covariates": 0, "first": "2018-01-01 00:00:00"}
    assert stored["intervals"] == {"windows": 1, "by_student": [1.0, 1.0], **first}
