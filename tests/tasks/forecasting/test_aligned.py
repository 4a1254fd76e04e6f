"""Robust ridge as a candidate: where it takes part, what it saves where tails are heavy, and what is stored."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.tasks.forecasting import candidates
from multiway.tasks.forecasting.candidates import allowed_names
from multiway.tasks.forecasting.network import model_of
from multiway.tasks.run import load, save_run
from tasks.forecasting.panels import fitted, forecast, make_windows


def spikes(rows=420, seed=0):
    """A season of seven steps, and every twentieth value or so far out."""
    rng = np.random.default_rng(seed)
    values = 5 * np.sin(2 * np.pi * np.arange(rows) / 7) + rng.standard_normal(rows)
    out = rng.random(rows) < 0.05
    times = pd.date_range("2024-01-01", periods=rows, freq="D")
    return pd.DataFrame({"date": times, "y": values + out * 100 * np.abs(rng.standard_normal(rows))})


@pytest.fixture(scope="module")
def run():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "SHORTEST", 100)
        patch.setattr(candidates, "LONGEST", 0)
        patch.setattr(candidates, "is_installed", lambda name: False)
        return fitted(spikes(), network=False, answer="auto", horizon=2, lookback=14, levels=())


def test_it_errs_less_than_ridge_where_values_lie_far_out(run):
    mae = {
        row["model"]: row["value"]
        for row in run.scores
        if (row["split"], row["metric"], row["scale"]) == ("test", "mae", "scaled")
    }
    assert mae["aligned"] < 0.8 * mae["ridge"]


def test_it_is_fitted_again_under_the_penalty_that_validation_chose(run):
    models = [made["aligned"] for made in (model_of(run).candidates, *model_of(run).refits.values())]
    assert not any(torch.equal(one.weight, other.weight) for one, other in itertools.pairwise(models))
    assert all(torch.equal(each.penalty, models[0].penalty) for each in models)


def test_a_stored_run_forecasts_by_it(run, tmp_path):
    save_run(run, tmp_path / "run")
    later = spikes(200, seed=3)
    stored = load(tmp_path / "run").asking("aligned")
    pd.testing.assert_frame_equal(forecast(stored, later), forecast(run.asking("aligned"), later))
    assert not np.allclose(forecast(stored, later)["multiway"], forecast(run.asking("ridge"), later)["multiway"])


def test_it_takes_part_in_long_series_without_a_network(monkeypatch):
    names = {rows: allowed_names(make_windows(rows, 3, 7, 5), 1, np.zeros(3), np.zeros(3)) for rows in (1000, 1001)}
    assert "aligned" not in names[1000] and "aligned" in names[1001]
    assert "aligned" not in allowed_names(make_windows(1001, 3, 7, 5), 1, np.zeros(3), np.zeros(3), network=True)
    monkeypatch.setattr(candidates, "MOST_WEIGHTS", 3 * 5 * 7 - 1)
    assert "aligned" not in allowed_names(make_windows(1001, 3, 7, 5), 1, np.zeros(3), np.zeros(3))
