"""The tasks by their names, and what is no task."""

import pickle
import sys

import pytest

from multiway.errors import ConfigError, RunError
from multiway.tasks.protocol import Metric
from multiway.tasks.registry import task_name, task_of
from multiway.tasks.settings import TASKS, settings_of


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_called_as_it_is_registered_and_pickled_by_that(name):
    task = task_of(name)
    assert task.name == name and pickle.loads(pickle.dumps(task)) is task


def test_an_audit_takes_the_options_of_training_that_data_or_split_depend_on():
    lacking = {
        option.name
        for name in TASKS
        for option in settings_of(name).options
        if "train" in option.commands and "audit" not in option.commands
    }
    assert lacking == {"answer", "budget", "candidates", "epochs", "metric", "model", "refit", "track"}


def test_a_misspelt_task_gets_the_nearest():
    with pytest.raises(
        ConfigError, match=r"no task is called volume; did you mean volumes\? Known: forecast, series, images, volumes"
    ):
        task_of("volume")


def test_a_run_of_an_unknown_task_is_named(tmp_path):
    (tmp_path / "config.yaml").write_text("task: video\n")
    with pytest.raises(RunError, match=rf"is a run of the task video; known are {', '.join(TASKS)}\."):
        task_name(tmp_path)


def test_a_run_of_an_older_format_is_named(tmp_path):
    (tmp_path / "config.yaml").write_text("task: forecast\n")
    with pytest.raises(RunError, match=r"has the run format 1, and this version reads \d+\. Train it again"):
        task_name(tmp_path)


LOWER = {
    "mse",
    "mae",
    "mase",
    "rmse",
    "wape",
    "smape",
    "pinball",
    "crps",
    "wql",
    "sql",
    "ece",
    "ppl",
    "word_ppl",
    "bpb",
    "loss",
    "hd95",
}
"""Scores that are errors; of the others more is better, but for what is only counted."""


def test_an_error_is_better_where_it_is_lower_in_every_task():
    for name in TASKS:
        task_of(name)
    metrics = list(declared_metrics())
    assert len(metrics) > 40 and LOWER <= {metric.name for metric in metrics}
    wrong = {
        metric.name for metric in metrics
        if metric.higher is not (None if metric.name == "count" else (metric.of or metric.name) not in LOWER)
    }  # fmt: skip
    assert wrong == set()


def declared_metrics():
    """Those that stand in modules of tasks: alone, in tuples and in mappings."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("multiway.tasks.", "multiway_papers.")):
            for value in vars(module).values():
                parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
                yield from (part for part in parts if isinstance(part, Metric))
