"""What happens to a run of any task: made from its data, fitted, sealed; continued after an interruption."""

from pathlib import Path
from typing import Any

from multiway.errors import ConfigError, RunError
from multiway.tasks.fitting import fit
from multiway.tasks.protocol import Context, Task
from multiway.tasks.run import Models, Run, digest_of, opening, read_opening, store
from multiway.tasks.run import load as load
from multiway.training import RunFolder
from multiway.training.processes import create_once, held, is_main


def make(task: Task[Any, Any, Any], config: Any, source: Any, *, progress: bool = False) -> Run:
    """Read the data and build what is fitted on it; nothing is fitted or written yet."""
    prepared = task.prepare(config, source, progress=progress)
    state = task.learn(config, prepared)
    config = task.settle(config, state, progress=progress)
    models = Models(task, config, state)
    models.check()
    facts = {"source": prepared.source, "notes": list(prepared.notes), "data_sha256": digest_of(prepared.content())}
    return Run(task=task, config=config, state=state, models=models, facts=facts, prepared=prepared)


def fitted(task: Task[Any, Any, Any], config: Any, source: Any, *, progress: bool = False) -> Run:
    """Fit on data in memory or on a path; nothing is written."""
    return fit(make(task, config, source, progress=progress), Context(progress=progress))


def start(task: Task[Any, Any, Any], config: Any, path: Path, *, progress: bool = False) -> Run:
    """Read the data, then make the folder, then fit and seal: an error in the data leaves nothing behind.

    Raises:
        RunError: There is no data, or something lies at the path.
    """
    if config.data is None:
        raise RunError("a run on disk needs data: give a file or folder, or the name of a known data set.")
    run = make(task, config, task.locate(config.data), progress=progress)
    folder = create_once(path, opening(run))
    with held(folder):
        return _sealed(run, folder, progress)


def resume(path: Path, *, progress: bool = False) -> Run:
    """Continue an interrupted run to the same weights; a finished one is only loaded.

    Raises:
        RunError: The data changed since the start, or the folder is no run.
    """
    folder = RunFolder.open(path)
    if folder.is_finished:
        return load(path)
    with held(folder):
        folder.clean()
        task, config, digest = read_opening(folder)
        run = make(task, config, task.locate(config.data or ""), progress=progress)
        if run.digest != digest:
            raise RunError(
                f"{path}: {config.data} changed since the run was started. Start a new run, or restore the data."
            )
        return _sealed(run, folder, progress)


def reread(run: Run) -> Any:
    """The data that a run was fitted on, prepared once more.

    Raises:
        ConfigError: They were in memory.
    """
    if run.config.data is None:
        raise ConfigError("this run was fitted on what was in memory, which is gone. Train on a file to explain it.")
    return run.task.prepare(run.config, run.task.locate(run.config.data))


def _sealed(run: Run, folder: RunFolder, progress: bool) -> Run:
    run.folder = folder
    fit(run, Context(folder=folder, progress=progress))
    if is_main():
        store(run, folder)
    return run
