"""What every run promises of its answer: it is what validation prefers, it is named, and others can be chosen."""

import dataclasses
import itertools
import re

import numpy as np
import pandas as pd
import pytest

from command import outcome, printed
from fewer import few, of_two
from multiway import TabularClassifier, workflows
from multiway.errors import ConfigError
from multiway.tasks.choice import BLEND
from multiway.tasks.lifecycle import load, reread
from multiway.tasks.protocol import NETWORK
from multiway.tasks.registry import task_of
from multiway.tasks.scores import in_words as names_in_words
from multiway.tasks.scores import score_of
from tasks.answered import place_of, read_answer
from tasks.finished import finished
from tasks.tiny import OUT, TASKS
from tolerances import LONG32

CHOOSING = [name for name in TASKS if task_of(name).choose]
COUNTED = {"blocks": "windows"}
"""What a reason counts where it is not the independent cases: windows overlap, and a block of them is one."""


@pytest.fixture(scope="session", params=CHOOSING)
def made(request, tmp_path_factory):
    return finished(request.param, tmp_path_factory)


def test_the_answer_is_no_worse_on_validation_than_any_candidate_by_more_than_one_standard_error(made):
    run = load(made.run)
    if made.tiny.task == "grids":
        pytest.skip("a grid is answered by a blend for each lead, which its own tests compare with every floor")
    answer, rows = run.answer, {row.name: row for row in run.answer.candidates}
    assert set(rows) - {BLEND} == set(run.candidates) - {BLEND}
    chosen = rows[answer.name]
    named = made.tiny.settings.get("answer", "auto")
    assert chosen.difference <= (chosen.error or np.inf) if named == "auto" else answer.name == named
    assert answer.cases > 1 and answer.loss.removeprefix("1 - ") in answer.reason
    assert COUNTED.get(answer.unit, answer.unit) in answer.reason


def in_words(line, run):
    """The line of a report, which calls models by words of its own: `logistic` is logistic regression there."""
    names = sorted({*run.candidates, *run.models, *(row["model"] for row in run.scores)}, key=len, reverse=True)
    of_models = rf"\b({'|'.join(map(re.escape, names))})\b"
    return re.sub(of_models, lambda _: ".{1,60}", re.escape(line))


@of_two("made", CHOOSING, "segment")
def test_every_output_names_the_model_that_answers_and_why(made, tmp_path):
    line = load(made.run).line
    told = names_in_words(load(made.run), line)
    assert made.said.splitlines()[0] == told
    assert printed("evaluate", made.run).splitlines()[0] == told
    assert predicted(made, tmp_path / "out")[0].splitlines()[0] == told
    assert re.search(in_words(line, load(made.run)), made.page)
    if made.tiny.task not in OUT:  # others write a table, for other programs, where no place is given
        code, said, err = outcome("predict", made.run, "--data", made.tiny.data)
        assert code == 0 and told in err.splitlines() and told not in said


@of_two("made", CHOOSING)
def test_each_model_is_requested_by_its_name(made, tmp_path):
    run = load(made.run)
    tables = {}
    for name in run.candidates:
        said, tables[name] = predicted(made, tmp_path / name, "--model", name)
        own = name == run.answer.name
        line = run.line if own else f"Answer: {name}, chosen by name in place of"
        assert said.splitlines()[0].startswith(names_in_words(run, line))
        (row,) = workflows.evaluate(made.run, model=name)
        assert row["model"] == (run.task.score_name(run) if own else name)
        metrics = [metric.name for metric in run.task.metrics(run.config) if metric.name in row]
        assert metrics and all(row[metric] == score_of(run, row["model"], metric)["value"] for metric in metrics)
    assert tables[run.answer.name].equals(predicted(made, tmp_path / "again")[1])
    kept = "^(p_|nats|predicted|voxels|multiway$)"
    numbers = [table.filter(regex=kept).select_dtypes("number").to_numpy() for table in tables.values()]
    assert not any(np.allclose(one, other) for one, other in itertools.combinations(numbers, 2))


def predicted(made, out, *words):
    """What `predict` says, and the table that it writes: a file, or one of the sizes of masks in a folder."""
    target = place_of(made.tiny.task, out)
    said = printed("predict", made.run, "--data", made.tiny.data, "--out", target, *words)
    return said, read_answer(target)


@pytest.mark.parametrize("name", [name for name in TASKS if name not in ("forecast", "grids")])
def test_candidates_are_measured_as_the_network_measures_itself(name, tmp_path_factory):
    """Forecasts and grids are weighed by lead, not by the loss of a training."""
    run = load(finished(name, tmp_path_factory).run)
    run.prepared = reread(run)
    own = run.task.candidates()[NETWORK].loss_of(run, NETWORK, run.prepared.part("validation"))
    best = run.facts["best"][NETWORK]
    expected = best["validation_loss"] if best["validation_score"] is None else 1 - best["validation_score"]
    assert (
        own is None
        if name == "stocks" and best["validation_score"] is not None
        else own == pytest.approx(expected, rel=LONG32)
    )


def test_an_unknown_model_is_refused_in_one_line(made, tmp_path):
    known = ", ".join(load(made.run).candidates)
    for words in (
        ["predict", made.run, "--data", made.tiny.data, "--out", tmp_path / "out"],
        ["evaluate", made.run],
        ["explain", made.run],
    ):
        code, _, err = outcome(*words, "--model", "forest")
        assert code == 1 and f"models of this run are {known}. Got forest" in err, err


@of_two("made", CHOOSING)
def test_an_explanation_says_what_it_explains(made, tmp_path):
    run = load(made.run)
    code, said, err = outcome("explain", made.run, "--out", tmp_path / "explained")
    if made.tiny.task == "spectra":  # of another package, which explains nothing
        assert code == 1 and "a run of spectra has no explanation" in err
        return
    assert code == 0, err
    first = said.splitlines()[0]
    answer = names_in_words(run, run.answer.line())  # what is refitted is what predicts
    assert first == names_in_words(run, run.line) or re.fullmatch(
        f"This explains the network, which alone has (maps|attention)\\. {re.escape(answer)}", first
    )


@pytest.mark.parametrize("task", few(["tabular", "text", "series", "images"], "tabular", "images"))
def test_an_explanation_is_of_the_answer_whoever_gives_it(task, tmp_path_factory, tmp_path):
    made = finished(task, tmp_path_factory)
    run, tables = load(made.run), {}
    for name in run.candidates:
        said = printed("explain", made.run, "--out", tmp_path / name, "--model", name).splitlines()
        start = run.line if name == run.answer.name else f"Answer: {name}, chosen by name in place of"
        assert said[0].startswith(names_in_words(run, start))
        tables[name] = read_explanation(tmp_path / name)
    assert not any(np.array_equal(one, other) for one, other in itertools.combinations(tables.values(), 2))
    own = printed("explain", made.run, "--out", tmp_path / "own").splitlines()
    assert own[0] == names_in_words(run, run.line)
    np.testing.assert_array_equal(read_explanation(tmp_path / "own"), tables[run.answer.name])


def read_explanation(folder):
    """What an explanation wrote, as numbers."""
    kept = [file for file in folder.iterdir() if file.stem in ("importance", "words", "gradients", "occlusion")]
    if kept[0].suffix == ".csv":
        frame = pd.read_csv(kept[0])
        return frame[[name for name in ("share", "importance") if name in frame]].to_numpy()
    with np.load(kept[0]) as arrays:
        return np.stack([arrays[name] for name in sorted(arrays)][:5])


@pytest.mark.parametrize("task", few(["tabular", "text", "series", "volumes", "language"], "tabular", "language"))
def test_an_answer_never_takes_the_place_of_a_column_of_the_data(task, tmp_path_factory, tmp_path):
    """Rows that are given back keep their columns, and a note names those of the answer; others hold no column."""
    made = finished(task, tmp_path_factory)
    usual = pd.read_csv(predict_into(made, made.tiny.data, tmp_path / "usual.csv"))
    names = [name for name in usual if name not in own_columns(made.tiny.data)]
    data = made.tiny.data.with_name(f"crowded{made.tiny.data.suffix}")
    own = own_columns(made.tiny.data).assign(**dict.fromkeys(names, "mine"))
    own.to_csv(data, index=False) if data.suffix == ".csv" else own.to_json(data, orient="records", lines=True)
    said = printed("predict", made.run, "--data", data, "--out", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    if task in ("tabular", "text"):
        assert (found[names] == "mine").all(axis=None)
        renamed = found[[f"multiway_{name}" for name in names]].set_axis(names, axis=1)
        pd.testing.assert_frame_equal(renamed, usual[names])
        assert "so the answers stand in multiway_predicted" in said
    else:
        pd.testing.assert_frame_equal(found, usual)


def predict_into(made, data, out):
    printed("predict", made.run, "--data", data, "--out", out)
    return out


def own_columns(path):
    """The table of a data set."""
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_json(path, lines=True)


def test_a_run_of_one_model_refuses_to_ask_another(tmp_path_factory):
    run = load(finished("volumes", tmp_path_factory).run)
    run.task = dataclasses.replace(run.task, choose=None)
    with pytest.raises(ConfigError, match="a run of volumes is answered by one model"):
        run.with_answer("majority")


def test_an_estimator_predicts_what_the_command_line_does(tmp_path_factory, tmp_path):
    made = finished("tabular", tmp_path_factory)
    _, table = predicted(made, tmp_path / "out")
    model = TabularClassifier.load(made.run)
    rows = pd.read_csv(made.tiny.data)
    names = list(model.run_.state.numbers + model.run_.state.categories)
    shares = model.predict_proba(rows[names])
    np.testing.assert_allclose(shares, table[[f"p_{name}" for name in model.classes_]], rtol=1e-9)
    assert model.predict(rows[names]).tolist() == table["predicted"].tolist()
    others = {name: model.predict_proba(rows[names], model=name) for name in model.run_.models}
    assert not np.allclose(others["majority"], others["network"])
