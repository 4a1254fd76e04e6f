"""What a run of a table leaves, says and refuses, of classes and of numbers."""

import dataclasses
import importlib.util
import json
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from command import printed
from multiway import workflows
from multiway.errors import ConfigError, DataError
from multiway.kernels.library import library
from multiway.report import text
from multiway.report.scores import verdict
from multiway.tasks.lifecycle import load, reread
from multiway.tasks.tabular import explain
from multiway.tasks.tabular.page import PAGE
from multiway.workflows.recipe import Recipe
from multiway_papers.cell_rows import cell_row
from tasks.rightly import all_right
from tasks.tabular.rows import patients

FAST = {"model": {"hidden": [8]}, "draws": 20, "training": {"epochs": 4, "batch_size": 32, "learning_rate": 0.02}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    frame = patients(240)
    frame.loc[::11, "weight"] = np.nan
    frame.to_csv(path / "patients.csv", index=False)
    for target in ("ill", "age"):
        given = {"data": str(path / "patients.csv"), "read": {"target": target}, **FAST}
        workflows.train(given, task="tabular", out=path / target, progress=False)
    return path


@pytest.mark.parametrize(("target", "baselines"), [("ill", ["majority", "logistic"]), ("age", ["mean", "ridge"])])
def test_every_model_is_scored_with_the_network(folder, target, baselines):
    run = load(folder / target)
    added = [name for name in ("lightgbm", "catboost") if importlib.util.find_spec(name)]
    assert list(run.models) == ["network", *baselines, "trees", *added]
    metrics = {"ill": {"acc", "auc", "balanced_accuracy", "ece"}, "age": {"mse", "rmse", "mae", "r2"}}[target]
    assert {row["metric"] for row in run.scores} == metrics
    assert {row["split"] for row in run.scores} == {"validation", "test"}
    first, *others = [row["model"] for row in workflows.evaluate(folder / target)]
    assert first == run.answer.name and {first, *others} == {*run.models, first}


def test_rows_in_the_order_of_time_choose_by_rolling_folds(tmp_path):
    frame = patients(240).assign(day=pd.date_range("2024-01-01", periods=240))
    given = {"data": str(_written(frame, tmp_path)), "read": {"target": "age", "time": "day"}, **FAST}
    (trained,) = workflows.train(given, task="tabular", out=tmp_path / "run", progress=False).runs
    assert "5 rolling folds of 9" in trained.line and trained.known == {}


def test_a_fold_that_fails_leaves_a_note(tmp_path):
    late = patients(60).assign(day=pd.date_range("2024-01-01", periods=60))
    late["ill"] = np.where(np.arange(60) < 32, "no", np.where(np.arange(60) % 2, "yes", "no"))
    given = {"data": str(_written(late, tmp_path)), "read": {"target": "ill", "time": "day"}, **FAST}
    (trained,) = workflows.train(given, task="tabular", out=tmp_path / "run", progress=False).runs
    assert any("as a fold failed" in note and "train has no rows of yes" in note for note in trained.facts["notes"])
    assert "validation of 9 rows" in trained.line


def _written(frame, folder):
    frame.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def test_a_row_of_results_says_what_the_network_costs(folder):
    run = load(folder / "age")
    inputs = len(run.state.names)
    row = cell_row("mine", Recipe(task="tabular", table="mine", row="age", data=None), [run], 1)
    assert row["parameters"]["network"] == (inputs + 1) * inputs + 2 * 8 + 8 * inputs + 1
    between = 0 if library() else inputs  # two modes: the compiled chain makes again what lies between them
    weights, kept = row["parameters"]["network"], 4 * (inputs + between + 8 * inputs)  # what the layers saw
    assert run.facts["kept"] == kept and row["step_bytes"] == 16 * weights + 32 * kept
    assert row["flops"] == 2 * (inputs * inputs + inputs * 8 + inputs * 8) and row["seconds"] > 0


@pytest.mark.parametrize(("target", "metric", "sign"), [("ill", "acc", 1), ("age", "mae", -1)])
def test_importance_is_how_far_the_score_of_the_run_falls(folder, target, metric, sign, monkeypatch):
    """Of a number the error, which is better where it is lower, rises."""
    scores = {(row["model"], row["split"], row["metric"]): row["value"] for row in load(folder / target).scores}
    monkeypatch.setattr(explain, "permutation_importance", lambda cells, score: pd.DataFrame([[score(cells)]]))
    run = load(folder / target)
    prepared = reread(run)
    test = prepared.raw.take(prepared.rows("test"))
    assert explain.importance(run, test).iat[0, 0] == pytest.approx(sign * scores[run.answer.name, "test", metric])


def test_scores_come_from_the_predictions(folder):
    run = load(folder / "age")
    for model, rows in run.tables["predictions"].query("split == 'test'").groupby("model"):
        stored = next(
            row for row in run.scores if (row["model"], row["split"], row["metric"]) == (model, "test", "mse")
        )
        assert stored["value"] == pytest.approx(((rows["predicted"] - rows["label"]) ** 2).mean())


def test_answers_are_appended_to_the_rows_of_a_file(folder, tmp_path):
    later = patients(9).drop(columns="ill").assign(note=range(9))
    later.loc[0, "city"] = "Rom"
    later.to_csv(tmp_path / "new.csv", index=False)
    answer = workflows.predict(folder / "ill", data=str(tmp_path / "new.csv"), out=tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found) == [*later, "predicted", "p_no", "p_yes"] and found["note"].tolist() == list(range(9))
    assert found[["p_no", "p_yes"]].sum(axis=1).to_numpy() == pytest.approx(1)
    assert "1 cells of 'city' have a level that training had not" in answer.notes
    later.drop(columns="weight").to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(DataError, match="columns are matched by name, and weight is lacking"):
        workflows.predict(folder / "ill", data=str(tmp_path / "less.csv"))


def test_rows_are_written_as_they_came(folder, tmp_path):
    later = patients(3).drop(columns="ill").assign(code=["000", "001", "002"], price=["$1,200.50", "$3.00", "$4.10"])
    later.to_csv(tmp_path / "new.csv", index=False)
    workflows.predict(folder / "ill", data=str(tmp_path / "new.csv"), out=tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert found[["code", "price"]].to_numpy().tolist() == later[["code", "price"]].to_numpy().tolist()


def test_other_rows_are_scored_without_learning_from_them(folder, tmp_path):
    patients(60).to_csv(tmp_path / "later.csv", index=False)
    rows = workflows.evaluate(folder / "ill", data=str(tmp_path / "later.csv"))
    assert rows[0]["model"] == load(folder / "ill").answer.name and 0.5 < rows[0]["acc"] <= 1


def test_the_column_that_matters_comes_first(folder):
    answer = workflows.explain(folder / "ill")
    assert answer.frame["column"].iloc[0] == "age" and answer.frame["column"].iloc[-1] == "all"
    assert "not what causes" in answer.notes[-1]
    written = workflows.explain(folder / "age", out=folder / "explained")
    assert [file.name for file in written.files] == ["importance.csv", "errors.csv"]


@pytest.mark.parametrize("target", ["ill", "age"])
def test_the_errors_that_say_most_are_named_by_their_row_of_the_file(folder, target, tmp_path):
    """Errors on classes by confidence, of numbers by size; the rows are lines of the file, of which the head is one."""
    workflows.explain(folder / target, out=tmp_path)
    found = pd.read_csv(tmp_path / "errors.csv")
    lines = (folder / "patients.csv").read_text().splitlines()
    place = lines[0].split(",").index(target)
    cells = pd.Series([lines[row - 1].split(",")[place] for row in found["row"]])
    assert (cells.astype(found["true"].dtype) == found["true"]).all()
    run = load(folder / target)
    test = run.tables["predictions"].query("split == 'test' and model == @run.answer.name").set_index("row")
    if target == "ill":
        wrong = test[test["label"] != test["predicted"]]
        confidence = wrong[["p_no", "p_yes"]].max(axis=1).sort_values(ascending=False)
        np.testing.assert_allclose(found["probability"], confidence[:20])
        assert (found["true"] != found["predicted"]).all()
    else:
        errors = test["predicted"] - test["label"]
        np.testing.assert_allclose(found["error"], errors.loc[errors.abs().sort_values(ascending=False).index[:20]])
    page = workflows.report(folder / target, out=tmp_path / "report.html").read_text()
    part = page[page.index("most confident errors" if target == "ill" else "largest errors") :]
    assert part.index(f">{found['row'][0]}<") < part.index(f">{found['row'][1]}<")


@pytest.mark.parametrize("target", ["ill", "age"])
def test_a_report_and_a_comparison(folder, target, tmp_path):
    page = workflows.report(folder / target, out=tmp_path / "report.html").read_text()
    assert "boosted trees" in page and ("Calibration" in page) == (target == "ill")
    repeated = shutil.copytree(folder / target, tmp_path / "again")
    rows = workflows.compare([folder / target, repeated], out=tmp_path / "both.html")
    assert len(rows) == 2 * len(load(folder / target).candidates) and (tmp_path / "both.html").read_text().startswith(
        "<!doctype html>"
    )


def test_an_audit_of_a_run_looks_at_what_its_scaling_learnt(folder):
    text = "\n".join(workflows.audit(folder / "ill").lines())
    assert "what scaling learnt (mean and std of 2 variates) comes from the training rows alone" in text
    assert "leak: column age" not in text and "note: column age tells the class" in text


def test_what_cannot_be_trained_is_refused(folder):
    data = {"data": str(folder / "patients.csv")}
    with pytest.raises(ConfigError, match=r"a target to predict is needed\. Name it \(read\.target=NAME\)"):
        workflows.train(data, task="tabular", out=folder / "none", progress=False)
    for settings, words in (
        ({"model": {"name": "hot_forecaster"}}, "model.name must be one of tabular_mlp, tabular_mlp_dense"),
        ({"model": {"in_features": 3}}, "model.in_features is set by the data"),
        ({"training": {"loss": "cross_entropy"}}, "classes have cross-entropy anyway"),
    ):
        with pytest.raises(ConfigError, match=words):
            workflows.train({**data, "read": {"target": "ill"}, **settings}, task="tabular", progress=False)
    assert not (folder / "none").exists()


def test_a_table_of_words_is_recognised_and_checked(folder):
    text = printed("check", folder / "patients.csv", "--target", "ill")
    assert "numbers: age, weight" in text and "kind: classes" in text


def test_boosted_trees_are_those_of_scikit_learn(folder):
    from sklearn.ensemble import HistGradientBoostingRegressor

    from multiway.data.options import SplitShares
    from multiway.models.tree_ensemble import EVERY
    from multiway.tasks.tabular.config import TableOptions
    from tasks.tabular.rows import prepare_table

    run = load(folder / "age")
    prepared = prepare_table(folder / "patients.csv", TableOptions(target="age"), SplitShares())
    rows, test = prepared.part("train"), prepared.part("test")
    chosen = json.loads((folder / "age" / "preprocessing.json").read_text())["facts"]["learnt"]["trees"]
    rounds, how = chosen["rounds"], {name: value for name, value in chosen.items() if name != "rounds"}
    fitted = HistGradientBoostingRegressor(early_stopping=False, random_state=0, warm_start=True, **how)
    for count in range(EVERY, rounds + 1, EVERY):  # validation looks after so many rounds, and features are drawn anew
        fitted.set_params(max_iter=count).fit(rows.inputs, rows.target_tensor.double())
    wanted = run.state.target.inverse(fitted.predict(test.inputs)[:, None])[:, 0]
    found = run.tables["predictions"].query("split == 'test' and model == 'trees'")["predicted"]
    assert found.to_numpy() == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [("trees", "sklearn", "trees"), ("lightgbm", "lightgbm", "lightgbm"), ("catboost", "catboost", "boosting")],
)
def test_trees_whose_library_is_absent_are_refused_by_name_and_left_out_without(
    folder, tmp_path, monkeypatch, name, library, extra
):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda each, *more: None if each == library else find(each, *more))
    monkeypatch.setitem(sys.modules, library, None)
    given = {"data": str(folder / "patients.csv"), "read": {"target": "age"}, **FAST}
    fix = rf"the baseline {name} needs {library}, which is not installed\. Run `pip install 'multiway\[{extra}\]'`\."
    with pytest.raises(ConfigError, match=fix):
        workflows.train({**given, "baselines": [name]}, task="tabular", out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()
    (run,) = workflows.train(given, task="tabular", out=tmp_path / "run", progress=False).runs
    assert name not in run.models and {"mean", "ridge"} <= set(run.models)


@pytest.mark.parametrize("name", ["lightgbm", "catboost"])
def test_trees_of_a_library_answer_where_it_is_no_longer_there(folder, tmp_path, monkeypatch, name):
    pytest.importorskip(name, reason=f"{name} is an extra")
    given = {"data": str(folder / "patients.csv"), "read": {"target": "ill"}, "baselines": [name], "answer": name}
    workflows.train({**given, **FAST}, task="tabular", out=tmp_path / "run", progress=False)
    monkeypatch.setitem(sys.modules, name, None)
    run = load(tmp_path / "run")
    predicted = workflows.predict(tmp_path / "run", data=str(folder / "patients.csv")).frame
    assert run.facts["refitted"]["models"] == [name] and run.facts["learnt"][name]["rounds"] > 0
    assert (predicted["predicted"] == predicted["ill"]).mean() > 0.8


def test_the_report_shows_what_the_answer_went_by(folder, tmp_path):
    run = load(folder / "ill")
    falls = run.facts["importance"]
    assert set(falls) == {"age", "weight", "city", "smokes"} and max(falls, key=falls.get) == "age"
    wanted = explain.importance(run, (prepared := reread(run)).raw.take(prepared.rows("test")))
    assert falls == dict(zip(wanted["column"][:-1], wanted["importance"][:-1], strict=True))
    page = workflows.report(folder / "ill", out=tmp_path / "report.html").read_text()
    part = page[page.index("What the answer went by") :]
    assert "How far the accuracy falls, by column" in part and part.index(">age<") < part.index(">city<")
    assert f"{100 * max(falls.values()):.1f} points" in part
    assert part.index(">city<") < part.index("The most confident errors of ") < part.index("How it was chosen")
    assert page.count("onfident errors of ") == 2  # the heading, and the name of its box


def test_the_report_on_a_number_is_in_its_units(folder):
    run = load(folder / "age")
    (chart, *tables), lead = _part(run, "importance").content, _lead(run)
    assert chart.title == "How far the mean absolute error of age rises, by column"
    rises = explain.importance(run, (prepared := reread(run)).raw.take(prepared.rows("test")))
    assert [bar.value for bar in chart.bars] == [text.number(value, 4) for value in rises["importance"][:-1]]
    found = next(row for row in run.scores if _key(row) == (run.answer.name, "test", "mae"))
    assert "has a test MAE of " in lead and text.number(found["value"], 3) in lead
    assert tables[0].title.startswith("The largest errors of ") and len(tables[0].rows) == 5
    assert tables[1].fold == "15 more" and len(tables[1].rows) == 15


def test_a_run_that_stored_squared_errors_says_so(folder):
    run = load(folder / "age")
    old = dataclasses.replace(run, facts={name: fact for name, fact in run.facts.items() if name != "importance_of"})
    assert _part(old, "importance").content[0].title == "How far the MSE rises, by column"


def test_where_no_row_is_misclassified_the_least_sure_are_listed(folder):
    run = all_right(load(folder / "ill"))
    table = _part(run, "importance").content[1]
    assert table.title == "No test row was misclassified." and len(table.rows) == 5
    sure = [float(cells[-1].text.removesuffix("\u202f%")) for cells in table.rows]
    assert sure == sorted(sure) and {cells[-3].text == cells[-2].text for cells in table.rows} == {True}


def _part(run, name):
    return next(part for part in PAGE.parts([run]) if part.id == name)


def _lead(run):
    return verdict(PAGE.SUBJECT.scores([run]))


def _key(row):
    return row["model"], row["split"], row["metric"]
