"""Trees as a candidate of forecasts: where they take part, where they answer, and what is stored."""

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.errors import ConfigError
from multiway.lazy import is_installed
from multiway.tasks import candidate as every_candidate
from multiway.tasks.forecasting import candidate
from multiway.tasks.forecasting.candidate import error_of
from multiway.tasks.forecasting.candidates import trees
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.run import load, save_run
from tasks.forecasting.panels import allowed, fitted, forecast, make_windows


def chaos(rows=420, seed=0):
    """The logistic map and a little noise: the next value is a parabola of the last."""
    rng, values = np.random.default_rng(seed), [0.3]
    for _ in range(rows - 1):
        values.append(3.7 * values[-1] * (1 - values[-1]))
    times = pd.date_range("2024-01-01", periods=rows, freq="h")
    return pd.DataFrame({"date": times, "y": np.array(values) + 0.01 * rng.standard_normal(rows)})


@pytest.fixture(scope="module")
def run():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidate, "SHORTEST", 100)
        patch.setattr(candidate, "SECONDS", 0.0)
        return fitted(chaos(), network=False, answer="auto", horizon=2)


def mse(run, split="test"):
    return {
        row["model"]: row["value"]
        for row in run.scores
        if (row["split"], row["metric"], row["scale"]) == (split, "mse", "scaled")
    }


def test_trees_answer_for_a_series_that_is_not_linear(run):
    errors = mse(run)
    assert run.answer.weights.get("trees", 1.0) > 0.5 and "trees" in run.line
    assert errors["trees"] < 0.7 * errors["ridge"] and errors["multiway"] < 0.7 * errors["ridge"]


def test_they_are_refitted_for_the_test_rows_and_for_the_future(run):
    model = model_of(run)
    values = [made["trees"].trees.value for made in (model.candidates, *model.refits.values())]
    assert not any(torch.equal(*pair) for pair in itertools.pairwise(values))


def test_a_stored_run_forecasts_by_them_without_scikit_learn(run, tmp_path, monkeypatch):
    save_run(run, tmp_path / "run")
    monkeypatch.setattr("multiway.models.tree_ensemble.load_extra", None)
    stored = load(tmp_path / "run").with_answer("trees")
    later = chaos(200, seed=3)
    pd.testing.assert_frame_equal(forecast(stored, later), forecast(run.with_answer("trees"), later))
    ridge = forecast(run.with_answer("ridge"), later)
    assert not np.allclose(forecast(stored, later)["multiway"], ridge["multiway"])


def test_they_take_part_in_long_series_of_few_steps_where_the_library_is_there(monkeypatch):
    names = {rows: allowed(make_windows(rows, 3, 7, 5)) for rows in (1000, 1001)}
    assert "trees" not in names[1000] and "trees" in names[1001]
    monkeypatch.setattr(trees, "MOST_STEPS", 3 * 5 * (1001 - 11) - 1)
    assert "trees" not in allowed(make_windows(1001, 3, 7, 5))
    monkeypatch.setattr(trees, "MOST_STEPS", 3 * 5 * (1001 - 11))
    assert "trees" in allowed(make_windows(1001, 3, 7, 5))
    monkeypatch.setattr(every_candidate, "is_installed", lambda name: name != "sklearn" and is_installed(name))
    assert "trees" not in allowed(make_windows(1001, 3, 7, 5))


def test_trees_that_cannot_take_part_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"answer: rows, .* allow .*ridge.*\. Got trees"):
        fitted(chaos(120), network=False, answer="trees")


def explained(rows=420, seed=0):
    """Noise that a cheap price lifts where it is cheaper than a threshold alone, and a column that tells nothing."""
    rng = np.random.default_rng(seed)
    price, idle = rng.uniform(0, 1, (2, rows))
    times = pd.date_range("2024-01-01", periods=rows, freq="h")
    values = 3.0 * ((price > 0.3) & (price < 0.5)) + 0.3 * rng.standard_normal(rows)
    return pd.DataFrame({"date": times, "y": values, "price": price, "idle": idle})


def test_trees_heed_covariates_where_validation_gains(monkeypatch):
    monkeypatch.setattr(candidate, "SHORTEST", 100)
    monkeypatch.setattr(candidate, "SECONDS", 0.0)
    sizes = {"network": False, "answer": "auto", "horizon": 2, "calendar": False}
    run = fitted(explained(), future=("price",), past=("idle",), **sizes)
    assert model_of(run).candidates["trees"].heeds and all(
        made["trees"].heeds for made in model_of(run).refits.values()
    )
    errors = mse(run)
    assert errors["trees"] < 0.3 * errors["regression"]
    saved = {row["name"]: row["saved"] for row in run.facts["covariates"] if row["model"] == "trees"}
    assert saved["price"] > 0.7 and abs(saved["idle"]) < 0.1
    assert any("trees on validation without each: price saves" in note for note in run.facts["notes"])


def test_trees_that_covariates_do_not_help_are_those_without_them(monkeypatch):
    monkeypatch.setattr(candidate, "SHORTEST", 100)
    monkeypatch.setattr(candidate, "SECONDS", 0.0)
    sizes = {"network": False, "answer": "trees", "horizon": 2, "calendar": False}
    run, alone = (fitted(explained()[["date", "y", *names]], past=names, **sizes) for names in (("idle",), ()))
    own, plain = (model_of(each).candidates["trees"] for each in (run, alone))
    assert not own.heeds
    validation = run.prepared.windows["validation"].of_targets()
    assert error_of(own, validation) == error_of(plain, alone.prepared.windows["validation"].of_targets())
