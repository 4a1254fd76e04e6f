"""A column of weights counts in fitting, in validation and in scores; an answer goes with a column one way."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import accuracy_score, average_precision_score, mean_absolute_error

import multiway
from multiway.data.samples import Samples
from multiway.errors import ConfigError, DataError
from multiway.tasks import lifecycle
from multiway.tasks.tabular.config import TabularConfig
from multiway.tasks.tabular.explain import importance, permutation_importance
from multiway.tasks.tabular.task import TASK
from multiway.tasks.target_task import answer_samples
from tasks.tabular.rows import patients

QUICK = {"model": {"hidden": [8]}, "draws": 0, "training": {"epochs": 2, "learning_rate": 0.02}}


def weighed(rows=200):
    """Patients that count unlike."""
    return patients(rows).assign(count=np.random.default_rng(7).integers(1, 6, rows))


def fitted(frame, target="ill", read=None, **settings):
    given = {**QUICK, "read": {"target": target, "weights": "count", **(read or {})}, **settings}
    return lifecycle.fit_in_memory(TASK, TabularConfig.parse(given), frame)


@pytest.mark.parametrize("target", ["ill", "weight"])
def test_scores_and_means_of_classes_are_weighted_and_said_so(target):
    frame = weighed()
    run = fitted(frame, target)
    assert "rows count as 'count' says, in fitting, validation and scores." in run.facts["notes"]
    counts = frame["count"].to_numpy(float)
    for (model, split), rows in run.tables["predictions"].groupby(["model", "split"]):
        own = counts[run.prepared.rows(split)]
        scores = {row["metric"]: row["value"] for row in run.scores if (row["model"], row["split"]) == (model, split)}
        if target == "ill":
            assert scores["acc"] == pytest.approx(accuracy_score(rows["label"], rows["predicted"], sample_weight=own))
        else:
            expected = mean_absolute_error(rows["label"], rows["predicted"], sample_weight=own)
            assert scores["mae"] == pytest.approx(expected)
    train = run.prepared.rows("train")
    if target == "ill":
        ill = frame["ill"].to_numpy() == "yes"
        assert float(run.models["majority"].shares[1]) == pytest.approx(np.average(ill[train], weights=counts[train]))


def test_weights_of_test_rows_reach_test_scores_alone():
    frame = weighed()
    one = fitted(frame)
    test = one.prepared.rows("test")
    frame.loc[test, "count"] = np.arange(1, len(test) + 1)
    other = fitted(frame)
    assert one.answer == other.answer
    for name, model in one.models.items():
        for key, value in model.state_dict().items():
            assert value.equal(other.models[name].state_dict()[key])
    pairs = list(zip(one.scores, other.scores, strict=True))
    assert all(first == second for first, second in pairs if first["split"] == "validation")
    assert any(first["value"] != second["value"] for first, second in pairs if first["split"] == "test")


def test_importance_is_how_far_a_weighted_score_falls():
    run = fitted(weighed(), baselines=["logistic"], answer="logistic")
    rows = run.prepared.raw.take(run.prepared.rows("test"))

    def score(cells):
        inputs = torch.from_numpy(run.state.inputs(cells))
        predicted = answer_samples(run, Samples(inputs=inputs, source="")).argmax(1)
        return accuracy_score(rows.truth, predicted, sample_weight=rows.weights)

    pd.testing.assert_frame_equal(importance(run, rows), permutation_importance(rows.inputs, score))


def test_every_model_takes_the_weights_of_the_training_rows():
    frame = weighed()
    one = fitted(frame)
    train = one.prepared.rows("train")
    frame.loc[train, "count"] = frame.loc[train, "count"].to_numpy()[::-1]
    other = fitted(frame)
    for name, model in one.models.items():
        assert any(not value.equal(other.models[name].state_dict()[key]) for key, value in model.state_dict().items())


def test_balanced_classes_weigh_the_same_in_training_and_rows_count_in_scores_as_they_did():
    frame = weighed()
    rare = frame[(frame["ill"] == "yes") | (np.arange(len(frame)) % 4 == 0)].reset_index(drop=True)
    training = {**QUICK["training"], "class_weights": "balanced"}
    run = fitted(rare, training=training)
    train, weights = run.prepared.rows("train"), run.prepared.encoded.weights
    sums = pd.Series(weights[train]).groupby(rare["ill"].to_numpy()[train]).sum()
    assert sums["yes"] == pytest.approx(sums["no"]) and weights[train].mean() == pytest.approx(1)
    ratio = weights / rare["count"].to_numpy()
    assert len(np.unique(ratio.round(9))) == 2
    assert np.array_equal(run.prepared.raw.weights, rare["count"])
    assert run.models["majority"].shares.tolist() == pytest.approx([0.5, 0.5])
    assert fitted(rare, read={"weights": None}).prepared.encoded.weights is None


def test_a_rare_class_is_looked_for_by_weights():
    frame = weighed(400)
    chance = np.random.default_rng(1).random(400)
    frame["ill"] = np.where((frame["age"] > 60) & (chance < 0.15), "yes", "no")
    run = fitted(frame, baselines=["majority", "logistic"])
    assert run.state.rare == 1
    rows = run.tables["predictions"].query("split == 'test' and model == 'logistic'")
    own = frame["count"].to_numpy(float)[run.prepared.rows("test")]
    expected = average_precision_score(rows["label"] == "yes", rows["p_yes"], sample_weight=own)
    score = next(r for r in run.scores if (r["model"], r["split"], r["metric"]) == ("logistic", "test", "ap"))
    assert score["value"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({3: -1.0, 5: -2.0}, "2 weights in 'count' are missing or below zero: row 3, column 'count'"),
        ({4: np.nan}, "1 weights in 'count' are missing or below zero: row 4"),
        (dict.fromkeys(range(200), 0.0), "every weight in 'count' is zero"),
    ],
)
def test_weights_are_no_less_than_zero(cells, message):
    frame = weighed().astype({"count": float})
    frame.loc[list(cells), "count"] = list(cells.values())
    with pytest.raises(DataError, match=message):
        fitted(frame)


def test_a_row_of_weight_zero_is_as_if_it_were_not_there():
    frame = weighed()
    frame.loc[[3, 50, 199], "count"] = 0
    run, other = fitted(frame), fitted(frame.drop(index=[3, 50, 199]).reset_index(drop=True))
    assert run.scores == other.scores and len(run.prepared.raw) == 197 and 3 not in run.prepared.raw.rows
    assert run.facts["notes"][0].endswith("validation and scores, and 3 of weight zero are left out.")


def test_what_names_no_weights_is_refused():
    with pytest.raises(DataError, match=r"weights names 'counts', which is not there\. Did you mean count"):
        fitted(weighed(), read={"weights": "counts"})
    with pytest.raises(ConfigError, match="weights is a column of its own"):
        fitted(weighed(), read={"weights": "ill"})


def test_later_rows_count_alike_where_no_column_says_otherwise():
    frame = weighed()
    run = fitted(frame)
    later = TASK.prepare(run.config, frame.drop(columns="count"), run.state)
    assert later.raw.weights is None and "there is no column 'count', so all rows count alike." in later.notes
    assert TASK.prepare(run.config, frame, run.state).raw.weights.tolist() == frame["count"].tolist()
    assert TASK.prepare(run.config, frame, run.state, labelled=False).raw.weights is None


def test_an_estimator_takes_weights_by_row():
    frame = weighed()
    rows, counts = frame[["age", "count"]].rename(columns={"count": "weight"}), frame["count"]
    model = multiway.TabularClassifier(baselines=("majority",), settings=QUICK).fit(rows, frame["ill"], counts)
    run = model.run_
    assert run.state.numbers == ("age", "weight") and run.config.read.weights == "weight_"
    assert np.array_equal(run.prepared.raw.weights, counts)
    scores = model.evaluate(rows, frame["ill"], counts)
    found = scores.query("model == 'network' and metric == 'acc'")["value"].item()
    predicted = model.predict(rows, "network")
    assert found == pytest.approx(accuracy_score(frame["ill"], predicted, sample_weight=counts))
    with pytest.raises(DataError, match=r"sample_weight: one number is needed per row, \(200,\)\. Got \(3,\)"):
        model.fit(rows, frame["ill"], [1, 2, 3])
    model.fit(rows, frame["ill"])
    assert model.run_.prepared.raw.weights is None
    with pytest.raises(DataError, match="sample_weight is for what was fitted with it"):
        model.evaluate(rows, frame["ill"], counts)


@pytest.mark.parametrize("target", ["ill", "weight"])
def test_an_answer_goes_with_a_column_one_way(target):
    frame = weighed().assign(extra=np.random.default_rng(2).normal(size=200))
    run = fitted(frame, target, increasing=["age"], decreasing=["extra"])
    linear = "logistic" if target == "ill" else "ridge"
    assert set(run.answer.shares) <= {"trees", "majority", "mean"} and set(run.models) >= {"network", "trees"}
    assert linear not in run.models
    (note,) = [note for note in run.facts["notes"] if note.startswith("The answer rises or falls")]
    assert f"which {linear} and the network cannot promise" in note
    grid = frame.iloc[:20].loc[np.repeat(np.arange(20), 41)].reset_index(drop=True)
    for name, sign in (("age", 1), ("extra", -1)):
        moved = grid.assign(**{name: np.tile(np.linspace(frame[name].min(), frame[name].max(), 41), 20)})
        later = TASK.prepare(run.config, moved, run.state, labelled=False)
        for each in (run.models["trees"], run.refits.get("trees", run.models["trees"])):
            raw = each(later.encoded.inputs)[:, 0].reshape(20, 41)
            assert bool((sign * raw.diff() >= 0).all())


def test_an_answer_that_cannot_be_held_is_refused():
    for settings, message in (
        ({"increasing": ["city"]}, "increasing names input columns of numbers: age, weight. Got city"),
        ({"decreasing": ["aged"]}, "Got aged; did you mean age"),
        ({"increasing": ["age"], "answer": "network"}, "answer: network cannot be held to rise or to fall"),
        ({"increasing": ["age"], "decreasing": ["age"]}, "increasing and decreasing are different columns"),
    ):
        with pytest.raises(ConfigError, match=message):
            fitted(weighed(), **settings)
    with pytest.raises(ConfigError, match=r"are for a number or two classes\. Got 3 classes"):
        fitted(weighed(), "city", increasing=["age"])
