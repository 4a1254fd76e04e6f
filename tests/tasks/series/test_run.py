"""What a run on labelled series leaves, says and refuses, and what its estimator takes."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import multiway
from command import outcome, printed
from multiway import workflows
from multiway.data import datasets
from multiway.errors import ConfigError, DataError
from multiway.tasks.lifecycle import load
from multiway.tasks.registry import task_of_data
from multiway.tasks.series import page as series_page
from report_pages import Page
from tasks.rightly import all_right
from tasks.series.archives import bumps, long_frame

MODEL = {"dim": 8, "num_heads": 2, "dropout": 0.0}
FAST = {
    "model": MODEL,
    "draws": 20,
    "training": {"epochs": 6, "batch_size": 8, "learning_rate": 0.02, "warmup_steps": 2},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("series")
    (x, y), (test, test_y) = bumps(60), bumps(20, seed=1)
    np.savez(path / "bumps.npz", X_train=x, y_train=y, X_test=test, y_test=test_y)
    workflows.train({"data": str(path / "bumps.npz"), **FAST}, task="series", out=path / "run", progress=False)
    return path


def test_every_model_is_scored_with_the_network(folder):
    run = load(folder / "run")
    assert list(run.models) == ["network", "majority", "logistic", "quant", "rocket"]
    metrics = {row["metric"] for row in run.scores}
    assert metrics == {"acc", "auc", "balanced_accuracy", "ece", "f1", "weighted_f1"}
    test = {row["model"]: row["value"] for row in run.scores if (row["split"], row["metric"]) == ("test", "acc")}
    assert test["majority"] == 0.5 and min(test["network"], test["rocket"]) > 0.9
    assert run.facts["splits"]["test"] == {"samples": 20, "groups": None, "classes": {"1": 10, "2": 10}}


@pytest.mark.parametrize(("model", "least"), [("network", 0.4), ("logistic", 0.4), (None, 0.25)])
def test_the_steps_of_the_bump_are_what_moved_the_answer(folder, tmp_path, model, least):
    answer = workflows.explain(folder / "run", out=tmp_path / "why", model=model)
    shares = pd.read_csv(tmp_path / "why" / "importance.csv", dtype={"position": str})
    assert len(shares) == len(answer.frame) == 13 and answer.notes[-1].startswith("It is what the model uses")
    assert ("gradients of the network" in answer.notes[0]) == (model == "network")
    steps = shares[shares["mode"] == "step"].set_index("position")["share"]
    assert steps.sum() == pytest.approx(1) and steps[["4", "5", "6"]].sum() > least


def test_the_report_shows_what_the_answer_went_by(folder):
    page = printed("report", folder / "run", "--out", folder / "report.html")
    text = (folder / "report.html").read_text()
    assert (
        page.strip().endswith("report.html") and "What the answer went by" in text and "MultiRocket and Hydra" in text
    )


def test_where_no_series_is_misclassified_the_least_sure_are_drawn(folder):
    run = all_right(load(folder / "run"))
    first = next(iter(series_page.PAGE.parts([run])))
    assert first.title == "Least sure series" and first.support[0].startswith("No test series was misclassified.")
    assert len(first.content) == 6 and all(chart.title.endswith("%; rightly") for chart in first.content)
    page = Page(run.task.page.report([run])).text
    assert "No test series was misclassified." in page and "confident errors" not in page


def test_shares_of_variates_are_in_percent():
    shares = {"model": "rocket", "step": {"1": 0.5, "2": 0.5}, "variate": {"pressure": 0.25, "pulse": 0.75}}
    (part,) = series_page.importance_part([SimpleNamespace(facts={"importance": shares})])
    found = [(bar.name, bar.value, bar.width) for bar in part.content[1].bars]
    assert found == [("pulse", "75.0\u202f%", 75), ("pressure", "25.0\u202f%", 25)]


def test_series_of_a_file_get_their_class(folder, tmp_path):
    np.savez(tmp_path / "new.npz", X=bumps(5, seed=3)[0])
    answer = workflows.predict(folder / "run", data=str(tmp_path / "new.npz"), out=tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found) == ["series", "predicted", "p_1", "p_2"] and len(answer.frame) == 5
    assert found[["p_1", "p_2"]].sum(axis=1).to_numpy() == pytest.approx(1)
    with pytest.raises(ConfigError, match=r"a run of series needs series\. Give some \(data=FILE\)"):
        workflows.predict(folder / "run")


def test_check_and_audit_know_the_task(folder):
    assert task_of_data(folder / "bumps.npz") == "series" == task_of_data(long_frame())
    assert "official split: train and test" in printed("check", folder / "bumps.npz")
    assert "none of 80 series is in two splits" in printed("audit", folder / "run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"variates": 3}}, r"model\.variates is set by the data"),
        ({"model": {"layer": "low_rank"}}, "tensor_train and low_rank, which need one"),
        ({"model": {"name": "tabular_mlp"}}, "model.name must be one of series_classifier"),
        ({"training": {"loss": "mse"}}, "classes are trained with training.loss=cross_entropy"),
        ({"training": {"validation_loss": "mse"}}, "classes are trained with training.loss=cross_entropy"),
        ({"baselines": ["forest"]}, "baselines"),
    ],
)
def test_a_config_that_does_not_fit(change, message):
    with pytest.raises(ConfigError, match=message):
        workflows.train({"data": "x.npz", **change}, task="series", progress=False)


def test_every_layer_is_fitted_by_the_estimator():
    x, y = bumps(60)
    ragged = [row[: 12 - place % 3] for place, row in enumerate(x)]
    words = np.array(["low", "high"])[y - 1]
    for layer, model in (("nd_linear", {}), ("linear", {}), ("low_rank", {"rank": 2}), ("tensor_train", {"rank": 2})):
        settings = FAST | {"model": MODEL | model}
        fitted = multiway.SeriesClassifier(layer=layer, epochs=6, baselines=(), settings=settings).fit(ragged, words)
        assert fitted.classes_.tolist() == ["high", "low"] and fitted.score(ragged, words) > 0.8, layer


def test_an_estimator_is_stored_and_scored(tmp_path):
    x, y = bumps(60)
    fitted = multiway.SeriesClassifier(epochs=4, baselines=("majority",), settings=FAST).fit(x[..., None], y)
    fitted.save(tmp_path / "run")
    repeated = multiway.SeriesClassifier.load(tmp_path / "run")
    np.testing.assert_array_equal(repeated.predict_proba(x), fitted.predict_proba(x))
    assert repeated.predict(x).dtype.kind == "i" and set(repeated.evaluate(x, y)["model"]) == {"network", "majority"}
    with pytest.raises(DataError, match=r"series may have 12 steps"):
        repeated.predict(np.ones((1, 13)))
    with pytest.raises(DataError, match="y needs one class per sample"):
        fitted.fit(x, y[:3])


@pytest.mark.parametrize(
    ("name", "counts"),
    [("ecg_five_days", (23, 861)), ("epilepsy", (137, 138)), ("chlorine_concentration_partial", (467, 1136))],
)
def test_a_published_set_is_found_and_has_its_counts(name, counts, real_data, monkeypatch):
    monkeypatch.setenv("MULTIWAY_DATA", str(real_data))
    said = json.loads(printed("check", name, "--json"))
    assert said["summary"]["series"] == sum(counts) == sum(datasets.dataset(name).counts)
    assert said["summary"]["official split"] == "train and test"


@pytest.mark.parametrize("steps", [1, 2, 20])
@pytest.mark.parametrize("kind", ["noise", "gaps", "whole numbers", "one series"])
def test_an_audit_of_short_series_ends_in_words(steps, kind, tmp_path):
    draw = np.random.default_rng(0)
    values = draw.normal(size=(30, steps))
    if kind == "gaps":
        values[:, 1:][draw.random((30, steps - 1)) < 0.2] = np.nan
    if kind == "whole numbers":
        values = draw.integers(0, 2, (30, steps))
    if kind == "one series":
        values = np.repeat(values[:1], 30, 0)
    np.savez(tmp_path / "short.npz", X=values, y=np.arange(30) % 2)
    code, out, err = outcome("audit", "series", "--data", tmp_path / "short.npz")
    assert code in (0, 1) and ("passed: " in out or err.startswith("multiway: error: "))
