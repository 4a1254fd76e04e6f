"""Every task has the functions that the workflows call, under their names and with their arguments."""

import inspect

import pytest

from multiway.cli.options import TASKS_OF_OPTION, Task
from multiway.errors import ConfigError, RunError
from multiway.tasks import protocol
from multiway.tasks.registry import MODULES, task_of, task_of_run

FUNCTIONS = [name for name, value in vars(protocol.Task).items() if inspect.isfunction(value) and name[0] != "_"]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_task_has_every_function_with_its_arguments(name, function):
    wanted = list(inspect.signature(getattr(protocol.Task, function)).parameters.values())[1:]
    got = inspect.signature(getattr(task_of(name), function)).parameters.values()
    assert [parameter.kind for parameter in got] == [parameter.kind for parameter in wanted]
    assert [p.name for p in got if p.kind is p.KEYWORD_ONLY] == [p.name for p in wanted if p.kind is p.KEYWORD_ONLY]


@pytest.mark.parametrize("name", MODULES)
def test_a_task_is_called_as_it_is_registered(name):
    assert task_of(name).NAME == name


def test_the_command_line_names_every_task():
    assert [task.value for task in Task] == list(MODULES)
    assert {task for tasks in TASKS_OF_OPTION.values() for task in tasks} <= set(MODULES)


def test_a_misspelt_task_gets_the_nearest():
    with pytest.raises(ConfigError, match=r"no task is called volume; did you mean volumes\? Known: forecast, volumes"):
        task_of("volume")


def test_a_run_of_an_unknown_task_is_named(tmp_path):
    (tmp_path / "config.yaml").write_text("task: video\n")
    with pytest.raises(RunError, match=r"is a run of the task video; known are forecast, volumes, segment, stocks\."):
        task_of_run(tmp_path)
