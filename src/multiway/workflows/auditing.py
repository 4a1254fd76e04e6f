"""Auditing a data set and its split, or a finished run."""

from pathlib import Path
from typing import Any

from multiway.auditing import AuditReport
from multiway.errors import ConfigError, closest
from multiway.tasks.registry import TASKS, task_of
from multiway.workflows.runs import load_run


def audit(
    what: str | Path, settings: dict[str, Any] | None = None, overrides: dict[str, Any] | None = None
) -> AuditReport:
    """Say whether data and split leak: overlap, statistics, calendar, copies, labels.

    Args:
        what: A task's name, or the folder of a finished run, whose own data, split and scaling are looked at.
        settings: Those of a run of the task, `data` among them, such as `{"data": "sales.csv", "horizon": 28}`.
        overrides: More of them, which win.

    Raises:
        ConfigError: There is no data, or a run is given settings.
        DataError: The data cannot be read.
    """
    if str(what) not in TASKS:
        return _audit_run(Path(what), bool(settings or overrides))
    task = task_of(str(what))
    config = task.configure(settings or {}, overrides)
    if config.data is None:
        raise ConfigError("audit: there is no data. Give --data FILE or a known data set's name.")
    return task.audit(config)


def _audit_run(path: Path, is_given_settings: bool) -> AuditReport:
    if not path.is_dir():
        near = closest(str(path), TASKS)
        raise ConfigError(f"audit: {path} is no task and no run folder{near} Tasks are {', '.join(TASKS)}.")
    if is_given_settings:
        raise ConfigError(f"audit: {path} is a run and has its own data and settings. Leave out the options.")
    run = load_run(path)
    if run.config.data is None:
        raise ConfigError(f"audit: {path} was fitted on what was in memory, which is gone. Train on a file.")
    return run.task.audit(run.config, run)
