"""The tasks by their names, and what is no task."""

import pickle

import pytest

from multiway.errors import ConfigError, RunError
from multiway.tasks.registry import TASKS, task_of
from multiway.tasks.run import name_of


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_called_as_it_is_registered_and_pickled_by_that(name):
    task = task_of(name)
    assert task.name == name and pickle.loads(pickle.dumps(task)) is task


def test_a_misspelt_task_gets_the_nearest():
    with pytest.raises(
        ConfigError, match=r"no task is called volume; did you mean volumes\? Known: forecast, series, images, volumes"
    ):
        task_of("volume")


def test_a_run_of_an_unknown_task_is_named(tmp_path):
    (tmp_path / "config.yaml").write_text("task: video\n")
    with pytest.raises(RunError, match=rf"is a run of the task video; known are {', '.join(TASKS)}\."):
        name_of(tmp_path)


def test_a_run_of_an_older_format_is_named(tmp_path):
    (tmp_path / "config.yaml").write_text("task: forecast\n")
    with pytest.raises(RunError, match=r"has the run format 1, and this version reads \d+\. Train it again"):
        name_of(tmp_path)
