"""What known data sets bring to the configs of tasks."""

import functools
from pathlib import Path

from multiway.config import Plain, load_yaml
from multiway.data import datasets
from multiway.errors import ConfigError, write_command

FILE = Path(__file__).with_suffix(".yaml")


@functools.cache
def _of_file() -> dict[str, tuple[str, Plain]]:
    """Task and settings by the name of a data set."""
    return {name: (task, settings) for task, sets in load_yaml(FILE).items() for name, settings in sets.items()}


def task_of_dataset(name: str) -> str:
    """The task that a known data set is for."""
    return _of_file()[name][0] if name in _of_file() else datasets.dataset(name).task


def settings_for(data: object, task: str | None = None) -> Plain:
    """Settings that a known data set brings to a config; none where `data` is no name of one.

    With `task`, a set that is for another one is refused.
    """
    if not datasets.is_dataset(str(data)):
        return {}
    known, own = datasets.dataset(str(data)), task_of_dataset(str(data))
    if task not in (None, own):
        kinds = (each.kind for name, each in datasets.catalogue().items() if task_of_dataset(name) == task)
        other = next((f" and no {kind}" for kind in kinds), "")
        raise ConfigError(f"{data} holds {known.kind}{other}. Run `{write_command('train', own, data=data)}`.")
    return dict(_of_file()[str(data)][1] if str(data) in _of_file() else known.settings)
