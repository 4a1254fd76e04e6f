"""A run on a rare class is judged by its average precision, and predicts it from a threshold of its own on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, f1_score

import multiway
from multiway import workflows
from multiway.metrics.classes import f1_threshold
from multiway.tasks.lifecycle import load
from multiway.tasks.scores import metrics_with_scores
from multiway.tasks.targets import rare_class, threshold_note

NAMES = ("bad", "good")
FAST = {"model": {"hidden": [8]}, "draws": 20, "training": {"epochs": 3, "learning_rate": 0.02}}
BASELINES = ["majority", "logistic"]


def loans(rows=600):
    chance = np.random.default_rng(3)
    debt, age = chance.normal(size=rows), chance.normal(size=rows)
    bad = chance.random(rows) < 1 / (1 + np.exp(4.2 - 1.8 * debt))
    return pd.DataFrame({"debt": debt, "age": age, "paid": np.where(bad, *NAMES)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("loans")
    loans().to_csv(path / "loans.csv", index=False)
    given = {"data": str(path / "loans.csv"), "read": {"target": "paid"}, "baselines": BASELINES, **FAST}
    workflows.train(given, task="tabular", out=path / "run", progress=False)
    return path


def test_which_class_is_rare():
    labels = np.array([0] * 9 + [1] * 91)
    assert rare_class(labels, NAMES) == 0 and rare_class(1 - labels, NAMES) == 1
    assert rare_class(labels[1:-80], NAMES) is None and rare_class(labels, ("a", "b", "c")) is None
    assert rare_class(labels[9:], NAMES) is None and rare_class(labels, None) is None


def test_average_precision_comes_first(folder):
    run = load(folder / "run")
    assert run.state.rare == 0 and metrics_with_scores(run)[0].name == "ap"
    scores = {(row["model"], row["split"], row["metric"]): row["value"] for row in run.scores}
    for (model, split), rows in run.tables["predictions"].groupby(["model", "split"]):
        is_bad = rows["label"] == "bad"
        assert scores[model, split, "ap"] == pytest.approx(average_precision_score(is_bad, rows["p_bad"]))
        assert scores[model, split, "rare_f1"] == pytest.approx(f1_score(is_bad, rows["predicted"] == "bad"))
    assert workflows.evaluate(folder / "run")[0]["ap"] == scores[run.answer.name, "test", "ap"]


def test_the_threshold_is_chosen_on_validation_and_decides_the_answer(folder, tmp_path):
    run = load(folder / "run")
    name = run.answer.name
    rows = run.tables["predictions"].query("split == 'validation' and model == @name")
    shares = rows[["p_bad", "p_good"]].to_numpy()
    threshold = float(run.calibration[name])
    assert threshold == f1_threshold((rows["label"] == "good").to_numpy(int), shares, 0) and threshold != 0.5
    answer = workflows.predict(folder / "run", data=str(folder / "loans.csv"), out=tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert ((found["p_good"] > threshold) == (found["predicted"] == "good")).all()
    assert threshold_note(NAMES, 0, threshold) in answer.notes
    assert f"'bad' is rare: it is predicted from p = {1 - threshold:.3g} on" in answer.notes[-1]
    other = workflows.predict(folder / "run", data=str(folder / "loans.csv"), model="majority")
    assert set(other.frame["predicted"]) <= set(NAMES)


def test_the_report_shows_errors_at_the_threshold(folder, tmp_path):
    page = workflows.report(folder / "run", out=tmp_path / "report.html").read_text()
    assert (
        "Average precision" in page and "F1 of the rare class" in page and "'bad' is rare" in page.replace("&#39;", "'")
    )


def test_an_estimator_predicts_by_the_threshold():
    frame = loans()
    frame["paid"] = np.where(frame["paid"] == "bad", 1, 0)
    rows, paid = frame[["debt", "age"]], frame["paid"]
    model = multiway.TabularClassifier(baselines=BASELINES, settings=FAST).fit(rows, paid)
    run = model.run_
    threshold = float(run.calibration[run.answer.name])
    assert run.state.rare == 1 and threshold < 0.5
    assert (model.predict(rows) == (model.predict_proba(rows)[:, 1] > threshold)).all()
