"""What happens to a run of any task: made from its data, fitted, scored, sealed; continued after an interruption."""

import dataclasses
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from multiway import compress
from multiway.compress.measuring import count_flops
from multiway.data.options import FileOptions
from multiway.data.sources.tables import with_decimal
from multiway.errors import CheckWarning, ConfigError, MultiwayError, RunError, concerning, spell_message, warn
from multiway.tasks.choice import Choice, choice_of_settings, find_candidate
from multiway.tasks.options import AUTO
from multiway.tasks.protocol import NETWORK, AnyTask, Context, Fitted, Row, TaskConfig, ValueT
from multiway.tasks.run import Models, Run, caution, digest_of, opening, read_opening, store
from multiway.tasks.run import load as load
from multiway.terminal import tell
from multiway.training import History, RunFolder
from multiway.training.memory import count_kept_per_sample
from multiway.training.processes import create_once, hold_folder, is_main
from multiway.training.run_folder import run_folders


def load_run(path: Path | str) -> Run:
    """The run in a folder, or the first of the seeds below it."""
    return load(run_folders(path)[0])


def load_runs(path: Path | str) -> list[Run]:
    """The run in a folder, or the runs of every seed below it."""
    return [load(folder) for folder in run_folders(path)]


def make(task: AnyTask, config: TaskConfig, source: object, *, progress: bool = False) -> Run:
    """Read the data and build what is fitted on it; nothing is fitted or written yet."""
    started = time.monotonic()
    read = getattr(config, "read", None)
    if isinstance(read, FileOptions):
        config = config.replace(read=with_decimal(read, source))
    with concerning(task.name):
        prepared = task.prepare(config, source, progress=progress)
        config, state, plan = task.settle(config, prepared, time.monotonic() - started, progress=progress)
        models = Models(task, config, state)
        if config.answer != AUTO:
            find_candidate(config.answer, task.name_answers(config, state))
        models.check()
    facts = {"source": prepared.source, "notes": [*prepared.notes, *plan], "data_sha256": digest_of(prepared.content())}
    for line in plan if progress and is_main() else ():
        tell(line)
    return Run(task=task, config=config, state=state, models=models, facts=facts, prepared=prepared)


def warn_of_data(run: Run) -> Run:
    """The run, once what a check warns of in its data is said, and kept among its notes."""
    said = [(words,) if isinstance(words, str) else words for words in run.task.warnings(run.config, run.prepared)]
    lines = [spell_message(words).strip() for words in said]
    run.facts["notes"] = list(dict.fromkeys([*run.facts["notes"], *lines]))
    for words in said if is_main() else ():
        warn(CheckWarning.of(run.task.name, f"{run.prepared.source}: ", *words))
    return run


def fit_in_memory(task: AnyTask, config: TaskConfig, source: object, *, progress: bool = False) -> Run:
    """Fit on data in memory or on a path; nothing is written."""
    return fit(warn_of_data(make(task, config, source, progress=progress)), Context(progress=progress))


def start(task: AnyTask, config: TaskConfig, path: Path, *, progress: bool = False) -> Run:
    """Read the data, then make the folder, then fit and seal: an error in the data leaves nothing behind."""
    if config.data is None:
        raise RunError("a run on disk needs data: give a file or folder, or the name of a known data set.")
    run = warn_of_data(make(task, config, task.locate(config.data), progress=progress))
    folder = create_once(path, opening(run))
    with hold_folder(folder):
        return _fit_and_store(run, folder, progress)


def continue_run(path: Path, *, progress: bool = False) -> Run:
    """Continue an interrupted run to the same weights; a finished one is only loaded."""
    folder = RunFolder.open(path)
    if folder.is_finished:
        folder.drop_state()
        return load(path)
    with hold_folder(folder):
        folder.clean()
        task, config, digest = read_opening(folder)
        run = warn_of_data(make(task, config, task.locate(config.data or ""), progress=progress))
        if run.digest != digest:
            raise RunError(
                f"{path}: {config.data} changed since the run was started. Start a new run, or restore the data."
            )
        return _fit_and_store(run, folder, progress)


def reread(run: Run) -> Any:
    """The data that a run was fitted on, prepared once more.

    Raises:
        ConfigError: They were in memory.
        RunError: They are no longer the same.
    """
    prepared = run.task.prepare(run.config, data_of(run))
    if run.digest != digest_of(prepared.content()):
        place = "this run" if run.folder is None else run.folder.path
        raise RunError(f"{place}: {run.config.data} is not the data of the training any more. Restore it.")
    return prepared


def if_there(read: Callable[[], ValueT]) -> ValueT | None:
    """What is read of the data of a run; None where they are gone, or are others by now."""
    try:
        return read()
    except (MultiwayError, OSError):
        return None


def update_run(path: Path, data: str, out: Path) -> Run:
    """A finished run with later rows taken in, in a folder of its own; a training with these updates gives the same."""
    run = load(path)
    assert run.folder is not None
    run.prepared = reread(run)
    log, has_swaps = run.folder.read_log(), run.folder.find(compress.SWAPS) is not None
    run.models = {name: run.models[name] for name in run.models}  # read from the folder before there is another
    longer = run.task.update(run, data)
    with RunFolder.at_once(out, opening(longer)) as folder:
        folder.rewrite_log(log)
        if has_swaps:
            compress.write_swaps(longer.task.network_in(longer.model), folder.path)
        longer.folder = folder
        store(longer, folder)
    return longer


def data_of(run: Run) -> str:
    """Where the data lie that a run was fitted on."""
    if run.config.data is None:
        raise ConfigError("this run was fitted on what was in memory, which is gone. Train on a file.")
    return run.task.locate(run.config.data)


def _fit_and_store(run: Run, folder: RunFolder, progress: bool) -> Run:
    run.folder = folder
    fit(run, Context(folder=folder, progress=progress))
    run.task.join(run)
    if is_main():
        store(run, folder)
    return run


SCORED = ("validation", "test")


def fit(run: Run, context: Context) -> Run:
    """Fit everything a run consists of, in place."""
    seconds = fit_models(run, run.models, context)
    run.models = dict(run.models)
    clock = time.perf_counter()
    run.facts |= costs_of(run)
    run.answer = choose_answer(run)
    seconds["choice"], clock = time.perf_counter() - clock, time.perf_counter()
    run.task.refit(run, run.prepared, context)
    seconds["refit"], clock = time.perf_counter() - clock, time.perf_counter()
    finish(run)
    seconds["evaluation"] = time.perf_counter() - clock
    run.facts["seconds"] = {name: round(value, 3) for name, value in seconds.items()}
    if is_main():
        caution(run)
    return run


def choose_answer(run: Run, *, refit: bool = True) -> Choice:
    """Which model answers, by what was held out; see `Task.choose`."""
    task = run.task
    return choice_of_settings(task.own, "") if task.choose is None else task.choose(run, run.prepared, refit=refit)


def fit_models(run: Run, names: Iterable[str], context: Context) -> dict[str, float]:
    """Fit some models of a run, in place, on training and validation rows alone; the seconds that each took.

    Our own is the last: a network that is far behind what is there already stops early.
    """
    names = list(names)
    seconds, found = dict.fromkeys(names, 0.0), dict[str, Fitted].fromkeys(names)
    order = sorted(names, key=lambda name: name == run.task.own)
    for place, name in enumerate(order):
        model, clock = run.models[name], time.perf_counter()
        own = dataclasses.replace(context, model=name, fitted=tuple(order[:place]))
        found[name] = run.task.fit(run, name, run.prepared, own)
        model.to("cpu").eval()
        seconds[name] = time.perf_counter() - clock
    histories = {name: each for name, each in found.items() if isinstance(each, History)}
    run.facts["notes"] = [*run.facts["notes"], *(note for history in histories.values() for note in history.notes)]
    run.facts |= {
        "best": {name: _best(history) for name, history in histories.items()},
        "learnt": {name: each for name, each in found.items() if isinstance(each, dict)},
        "parameters": parameters_of(run, found),
        "histories": {name: history.rows for name, history in histories.items() if name != run.task.own},
    }
    return seconds


def finish(run: Run) -> None:
    """Calibrate and score models that are fitted; called anew where a network was changed."""
    run.calibration = run.task.calibrate(run, run.prepared)
    scores: list[Row] = []
    tables: dict[str, list[pd.DataFrame]] = {}
    for split in SCORED:
        predictions = run.task.predict(run, run.prepared, split)
        scores += run.task.score(run, predictions, split)
        for name, table in run.task.tables(run, predictions, split).items():
            tables.setdefault(name, []).append(table)
    run.scores = scores
    run.tables = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    run.facts |= run.task.describe(run, run.prepared, predictions)
    run.known.clear()


def announce(name: str, context: Context) -> None:
    """Say on stderr which baseline is trained, where progress is shown."""
    if context.progress and name != NETWORK:
        print(f"training the baseline {name}", file=sys.stderr, flush=True)


def parameters_of(run: Run, names: Iterable[str]) -> dict[str, int]:
    """Trained numbers of every one of these models that has any."""
    counts = {name: sum(map(torch.numel, run.task.trained_part(run.models[name]).parameters())) for name in names}
    return {name: count for name, count in counts.items() if count}


def costs_of(run: Run) -> dict[str, int | None]:
    """Of the network on one sample: `flops`, and `kept`, the bytes that training keeps for its gradient.

    None where the task gives no sample.
    """
    try:
        network, sample = run.task.network_in(run.model), run.task.sample(run, run.prepared)
    except ConfigError:
        return {"flops": None, "kept": None}
    one = tuple(None if part is None else part[:1] for part in sample)
    return {"flops": count_flops(network, *one), "kept": count_kept_per_sample(network, one)}


def _best(history: History) -> Row:
    return {
        "epoch": history.best_epoch,
        "validation_loss": history.best_loss,
        "validation_score": history.best_score,
        "steps": history.steps,
        "stopped": history.stopped,
    }
