"""A search draws, ranks, refuses and goes on; that it looks at no test row is in the contract of tasks."""

import contextlib
import json
import os
import random
import sys
from pathlib import Path
from unittest import mock

import pandas as pd
import pytest
import yaml

import children
import multiway as mw
from command import assert_refused, call, printed
from fewer import fit_fewer
from interruption import Killed, kill_at, stop_after
from multiway import files
from multiway.errors import ConfigError, DataError, RunError
from multiway.tasks import lifecycle
from multiway.tasks.registry import task_of
from multiway.workflows.search import Search, Trial, rank_trials
from multiway.workflows.space import Space, load_space
from multiway.workflows.study import Study
from tasks.tiny import TINY

SPACE = {"model.dim": [4, 8, 10], "model.num_heads": [1, 2]}
"""Six combinations, of which dim=10 with two heads cannot be."""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A tiny forecast whose sizes are open."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    made = TINY["forecast"](folder)
    model = {name: value for name, value in made.settings["model"].items() if name not in ("dim", "num_heads")}
    training = {**made.settings["training"], "epochs": 1}
    return {**made.settings, "data": str(made.data), "model": model, "training": training}


def search(tiny, **options):
    return mw.tune("forecast", tiny, **{"space": SPACE, **options})


def drawn(tuned):
    return {json.dumps(trial.settings) for trial in tuned.trials}


def lines(folder):
    """Trials on disk without their clocks."""
    return [json.loads(line) | {"seconds": 0} for line in (folder / "trials.jsonl").read_text().splitlines()]


def test_the_whole_grid_is_measured_and_what_cannot_be_is_listed(tiny):
    tuned = search(tiny)
    assert len(drawn(tuned)) == 5
    (refused,) = tuned.refused
    assert refused.settings == {"model.dim": 10, "model.num_heads": 2}
    assert tuned.lines() == [str(refused)] and "dim must be an even multiple of num_heads" in refused.refused
    losses = [row["lowest validation loss"] for row in tuned.table()]
    assert losses == sorted(losses) and len(set(losses)) == 5
    assert {"model.dim", "model.num_heads", "epoch", "parameters", "seconds"} < set(tuned.table()[0])
    assert tuned.best["model"] == {**tiny["model"], **{k.split(".")[1]: v for k, v in tuned.trials[0].settings.items()}}


def test_a_part_is_drawn_without_replacement_from_the_seed_and_more_of_it_later(tiny, tmp_path):
    two, same, other = (drawn(search(tiny, trials=2, seed=seed)) for seed in (1, 1, 2))
    assert len(two) == 2 and two == same != other
    assert drawn(search(tiny, trials=2, seed=1, out=tmp_path / "out")) == two
    before = lines(tmp_path / "out")
    more = search(tiny, trials=4, seed=1, out=tmp_path / "out")
    assert len(drawn(more)) == 4 and two < drawn(more) and lines(tmp_path / "out")[: len(before)] == before
    assert len(drawn(search(tiny, trials=1, seed=1, out=tmp_path / "out"))) == 4


def test_a_killed_search_goes_on_and_repeats_nothing(tiny, tmp_path, monkeypatch):
    whole = search(tiny, out=tmp_path / "whole")
    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        kill_at(patch, 12)  # in the third training
        search(tiny, out=tmp_path / "out")
    kept = lines(tmp_path / "out")
    assert 0 < len(kept) < 6 and kept == lines(tmp_path / "whole")[: len(kept)]
    trained = []
    make = lifecycle.make
    monkeypatch.setattr(lifecycle, "make", lambda *words, **rest: trained.append(words[1]) or make(*words, **rest))
    repeated = search(tiny, out=tmp_path / "out")
    measured = sum(trial["refused"] is None for trial in kept)
    assert len(trained) == 1 + 5 - measured  # the first reads the data alone, to compare them
    assert [trial.plain() | {"seconds": 0} for trial in repeated.trials] == [
        trial.plain() | {"seconds": 0} for trial in whole.trials
    ]
    assert lines(tmp_path / "out") == lines(tmp_path / "whole")
    assert (tmp_path / "out" / "best.yaml").read_text() == (tmp_path / "whole" / "best.yaml").read_text()


def test_a_search_killed_while_it_writes_its_last_trial_still_lists_it(tiny, tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(files, "sync_file", mock.Mock(side_effect=[None, Killed]))
        search(tiny, trials=2, seed=1, out=tmp_path / "out")
    assert len(lines(tmp_path / "out")) == 1
    assert len(search(tiny, trials=2, seed=1, out=tmp_path / "out").trials) == len(lines(tmp_path / "out")) == 2


def test_a_stopped_search_says_how_it_goes_on(tiny, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        with pytest.raises(RunError, match=r"^tune: training stopped by SIGTERM .* goes on in .*out\.$"):
            search(tiny, out=tmp_path / "out")
    assert len(search(tiny, out=tmp_path / "out").trials) == 5


def test_another_search_in_the_folder_is_refused(tiny, tmp_path):
    out = tmp_path / "out"
    search(tiny, trials=1, out=out)
    before = lines(out)
    others = {
        "sampler": {"sampler": "tpe"},
        "space": {"space": {"model.dim": [4, 8]}},
        "seed": {"seed": 3},
        "settings": {"overrides": {"training": {"epochs": 2}}},
    }
    for name, change in others.items():
        with pytest.raises(RunError, match=rf"holds a search with other {name}\. Choose another folder"):
            search(tiny, out=out, **change)
    TINY["forecast"](tmp_path / "data").changes["value"]()
    with pytest.raises(RunError, match="holds a search with other data"):
        search(tiny, out=out)
    with pytest.raises(RunError, match="exists already and holds no search"):
        search(tiny, out=tmp_path / "data")
    assert lines(out) == before


def test_a_changed_journal_is_refused(tiny, tmp_path):
    search(tiny, trials=1, out=tmp_path / "out")
    journal = tmp_path / "out" / "study.journal"
    for text in ("{\n", "[3]\n", '{"op_code": 77}\n', '{"op_code": 0}\n', "\x00\xff\n"):
        journal.write_text(text + journal.read_text())
        with pytest.raises(RunError, match=r"out cannot be read as a study") as caught:
            search(tiny, trials=1, out=tmp_path / "out")
        assert "\n" not in str(caught.value)


def test_half_a_line_of_a_killed_write_is_cut(tiny, tmp_path):
    whole = search(tiny, trials=2, out=tmp_path / "whole")
    search(tiny, trials=1, out=tmp_path / "out")
    journal = tmp_path / "out" / "study.journal"
    journal.write_text(journal.read_text() + '{"op_code":4,"wor')
    assert drawn(search(tiny, trials=2, out=tmp_path / "out")) == drawn(whole)
    assert [json.loads(line) for line in journal.read_text().splitlines()]


def test_of_equal_trials_the_smaller_model_wins():
    by_score = [
        Trial(settings={"name": name}, validation_loss=loss, validation_score=score, parameters=parameters)
        for name, loss, score, parameters in [
            ("large", 0.1, 0.8, 900),
            ("worse", 0.0, 0.7, 1),
            ("small", 0.3, 0.8, 90),
        ]
    ]
    assert [trial.settings["name"] for trial in rank_trials(by_score)] == ["small", "large", "worse"]
    by_loss = [
        Trial(settings={"n": parameters}, validation_loss=loss, parameters=parameters)
        for parameters, loss in ((7, 0.2), (9, 0.1), (8, 0.1))
    ]
    assert [trial.parameters for trial in rank_trials(by_loss)] == [8, 9, 7]


def test_a_grid_is_taken_in_its_order(tiny, tmp_path):
    search(tiny, trials=3, sampler="grid", out=tmp_path / "out")
    pairs = [tuple(line["settings"].values()) for line in lines(tmp_path / "out")]
    assert pairs == [(4, 1), (4, 2), (8, 1)]


def test_tpe_tries_each_combination_once(tiny):
    tuned = search(tiny, sampler="tpe", seed=3)
    assert len(drawn(tuned)) == 5 and len(tuned.refused) == 1


def test_tpe_learns_from_the_trials():
    """Of 343 points, of which one value of each of three fields is good, it takes better ones than a random draw."""
    space = Space.parse({"values": {name: list(range(7)) for name in "abc"}}, "space")

    def good(sampler, seed):
        opening = {"task": "forecast", "seed": seed, "sampler": sampler, "pruner": "none"}
        study = Study.open(None, None, opening, space, space.shuffle(seed))
        while (trial := study.begin(30)) is not None:
            fields = study.fields_of(trial)
            study.end(trial, Trial(settings=fields, validation_loss=-float(sum(each == 5 for each in fields.values()))))
        assert len({json.dumps(trial.settings) for trial in study.outcomes}) == 30
        return -sum(trial.validation_loss for trial in study.outcomes)

    assert sum(good("tpe", seed) for seed in range(2)) > 1.2 * sum(good("random", seed) for seed in range(2))


def test_a_training_that_is_far_behind_ends_early(tiny, tmp_path):
    space = {"training.learning_rate": [0.003, 0.01, 1e-9, 2e-9, 3e-9]}
    settings = {**tiny, "training": {**tiny["training"], "epochs": 4, "patience": 0}}
    settings["training"].pop("learning_rate", None)
    tuned = mw.tune("forecast", settings, space=space, sampler="grid", pruner="halving", out=tmp_path / "out")
    assert {trial.settings["training.learning_rate"] for trial in tuned.pruned} >= {2e-9, 3e-9}
    assert all(trial.epoch < 4 and "far behind" in str(trial) for trial in tuned.pruned)
    assert tuned.trials[0].settings["training.learning_rate"] in (0.003, 0.01)
    assert len(tuned.trials) + len(tuned.pruned) == 5 and str(tuned.pruned[0]) in tuned.lines()


def search_in(folder, words):
    os.chdir(folder)
    printed(*words)


def test_two_processes_share_a_study(words, tmp_path):
    """Together they measure every combination once."""
    both = [children.start(search_in, tmp_path, [*words, "--quiet"]) for _ in range(2)]
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    settings = [json.dumps(line["settings"]) for line in lines(tmp_path / "out")]
    assert len(settings) == len(set(settings)) == 6


@pytest.mark.slow
def test_a_killed_search_ends_as_one_that_is_not(words, tmp_path):
    """Three SIGKILLs each, at any time, the opening write among them; then the same command."""
    printed(*words, "--quiet", "--out", "whole")
    draw = random.Random(0)
    for number in range(14):
        command = [*words, "--quiet", "--out", f"out{number}"]
        for _ in range(3):
            process = children.start(search_in, tmp_path, command)
            process.join(draw.uniform(0.02, 0.9))
            process.kill()
            process.join()
        printed(*command)
        folder, whole = tmp_path / f"out{number}", tmp_path / "whole"
        assert lines(folder) == lines(whole)
        assert (folder / "best.yaml").read_text() == (whole / "best.yaml").read_text()
        assert {path.name for path in folder.iterdir()} == {"study.journal", "trials.jsonl", "best.yaml"}


def test_a_changed_last_line_of_the_journal_is_refused_once_another_follows(tiny, tmp_path):
    search(tiny, trials=1, out=tmp_path / "out")
    path = tmp_path / "out" / "study.journal"
    content = path.read_bytes()
    path.write_bytes(content[:-9] + b"\x01" + content[-8:])
    with pytest.raises(RunError, match=r"out cannot be read as a study: Invalid control character|JSON") as caught:
        search(tiny, trials=2, out=tmp_path / "out")
    assert "\n" not in str(caught.value)


def test_a_database_keeps_the_study(tiny, tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    search(tiny, trials=2, storage=storage, out=tmp_path / "one")
    both = search(tiny, trials=4, storage=storage, out=tmp_path / "two")
    assert len(drawn(both)) == 4 and len(lines(tmp_path / "two")) == len(both.trials) + len(both.refused)
    assert not (tmp_path / "two" / "study.journal").exists()
    with pytest.raises(RunError, match=r"cannot be read as a study") as caught:
        search(tiny, storage="nowhere://x")
    assert "\n" not in str(caught.value)


def test_without_optuna_it_is_named(tiny, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        ConfigError, match=r"tune needs optuna, which is not installed\. Run `pip install 'multiway\[tune\]'`"
    ):
        search(tiny)


def test_a_training_that_fails_is_refused_and_the_search_goes_on(tiny, monkeypatch):
    fit_fewer(monkeypatch)
    space = {"training.weight_decay": [0.01, 1e38], "network": [True, False], "lookback": [12, 999]}
    del tiny["lookback"], tiny["answer"]
    tuned = search(tiny, space=space)
    reasons = {tuple(trial.settings.values()): trial.refused for trial in tuned.refused}
    assert len(reasons) == 7 and [list(trial.settings.values()) for trial in tuned.trials] == [[0.01, True, 12]]
    assert "nothing was trained" in reasons[0.01, False, 12]
    assert "999" in reasons[0.01, True, 999] and "is not finite" in reasons[1e38, True, 12]


@pytest.mark.parametrize(
    ("space", "text"),
    [
        ({"horizon": [4, 8]}, "horizon decides what validation measures, or on which rows"),
        ({"training.loss": ["mse", "mae"]}, "training.loss decides what validation measures"),
        ({"training": [{"loss": "mse"}]}, "training decides what validation measures"),
        ({"split.test": [0.1]}, "split.test decides what validation measures"),
        (
            {"model.dimm": [4, 8]},
            "none of 2 combinations can be. The first: settings: hot_forecaster: dimm is not a known field",
        ),
        ({"model.dim": [3]}, "none of 1 combinations can be"),
        ({"model.dim": 3}, "space: values.model.dim"),
        ({"model.dim": []}, "'model.dim' must be a field, such as model.dim, with one value or more"),
        ({}, "nothing is left to search"),
        ({"training.learning_rate": [float("nan")]}, "values of a space are finite numbers"),
        ({"lookback": [12]}, "nothing is left to search, since lookback is set"),
        ("hot-forcast", "no space is called hot-forcast; did you mean hot-forecast?"),
        ("absent.yaml", "absent.yaml is not a file"),
        ({"a": list(range(400)), "b": list(range(400))}, "100,000 combinations at most. Got 160,000"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(space, text, tiny, tmp_path):
    with pytest.raises(ConfigError) as caught:
        search(tiny, space=space, out=tmp_path / "out")
    assert text in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_what_is_set_is_not_searched(tiny):
    tuned = search(tiny, overrides={"model": {"dim": 8}})
    assert drawn(tuned) == {'{"model.num_heads": 1}', '{"model.num_heads": 2}'} and tuned.best["model"]["dim"] == 8


def test_a_frame_is_searched_in_memory(tiny, tmp_path):
    frame, settings = pd.read_csv(tiny["data"]), {name: value for name, value in tiny.items() if name != "data"}
    tuned = mw.tune("forecast", settings, source=frame, space=SPACE, trials=1, out=tmp_path / "out")
    assert tuned.trials[0].validation_loss == search(tiny, trials=1).trials[0].validation_loss
    with pytest.raises(ConfigError, match="there is no data"):
        mw.train(task="forecast", recipe=str(tuned.recipe))
    with pytest.raises(ConfigError, match=r"^tune: none of .* there is no data\. Give data=FILE"):
        mw.tune("forecast", settings, space=SPACE)


def test_no_trial_begins_after_the_time(tiny):
    with pytest.raises(RunError, match="no trial gave a measure: no time was left"):
        search(tiny, minutes=0)


def test_bad_data_leave_nothing_behind(tiny, tmp_path):
    TINY["forecast"](tmp_path / "data").spoil()
    with pytest.raises(DataError):
        search(tiny, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_several_processes_are_refused(tiny, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="a trial trains in one process"):
        search(tiny)


SPACES = {
    "hot-forecast": ("forecast", 1440), "hot-stocks": ("stocks", 108), "hot-volumes": ("volumes", 1080),
    "ndlinear-tuned-text": ("text", 8),
}  # fmt: skip


@pytest.mark.parametrize("name", SPACES)
def test_a_papers_space_is_one_of_its_task(name):
    task, count = SPACES[name]
    every = load_space(name).shuffle(0)
    assert len(every) == len({json.dumps(each) for each in every}) == count
    search = Search(task=task_of(task), given={}, source=None)
    for fields in every[:60]:
        search.task.configure(search.settings(fields))


WORDS = ["tune", "forecast", "--data", "data/loads.csv", "--space", "space.yaml", "--out", "out", "--horizon", "4"]
SMALL = ["--lookback", "12", "--epochs", "1", "--set", "model.num_blocks=1", "--set", "model.ffn_multiple=1"]


@pytest.fixture
def words(tiny, tmp_path):
    (tmp_path / "space.yaml").write_text("model.dim: [4, 8, 10]\nmodel.num_heads: [1, 2]\n")
    return [*WORDS, *SMALL]


def test_the_command_prints_a_table_and_a_line_per_trial(words, monkeypatch, capsys):
    code, out, err = call(words, monkeypatch, capsys)
    head, *rows, refused, command = out.splitlines()
    assert code == 0 and head.split("  ")[0] == "model.dim" and "lowest validation loss" in head
    assert len(rows) == 5 and refused.startswith("model.dim=10 model.num_heads=2: refused: ")
    assert command == "multiway train forecast --recipe out/best.yaml"
    assert [line.partition(":")[0] for line in err.splitlines()] == [f"trial {number}" for number in range(1, 7)]
    code, repeated, err = call([*words, "--quiet"], monkeypatch, capsys)
    assert (code, repeated, err) == (0, out, "")


def test_json_is_one_document(words):
    found = json.loads(printed(*words, "--trials", "2", "--quiet", "--json"))
    assert set(found) == {"recipe", "best", "trials", "refused", "pruned"} and len(found["trials"]) == 2
    assert found["best"]["horizon"] == 4 and found["recipe"] == "out/best.yaml"
    assert yaml.safe_load(Path("out/best.yaml").read_text())["settings"]["model"] == found["best"]["model"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (["--space", "hot-x"], "no space is called hot-x"),
        (["--space", "data/loads.csv"], "no space is called data/loads.csv"),
        (["--data", "absent.csv"], "absent.csv does not exist"),
        (["--out", "data"], "data exists already and holds no search"),
        (["--set", "model.dim=4", "--set", "model.num_heads=1"], "nothing is left to search"),
    ],
)
def test_what_cannot_be_searched_is_one_line(changes, text, words, tmp_path, monkeypatch, capsys):
    assert_refused([*words, *changes], text, tmp_path, monkeypatch, capsys)
