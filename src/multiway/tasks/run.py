"""A run of any task: what it holds, how it is stored and loaded, and the one digest of its data."""

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from multiway import compress, files
from multiway.config import Plain
from multiway.errors import MultiwayError, RunError, in_a_line, warn
from multiway.tasks.choice import find_candidate
from multiway.tasks.protocol import NETWORK, OURS, AnyTask, Row, State, TaskConfig
from multiway.tasks.protocol import Run as Run
from multiway.tasks.registry import FORMAT as FORMAT
from multiway.tasks.registry import read_task, task_of
from multiway.tasks.stored import Preprocessing, ScoreRow
from multiway.training import RunFolder, seed_everything
from multiway.training.on_meta import Undrawn, build_on_meta, check_shapes
from multiway.training.stored import columns_of, read_table

PREPROCESSING, SCORES = "preprocessing.json", "scores.json"
CALIBRATION, BASELINES, REFITTED = "calibration.safetensors", "baselines", "refitted"
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError, RuntimeError)
"""What reading stored values raises where one is absent or does not fit."""


class Models(Mapping[str, nn.Module]):
    """The models of a run by name, ours first; those of a stored run are read when they are first needed.

    refitted: Names of those alone that were fitted again on all rows.
    """

    def __init__(
        self,
        task: AnyTask,
        config: TaskConfig,
        state: State,
        folder: RunFolder | None = None,
        *,
        refitted: Sequence[str] | None = None,
    ) -> None:
        self.task, self.config, self.state, self.folder = task, config, state, folder
        self._names = task.names(config, state) if refitted is None else tuple(refitted)
        self._file = weights_of if refitted is None else file_of_refit
        self._made: dict[str, nn.Module] = {}

    def __getitem__(self, name: str) -> nn.Module:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            seed_everything(self.config.training.seed)
            build, folder = self.task.build, self.folder
            self._made[name] = build(self.config, self.state, name) if folder is None else self._load(name, folder)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without making it

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _load(self, name: str, folder: RunFolder) -> nn.Module:
        with build_on_meta():  # sizes that are not those of the file cost nothing here
            check_shapes(folder.present(self._file(name)), self._build_stored(name, folder))
        model = self._build_stored(name, folder)
        folder.load_weights(model, self._file(name))
        return model.eval()

    def _build_stored(self, name: str, folder: RunFolder) -> nn.Module:
        model = self.task.build(self.config, self.state, name)
        if name == self.task.own and folder.find(compress.SWAPS):
            compress.restore(self.task.network_in(model), folder.path)
        return model

    def check(self) -> None:
        """Build every model without allocating anything."""
        with torch.device("meta"), Undrawn():
            for name in self._names:
                self.task.build(self.config, self.state, name)


def weights_of(name: str) -> str:
    """File of a model's weights."""
    return "weights.safetensors" if name in (NETWORK, OURS) else f"{BASELINES}/{name}.safetensors"


def file_of_refit(name: str) -> str:
    """File of the weights of a model that was fitted again on all rows."""
    return f"{REFITTED}/{name}.safetensors"


def save_run(run: Run, path: Path, add: Callable[[Path], object] = bool) -> None:
    """Write a run that was fitted in memory as a folder, and what is to be added to its files."""
    if run.prepared is None:
        raise RunError(f"{path}: this run was loaded from {run.folder and run.folder.path}. Copy that folder.")
    with RunFolder.at_once(path, opening(run)) as folder:
        store(run, folder)
        add(folder.path)
    run.folder = folder


def load(path: Path) -> Run:
    """Take up a finished run; every file is checked against its hash first."""
    folder = RunFolder.open(path)
    read_task(folder)
    folder.verify()
    task, config, _ = read_opening(folder)
    folder.add_inputs()
    stored = Preprocessing.parse(folder.read_json(PREPROCESSING), str(path / PREPROCESSING))
    task.facts.parse(stored.facts, str(path / PREPROCESSING))
    scores = _scores_of(folder)
    with readable(path, f"run of {task.name}"):
        try:
            state: State = task.state.parse(stored.state)
        except MultiwayError as error:
            raise RunError(f"{path / PREPROCESSING}: {error}") from None
        run = Run(
            task=task,
            config=config,
            state=state,
            models=Models(task, config, state, folder),
            refits=Models(task, config, state, folder, refitted=(stored.facts.get("refitted") or {}).get("models", ())),
            answer=stored.answer,
            scores=scores,
            calibration=folder.load_tensors(CALIBRATION),
            facts=stored.facts,
            folder=folder,
            tables={table.stem: read_table(table, stored.tables.get(table.stem)) for table in folder.tables()},
        )
        run.models[task.own]
        for name in stored.answer.shares:
            run.models.get(find_candidate(name, task.name_answers(config, state)))  # what answers is read now
        for name in run.refits:
            run.refits[find_candidate(name, run.models)]
        task.check_stored(run)
        caution(run)
    return run


def caution(run: Run) -> None:
    """Warn of what should be read with care."""
    for words in run.task.cautions(run):
        warn(words)


def _scores_of(folder: RunFolder) -> list[Row]:
    path, rows = folder.path / SCORES, folder.read_json(SCORES)
    if not (isinstance(rows, list) and rows):
        raise RunError(f"{path} holds no rows of scores. Train the run again.")
    for row in rows:
        ScoreRow.parse(row, str(path))
    return [{**row, "low": row.get("low"), "high": row.get("high")} for row in rows]


def digest_of(content: Iterable[object]) -> str:
    """One hash over everything that was read: arrays by their bytes, frames by their rows, the rest as text."""
    found = hashlib.sha256()
    for part in content:
        if isinstance(part, np.ndarray) and part.dtype.kind != "O":
            found.update(f"{part.dtype.str}{part.shape}".encode())
            found.update(np.ascontiguousarray(part.view(np.int64) if part.dtype.kind in "mM" else part).data)
        else:
            text = repr(part.tolist() if isinstance(part, np.ndarray) else part)
            found.update(f"{len(text)}:{text}".encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def store(run: Run, folder: RunFolder) -> None:
    """Write every file of a finished run, then seal it."""
    files.make_folder(folder.path / BASELINES, parents=False)
    for name, model in run.models.items():
        folder.save_weights(model, weights_of(name))
    for name, model in run.refits.items():
        files.make_folder(folder.path / REFITTED, parents=False)
        folder.save_weights(model, file_of_refit(name))
    if run.calibration:
        files.write_tensors(folder.path / CALIBRATION, run.calibration)
    columns = {name: columns_of(table) for name, table in run.tables.items()}
    parts = {"state": run.state.plain(), "facts": run.facts, "answer": run.answer.plain(), "tables": columns}
    folder.write_json(PREPROCESSING, parts)
    folder.write_json(SCORES, run.scores)
    for name, table in run.tables.items():
        files.write_with(folder.path / f"{name}.parquet", functools.partial(table.to_parquet, index=False))
    run.task.keep(run, run.prepared, folder)
    folder.finish({"task": run.task.name, "data_sha256": run.digest, "seed": run.config.training.seed})


def opening(run: Run) -> Plain:
    """What stands in a run's `config.yaml`."""
    return {"format": FORMAT, "task": run.task.name, "data_sha256": run.digest, "settings": run.config.plain()}


def read_opening(folder: RunFolder) -> tuple[AnyTask, TaskConfig, str]:
    """Task, config and hash of the data of a run."""
    name, stored = read_task(folder)
    folder.check_config()
    task = task_of(name)
    config = task.config.parse(stored.get("settings", {}), str(folder.path / "config.yaml"))
    return task, config, str(stored.get("data_sha256"))


@contextlib.contextmanager
def readable(path: Path, what: str) -> Iterator[None]:
    """Say in one line that stored values are not those of such a run, as this version writes it."""
    try:
        yield
    except MultiwayError:
        raise
    except UNREADABLE as error:
        message = in_a_line(error, 200)
        raise RunError(f"{path} holds no {what} that this version can read ({message}).") from error
