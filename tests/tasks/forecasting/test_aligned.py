"""Robust ridge and processes of phases: where they take part, what they save in heavy tails, and what is stored."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.models.regression import Regressors
from multiway.models.series_units import Units
from multiway.tasks import candidate as every_candidate
from multiway.tasks.forecasting import candidate
from multiway.tasks.forecasting.candidate import Sizes
from multiway.tasks.forecasting.candidates import aligned, robust
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.run import load, save_run
from tasks.forecasting.panels import allowed, fitted, forecast, make_windows


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
        patch.setattr(candidate, "SHORTEST", 100)
        patch.setattr(aligned, "FEWEST", 30)
        patch.setattr(candidate, "SECONDS", 0.0)
        patch.setattr(every_candidate, "is_installed", lambda name: False)
        return fitted(spikes(), network=False, answer="auto", horizon=2, lookback=14, season=7, levels=())


NAMES = pytest.mark.parametrize("name", ["robust", "aligned"])


@NAMES
def test_it_errs_less_than_ridge_where_values_lie_far_out(run, name):
    mae = {
        row["model"]: row["value"]
        for row in run.scores
        if (row["split"], row["metric"], row["scale"]) == ("test", "mae", "scaled")
    }
    assert mae[name] < 0.85 * mae["ridge"]


@NAMES
def test_it_is_refitted_under_the_penalty_that_was_chosen(run, name):
    models = [made[name] for made in (model_of(run).candidates, *model_of(run).refits.values())]
    assert not any(torch.equal(one.centre, other.centre) for one, other in itertools.pairwise(models))
    assert all(torch.equal(each.penalty, models[0].penalty) for each in models)


@NAMES
def test_a_stored_run_forecasts_by_it(run, tmp_path, name):
    save_run(run, tmp_path / "run")
    later = spikes(200, seed=3)
    stored = load(tmp_path / "run").with_answer(name)
    pd.testing.assert_frame_equal(forecast(stored, later), forecast(run.with_answer(name), later))
    assert not np.allclose(forecast(stored, later)["multiway"], forecast(run.with_answer("ridge"), later)["multiway"])


def test_robust_ridge_takes_part_in_long_series_without_a_network(monkeypatch):
    names = {rows: allowed(make_windows(rows, 3, 7, 5)) for rows in (1000, 1001)}
    assert "robust" not in names[1000] and "robust" in names[1001]
    assert "robust" not in allowed(make_windows(1001, 3, 7, 5), network=True)
    monkeypatch.setattr(robust, "MOST_WEIGHTS", 3 * 5 * 7 - 1)
    assert "robust" not in allowed(make_windows(1001, 3, 7, 5))


def clocked(rows, horizon=5, season=7, features=0, network=False):
    known = torch.zeros(rows, 1, features)
    windows = make_windows(rows, 3, 7, horizon).replace(
        covariates=Regressors(known, known[..., :0], torch.arange(rows))
    )
    return "aligned" in allowed(windows, season, network=network)


def test_processes_take_part_where_every_phase_has_enough_windows(monkeypatch):
    assert clocked(711) and not clocked(710)  # 100 windows of every phase
    assert not clocked(1001, season=11)  # no season in the look-back
    assert clocked(1001, features=1, network=True) and not clocked(1001, network=True)
    monkeypatch.setattr(aligned, "MOST_WORK", 1e6)
    assert not clocked(1001)


def test_what_is_known_of_a_row_is_all_but_its_calendar():
    none, one = torch.zeros(1), torch.ones(1)
    units = Units(none, one, none, one)
    sizes = Sizes(lookback=14, horizon=2, season=7, matrices=0, units=units, known=(3, 1, 5), calendar=5)
    assert aligned.CANDIDATE.build(sizes).known == 4


def test_the_phase_of_a_later_file_is_that_of_its_times(run):
    table = spikes()
    whole = forecast(run.with_answer("aligned"), table)
    assert_frame_close(forecast(run.with_answer("aligned"), table[3:]), whole)


def assert_frame_close(one, other):
    np.testing.assert_allclose(one["multiway"], other["multiway"], rtol=1e-5)
