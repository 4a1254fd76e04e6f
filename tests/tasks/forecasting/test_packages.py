"""Candidates that a package brings: where they take part, what they are given, and what is said without it."""

import importlib
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.errors import ConfigError
from multiway.tasks import candidate as every_candidate
from multiway.tasks.forecasting import candidate
from multiway.tasks.forecasting.candidates import fracast, lightgbm
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.run import load, save_run
from tasks.forecasting.panels import allowed, fitted, forecast, make_frame, make_windows

ZERO_SHOT = """
import numpy as np

class FracastModel:
    context_length = 32
    quantiles = [0.1, 0.5, 0.9]
    seen = []

    @classmethod
    def from_pretrained(cls):
        return cls()

    def forecast_batch(self, context, *, horizon):
        self.seen.append(context)
        ahead = context[:, -12:][:, np.arange(horizon) % 12]
        return np.stack([ahead - 1, ahead, ahead + 1], -1)
"""
"""A package that repeats the last season of 12."""
STUMPS = """
class Dataset:
    def __init__(self, x, y, weight):
        assert weight is None
        self.x, self.y = x, y

class Booster:
    def __init__(self, settings, data, rounds):
        self.mean = float(data.y.mean())

    def dump_model(self):
        leaf = {"leaf_index": 0, "leaf_value": self.mean + 0.25}
        return {"tree_info": [{"tree_structure": leaf}]}

train = Booster
"""
"""A package whose tree is the mean of what ridge misses, and a quarter."""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package of one file, and take it away after the test."""
    names = []

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        names.append(name)
        importlib.invalidate_caches()
        fracast.load_fracast.cache_clear()

    monkeypatch.syspath_prepend(tmp_path)
    yield write
    fracast.load_fracast.cache_clear()
    for name in names:
        sys.modules.pop(name, None)


def without(name):
    return lambda other: other != name


@pytest.mark.parametrize("name", ["lightgbm", "fracast"])
def test_one_whose_package_is_absent_is_left_out_and_by_name_says_what_to_install(name, monkeypatch):
    monkeypatch.setattr(every_candidate, "is_installed", without(name))
    monkeypatch.setitem(sys.modules, name, None)
    assert name not in allowed(make_windows(1001, 3, 7, 5))
    fix = rf"the forecast of {name} needs {name}, which is not installed\. Run `pip install 'multiway\[{name}\]'`"
    with pytest.raises(ConfigError, match=fix):
        fitted(make_frame(rows=120), network=False, answer=name)


def test_trees_of_lightgbm_take_part_on_many_windows_of_few_steps(monkeypatch):
    monkeypatch.setattr(every_candidate, "is_installed", without("statsforecast"))
    windows = make_windows(1001, 3, 7, 5)
    count = 3 * (1001 - 11)
    assert "lightgbm" in allowed(windows)
    monkeypatch.setattr(lightgbm, "FEWEST", count + 1)
    assert "lightgbm" not in allowed(windows)
    monkeypatch.setattr(lightgbm, "FEWEST", count)
    monkeypatch.setattr(lightgbm, "MOST_STEPS", 5 * count)
    assert "lightgbm" in allowed(windows)
    monkeypatch.setattr(lightgbm, "MOST_STEPS", 5 * count - 1)
    assert "lightgbm" not in allowed(windows)


def test_a_run_forecasts_by_trees_of_lightgbm_without_the_package(install, tmp_path, monkeypatch):
    monkeypatch.setattr(lightgbm, "FEWEST", 100)
    install("lightgbm", STUMPS)
    run = fitted(make_frame(), network=False, answer="lightgbm")
    save_run(run, tmp_path / "run")
    sys.modules["lightgbm"] = None  # which `install` takes away
    stored = load(tmp_path / "run")
    told, ridge = forecast(stored, make_frame()), forecast(stored.with_answer("ridge"), make_frame())
    model = model_of(run).refits["future"]["lightgbm"]
    moved = (told["multiway"] - ridge["multiway"]).to_numpy().reshape(3, -1) / stored.state.scaler.std[:, None]
    assert moved == pytest.approx(np.full_like(moved, float(model.trees.value.sum())), rel=1e-4)


def test_lightgbm_learns_what_ridge_misses(monkeypatch):
    pytest.importorskip("lightgbm", reason="lightgbm is an extra")
    monkeypatch.setattr(candidate, "SECONDS", 0.0)
    rng, values = np.random.default_rng(0), [0.3]
    for _ in range(2_999):
        values.append(3.7 * values[-1] * (1 - values[-1]))
    noisy = np.array(values) + 0.01 * rng.standard_normal(3_000)
    frame = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=3_000, freq="h"), "y": noisy})
    run = fitted(frame, network=False, answer="auto", horizon=2)
    errors = {
        row["model"]: row["value"]
        for row in run.scores
        if (row["split"], row["metric"], row["scale"]) == ("test", "mse", "scaled")
    }
    assert errors["lightgbm"] < 0.3 * errors["ridge"]


def test_fracast_forecasts_from_all_rows_before_a_future_as_many_as_it_reads(install, tmp_path):
    install("fracast", ZERO_SHOT)
    frame = make_frame(rows=80)
    run = fitted(frame, network=False, answer="fracast", lookback=12)
    values = run.state.scaler.transform(frame.iloc[:, 1:].to_numpy())
    network = fracast.load_fracast()
    network.seen.clear()
    save_run(run, tmp_path / "run")
    told = forecast(load(tmp_path / "run"), frame)
    assert network.seen[-1] == pytest.approx(values[-32:].T, rel=1e-5)
    season = frame.iloc[-12:-8, 1:].to_numpy().T.ravel()
    assert told["multiway"].to_numpy() == pytest.approx(season, rel=1e-5)
    network.seen.clear()
    model = model_of(run).candidates["fracast"]
    window = torch.from_numpy(values[:12]).float()[None]
    assert model(window).shape == (1, 4, 3) and np.isnan(network.seen[0][:, :20]).all()


def test_fracast_sees_gaps_and_takes_the_last_value_where_it_has_too_few(install):
    install("fracast", ZERO_SHOT)
    frame = make_frame(rows=80)
    frame.iloc[70, 1], frame.iloc[44:76, 2] = np.nan, np.nan
    run = fitted(frame, network=False, answer="fracast", lookback=12, levels=(), read={"missing": "mask"})
    network = fracast.load_fracast()
    network.seen.clear()
    forecast(run, frame)
    first, second, _ = network.seen[-1]
    assert np.isnan(first).tolist() == [place == 22 for place in range(32)]
    last = run.state.scaler.transform(frame.iloc[:, 1:].to_numpy())[-1, 1]
    assert np.isfinite(second).tolist() == [place >= 24 for place in range(32)]
    assert second[24:] == pytest.approx(np.full(8, last), rel=1e-5)


def test_fracast_takes_part_where_its_windows_take_few_seconds(install, monkeypatch):
    install("fracast", ZERO_SHOT)
    windows = make_windows(60, 3, 7, 5)
    seconds = fracast.PACE * len(windows) * 3
    monkeypatch.setattr(fracast, "SECONDS", seconds)
    assert "fracast" in allowed(windows)
    monkeypatch.setattr(fracast, "SECONDS", seconds - 1e-9)
    assert "fracast" not in allowed(windows)
