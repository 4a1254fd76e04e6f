"""The workflows leave to the task what is the task's: seen with one that only records its calls."""

import dataclasses
import inspect
import json
import sys
import types
import typing
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import pytest
from pydantic import Field
from torch import nn

import multiway_papers as papers
from interruption import left_over
from multiway import lazy, workflows
from multiway.cli import options
from multiway.config import Flag
from multiway.data import CheckReport
from multiway.data.writing import check_target
from multiway.errors import ConfigError, MultiwayError, RunError
from multiway.tasks import settings
from multiway.tasks.answers import Answer
from multiway.tasks.estimator import Estimator
from multiway.tasks.kind import Kind
from multiway.tasks.options import Answering
from multiway.tasks.protocol import NETWORK, Metric, Settled, Task
from multiway.tasks.run import FORMAT
from multiway.training import RunFolder, TrainingConfig
from multiway.workflows import recipe
from multiway.workflows.recipe import Recipe
from multiway_papers import reproducing
from multiway_papers.queue import read_queue


class ToyConfig(Answering):
    data: str | None = None
    width: Annotated[int, Flag("How wide the toy is.")] = 1
    read: dict[str, object] = Field(default_factory=dict)
    training: TrainingConfig = TrainingConfig.parse({})


@dataclasses.dataclass(frozen=True)
class ToyState:
    width: int

    def plain(self):
        return {"width": self.width}

    @classmethod
    def parse(cls, plain):
        return cls(**plain)


@dataclasses.dataclass(frozen=True)
class ToyData:
    source: str
    notes: tuple = ()

    def content(self):
        return [self.source]


class ToyKind(Kind):
    """Data that a check says the settings of."""

    def check(self, config, source):
        return CheckReport(source=source, summary=config.read, findings=())


class Toy(Task):
    def locate(self, data):
        return data


def score_width(run, predictions, split):
    return [{"model": NETWORK, "split": split, "metric": "auc", "value": predictions, "low": None, "high": None}]


def make_toy():
    """A task whose score is its width and its seed."""
    return Toy(
        name="volumes",
        example="--data x.npz",
        kind=ToyKind(),
        config=ToyConfig,
        state=ToyState,
        page=SimpleNamespace(
            SUBJECT=SimpleNamespace(scores=lambda runs: SimpleNamespace(name_models=str, models=list)),
            report=lambda runs: f"{len(runs)} runs",
            compare=lambda groups: str([len(group) for group in groups]),
        ),
        prepare=lambda config, source, state=None, *, progress=False: ToyData(str(source)),
        settle=lambda config, prepared, spent, *, progress=False: Settled(config, ToyState(config.width)),
        names=lambda config, state: (NETWORK,),
        build=lambda config, state, name: nn.Linear(state.width, 1),
        fit=lambda run, name, prepared, context: None,
        predict=lambda run, prepared, split: run.model.in_features + run.config.training.seed,
        score=score_width,
        metrics=lambda config: (Metric(name="auc", title="AUC"),),
        sentence=lambda run: f"width {run.config.width}",
        audit=lambda config, run=None: None,
        answer=lambda run, data, out, options: Answer(
            notes=[f"seed {run.config.training.seed}", str(data), str(options)]
        ),
        explain=lambda run, out, options: Answer(files=[out], notes=[str(options)]),
    )


@pytest.fixture
def toy(monkeypatch):
    """The toy in the place of the task `volumes`."""
    module = types.ModuleType("toy_task")
    module.TASK = make_toy()
    monkeypatch.setitem(sys.modules, "toy_task", module)
    monkeypatch.setitem(lazy._OURS["tasks"], "volumes", "toy_task:TASK")
    monkeypatch.setitem(settings.PLACES, "volumes", "toy_task:TASK")
    settings.settings_of.cache_clear()
    yield module.TASK
    settings.settings_of.cache_clear()


def train(folder, **options):
    return workflows.train({"data": "x.npz"}, task="volumes", out=folder, **options)


def test_a_run_goes_through_every_workflow_of_its_task(toy, tmp_path):
    done = train(tmp_path / "run", overrides={"width": 5})
    assert done.lines() == ["Answer: network.", f"{tmp_path / 'run'}: width 5"] and done.table()[0]["auc"] == 5
    assert workflows.task_name(tmp_path / "run") == "volumes"
    assert workflows.resume(tmp_path / "run").lines() == done.lines()
    assert workflows.evaluate(tmp_path / "run", data="later.csv", split="validation") == [
        {"model": NETWORK, "auc": 5.0}
    ]
    answer = workflows.predict(tmp_path / "run", data="scans", options={"maps": Path("m")})
    assert answer.notes == ["seed 0", "scans", str({"maps": Path("m")})]
    watched = workflows.predict(tmp_path / "run", data="scans", progress=True)
    assert watched.notes == ["seed 0", "scans", str({"progress": True})]
    answer = workflows.explain(tmp_path / "run", out=tmp_path / "maps", options={"cases": ["a"]})
    assert answer.lines() == ["Answer: network.", "{'cases': ['a']}", str(tmp_path / "maps")]
    assert workflows.report(tmp_path / "run").read_text() == "1 runs"


def test_what_a_killed_command_left_goes_with_the_next_one(toy, tmp_path):
    train(tmp_path / "run"), train(tmp_path / "other")
    run, page, maps = tmp_path / "run", tmp_path / "page.html", tmp_path / "maps"
    maps.mkdir()
    commands = {
        page: lambda: workflows.report(run, out=page),
        tmp_path / "table.csv": lambda: workflows.predict(run, data="scans", out=tmp_path / "table.csv"),
        tmp_path / "both.html": lambda: workflows.compare([run, tmp_path / "other"], out=tmp_path / "both.html"),
        maps / "map.png": lambda: workflows.explain(run, out=maps),
        tmp_path / "new": lambda: train(tmp_path / "new"),
    }
    for path, command in commands.items():
        left, another = left_over(path), left_over(tmp_path / "mine")
        left.touch(), another.touch()
        command()
        assert another.exists() and not left.exists(), path
        another.unlink()


def test_seeds_lie_in_one_folder_and_are_averaged(toy, tmp_path):
    train(tmp_path / "run", seeds=3, overrides={"training": {"seed": 4}})
    assert [folder.name for folder in workflows.run_folders(tmp_path / "run")] == ["seed-4", "seed-5", "seed-6"]
    assert workflows.evaluate(tmp_path / "run")[0]["auc"] == 1 + 5
    assert workflows.predict(tmp_path / "run").notes[0] == "seed 4"
    assert workflows.report(tmp_path / "run").read_text() == "3 runs"
    train(tmp_path / "one")
    rows = workflows.compare([tmp_path / "run", tmp_path / "one"], out=tmp_path / "page.html")
    assert [row["auc"] for row in rows] == [6.0, 1.0]
    assert (tmp_path / "page.html").read_text() == "[3, 1]"


def test_paths_may_be_text(toy, tmp_path):
    train(str(tmp_path / "one"))
    train(str(tmp_path / "two"))
    one, two, page = (str(tmp_path / name) for name in ("one", "two", "page.html"))
    assert workflows.evaluate(one)[0]["auc"] == 1.0 and workflows.explain(one).notes == workflows.explain(two).notes
    assert workflows.predict(one, out=str(tmp_path / "new.csv")).notes == workflows.predict(two).notes
    assert workflows.report(one) == tmp_path / "one" / "report.html"
    assert len(workflows.compare([one, two], out=page)) == 2 and (tmp_path / "page.html").is_file()


def test_runs_of_two_tasks_are_not_compared(toy, tmp_path):
    train(tmp_path / "one")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "config.yaml").write_text(f"task: forecast\nformat: {FORMAT}\n")
    with pytest.raises(ConfigError, match=r"must be of one task. Got .*one of volumes, .*two of forecast"):
        workflows.compare([tmp_path / "one", tmp_path / "two"])


def test_what_a_task_cannot_do_is_said(toy, tmp_path):
    train(tmp_path / "run")
    with pytest.raises(ConfigError, match="a run of volumes has no past moments to start from"):
        workflows.backtest(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"compress: runs of volumes give no sample\. Use multiway\.compress\.plan"):
        workflows.compress(tmp_path / "run", [".*=nd"])


def test_a_field_with_a_flag_is_an_option_and_an_argument(toy):
    """Nothing else names it."""

    class ToyEstimator(Estimator):
        task = "volumes"

    option = typing.get_args(options.task_options("train", ["volumes"])["width"])[1]
    assert option.default == "--width" and option.help == "How wide the toy is."
    assert option.show_default == "1" and options.settings("train", "volumes", {"width": "5"}) == {"width": 5}
    assert inspect.signature(ToyEstimator).parameters["width"].default == 1
    assert "    width: How wide the toy is." in ToyEstimator.__doc__ and ToyEstimator(width=5).config().width == 5


def test_a_check_passes_settings_on_and_overrides_win(toy):
    given = {"read": {"label": "a", "size": [1, 2, 3]}}
    found = workflows.check("x.npz", given, task="volumes", overrides={"read": {"label": "b"}})
    assert found.summary == {"label": "b", "size": [1, 2, 3]}


RECIPE = {"task": "volumes", "table": "t", "row": "organ", "data": "organmnist3d", "settings": {"width": 3}}
CELLS = {
    "a": Recipe.parse({**RECIPE, "variant": "HOT", "published": {"auc": 0.9, "source": "there"}}),
    "b": Recipe.parse({**RECIPE, "variant": "other"}),
}


def test_a_table_is_reproduced_cell_by_cell(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(reproducing, "recipes_of", lambda table: CELLS)
    rows = list(papers.reproduce("t", seeds=2, out=tmp_path / "rows.jsonl", overrides={"width": 7}))
    assert [(row["recipe"], row["variant"], row["seeds"]) for row in rows] == [("a", "HOT", 2), ("b", "other", 2)]
    assert rows[0]["published_auc"] == 0.9 and "published_auc" not in rows[1]
    assert rows[0]["auc"] == 7.5 and "horizons" not in rows[0]
    written = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["settings"]["width"] for row in written] == [7, 7]
    assert [row["recipe"] for row in papers.reproduce("t", variants=["other"])] == ["b"]


def test_cells_of_the_same_settings_share_a_run_that_is_kept(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(reproducing, "recipes_of", lambda table: CELLS)
    fits = []
    monkeypatch.setattr(toy, "fit", lambda run, *rest: fits.append(run.config.training.seed))
    assert len(list(papers.reproduce("t", seeds=2, runs=tmp_path))) == 2
    assert fits == [0, 1]
    assert len(list(papers.reproduce("t", seeds=3, runs=tmp_path))) == 2
    assert fits == [0, 1, 2] and len(list(tmp_path.iterdir())) == 3
    list(papers.reproduce("t", runs=tmp_path, overrides={"width": 2}))
    assert fits == [0, 1, 2, 0]


def test_forms_of_a_model_are_chosen_by_name(toy, monkeypatch):
    cells = {form or "own": Recipe.parse({**RECIPE, "form": form}) for form in ("paper", "trainable", None)}
    monkeypatch.setattr(reproducing, "recipes_of", lambda table: cells)
    rows = list(papers.reproduce("t", forms=["paper"]))
    assert [(row["recipe"], row["form"]) for row in rows] == [("paper", "paper")]
    assert len(list(papers.reproduce("t"))) == 3


def test_a_cell_that_is_not_there_is_named(toy, monkeypatch):
    monkeypatch.setattr(reproducing, "recipes_of", lambda table: CELLS)
    with pytest.raises(ConfigError, match="no cell of t has rows organ and variants mine"):
        next(papers.reproduce("t", rows=["organ"], variants=["mine"]))


def test_a_recipe_brings_its_task_and_settings(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "load_recipe", lambda name: CELLS["a"])
    monkeypatch.chdir(tmp_path)
    done = workflows.train({}, recipe="mine/a.yaml")
    assert done.runs[0].config.width == 3 and done.runs[0].folder.path == Path("runs/a")
    with pytest.raises(ConfigError, match=r"the recipe mine/a.yaml is one of the task volumes. Got forecast"):
        workflows.train({}, task="forecast", recipe="mine/a.yaml")


def test_a_target_is_looked_at_before_the_work(tmp_path):
    check_target(tmp_path / "rows.csv.gz")
    with pytest.raises(ConfigError, match=r"rows.ods must end in .csv, .csv.gz, .parquet or .xlsx"):
        check_target(tmp_path / "rows.ods")
    with pytest.raises(RunError, match="there is no folder"):
        check_target(tmp_path / "absent" / "rows.csv")


def test_a_recipe_names_the_recipe_of_a_run_that_it_needs_before_it_reads_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fix = r"runs/cifar10-teacher is not a run folder.*`multiway train --recipe vit-teacher-cifar10 --out runs/cifar10-"
    with pytest.raises(ConfigError, match=fix):
        workflows.train({"data": "none"}, recipe="vit-small-cifar10-nd-20-3")
    with pytest.raises(ConfigError, match=fix):
        next(papers.reproduce("ndlinear-figure-17", variants=["nd-20-3"], overrides={"data": "none"}))
    own = {"data": "none", "distill": {"teacher": "mine"}}
    with pytest.raises(MultiwayError, match=r"^(?!runs/cifar10-teacher)"):
        workflows.train(own, recipe="vit-small-cifar10-nd-20-3")


def write_queue(folder, *entries):
    (folder / "queue.yaml").write_text(json.dumps({"out": "rows.jsonl", "runs": "runs", "cells": entries}))
    return folder / "queue.yaml"


def rows_in(folder):
    path = folder / "rows.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_queue_runs_the_cheapest_cells_first_and_each_once(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(reproducing, "recipes_of", lambda table: CELLS)
    dear = {"table": "t", "variants": ["HOT"], "seeds": 2, "set": {"width": 7}, "hours": 3}
    queue = write_queue(tmp_path, dear, {"table": "t", "variants": ["other"], "hours": 0.5})
    assert [(row["recipe"], row["seeds"]) for row in papers.run_queue(queue)] == [("b", 1), ("a", 2)]
    assert [row["queue"]["set"] for row in rows_in(tmp_path)] == [{}, {"width": 7}]
    assert [row["hours"] for row in rows_in(tmp_path)] == [0, 0]
    assert list(papers.run_queue(queue)) == [] and len(rows_in(tmp_path)) == 2
    queue = write_queue(tmp_path, {**dear, "seeds": 3})
    assert [row["seeds"] for row in papers.run_queue(queue)] == [3]


def test_a_queue_that_was_killed_goes_on_with_the_runs_that_are_left(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(reproducing, "recipes_of", lambda table: CELLS)
    fits = []

    def fit(run, *rest):
        fits.append(run.config.training.seed)
        if fits == [0, 1]:
            raise KeyboardInterrupt

    monkeypatch.setattr(toy, "fit", fit)
    queue = write_queue(tmp_path, {"table": "t", "variants": ["HOT"], "seeds": 3, "hours": 1})
    with pytest.raises(KeyboardInterrupt):
        list(papers.run_queue(queue))
    assert rows_in(tmp_path) == []
    assert [row["recipe"] for row in papers.run_queue(queue)] == ["a"] and fits == [0, 1, 1, 2]
    assert len(rows_in(tmp_path)[0]["each"]) == 3


def test_a_queue_leaves_what_another_process_holds_and_goes_on_after_an_error(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(reproducing, "recipes_of", lambda table: CELLS)
    queue = write_queue(tmp_path, {"table": "t", "hours": 1})
    _, (held, _) = read_queue(queue)
    (tmp_path / "runs" / held.key).mkdir(parents=True)
    with RunFolder(tmp_path / "runs" / held.key).lock():
        assert [row["recipe"] for row in papers.run_queue(queue)] == ["b"]

    def refuse(*given, **more):
        raise ConfigError("toy: no.")

    monkeypatch.setattr(toy, "prepare", refuse)
    assert [(row["recipe"], row["error"]) for row in papers.run_queue(queue)] == [("a", "toy: no.")]
    assert [row["recipe"] for row in rows_in(tmp_path)] == ["b"]


def test_what_is_wrong_with_a_queue_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match=r"queue\.yaml is not a file\. Give the YAML file of a queue"):
        list(papers.run_queue(tmp_path / "queue.yaml"))
    with pytest.raises(ConfigError, match=r"queue\.yaml: cells\.0\.hours"):
        list(papers.run_queue(write_queue(tmp_path, {"table": "hot-table-1"})))
    with pytest.raises(ConfigError, match="no cell of hot-table-1 has rows mars"):
        list(papers.run_queue(write_queue(tmp_path, {"table": "hot-table-1", "rows": ["mars"], "hours": 1})))
