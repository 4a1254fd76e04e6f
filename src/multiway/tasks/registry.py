"""The tasks by name; a task's module is imported when it is first asked for."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from multiway.errors import ConfigError, RunError, closest
from multiway.tasks.protocol import Task
from multiway.training import RunFolder

if TYPE_CHECKING:
    from multiway.tasks.forecasting import ForecastConfig, ForecastRun
    from multiway.tasks.forecasting import task as forecasting
    from multiway.tasks.segmentation import SegmentConfig, SegmentRun
    from multiway.tasks.segmentation import task as segmentation
    from multiway.tasks.stocks import StockConfig, StockRun
    from multiway.tasks.stocks import task as stocks
    from multiway.tasks.volumes import VolumeConfig, VolumeRun
    from multiway.tasks.volumes import task as volumes

    # So that the type checker compares each module with the protocol.
    _forecasting: Task[ForecastConfig, ForecastRun] = forecasting
    _segmentation: Task[SegmentConfig, SegmentRun] = segmentation
    _stocks: Task[StockConfig, StockRun] = stocks
    _volumes: Task[VolumeConfig, VolumeRun] = volumes

MODULES = {
    "forecast": "multiway.tasks.forecasting.task",
    "volumes": "multiway.tasks.volumes.task",
    "segment": "multiway.tasks.segmentation.task",
    "stocks": "multiway.tasks.stocks.task",
}
TASKS = tuple(MODULES)


def task_of(name: str) -> Task[Any, Any]:
    """The task of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in MODULES:
        raise ConfigError(f"no task is called {name}{closest(name, MODULES)} Known: {', '.join(MODULES)}.")
    return cast(Task[Any, Any], importlib.import_module(MODULES[name]))


def task_of_run(path: Path) -> Task[Any, Any]:
    """The task that wrote a run folder.

    Raises:
        RunError: It is no run folder, or one of a task that is not known.
    """
    return task_of(name_of_run(path))


def name_of_run(path: Path) -> str:
    """Name of the task that wrote a run folder, without importing it.

    Raises:
        RunError: It is no run folder, or one of a task that is not known.
    """
    name = RunFolder.open(path).config().get("task")
    if name not in MODULES:
        raise RunError(f"{path} is a run of the task {name}; known are {', '.join(MODULES)}. It needs another version.")
    return str(name)
