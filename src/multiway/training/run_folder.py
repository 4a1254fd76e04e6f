"""A run is a folder that is whole at every instant: made by one rename, changed by atomic writes, sealed by hashes."""

import contextlib
import fcntl
import json
import math
import os
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml
from pydantic import Field

from multiway import files, leftovers
from multiway.config import Config, load_yaml
from multiway.errors import RunError, StorageError, in_a_line, write_command
from multiway.training.stored import Manifest, add_seal, is_whole, run_environment

if TYPE_CHECKING:  # a folder is verified without torch
    from torch import Tensor, nn

CONFIG, WEIGHTS, MANIFEST, LOG = "config.yaml", "weights.safetensors", "manifest.json", "metrics.jsonl"
PAGE, ANSWER = "page.json", "answer.json"
"""The report and the prediction after the training's data as the training wrote them, where that takes little."""
SOURCES = ("data", "static_data", "texts", "teacher", "tokenizer", "encoder")
"""Settings that name files or folders."""
KEPT = (".yaml", ".json", ".jsonl", ".safetensors", ".parquet", ".npz")
"""Endings of the files that a run consists of; notes and pictures next to them may change."""


class LogRow(Config):
    """One validation."""

    step: int = Field(ge=0)
    epoch: float = Field(ge=0)
    train_loss: float
    validation_loss: float
    best_loss: float
    validation_score: float | None = None
    best_score: float | None = None
    learning_rate: float = Field(ge=0)
    seconds: float = Field(ge=0)
    samples_per_second: float = Field(ge=0)
    watched: dict[str, list[float]] | None = None

    def plain(self) -> dict[str, Any]:
        """Fields as they were written; a training without a score, or that watches nothing, has none."""
        return self.model_dump(exclude_unset=True)


class RunFolder:
    """One run on disk.

    `config.yaml` is there from the first instant; `manifest.json`, with the hash of every file, from the last.
    Between the two, `state/` holds what is needed to continue.
    What cannot be done, as a file is missing, damaged or not as it was written, is a `RunError`.
    """

    def __init__(self, path: Path, root: Path | None = None) -> None:
        self.path = path
        self.root = path if root is None else root
        """The folder that a user names: this one, or the one that this one is a part of."""
        self._sealed: frozenset[str] | None = None

    @classmethod
    def create(cls, path: Path, config: dict[str, Any]) -> Self:
        """Make the folder with its config in one step."""
        with cls.at_once(path, config) as folder:
            pass
        return folder

    @staticmethod
    def check_free(path: Path) -> None:
        """Whether a run can be made there."""
        files.check_place(path)
        if path.exists():
            raise RunError(f"{path} exists already. Choose another folder, or continue it: {resuming(path)}.")

    @classmethod
    @contextlib.contextmanager
    def at_once(cls, path: Path, config: dict[str, Any]) -> Iterator[Self]:
        """A folder to write a whole run into; it takes its place at the end, so that no part of a run is ever seen."""
        cls.check_free(path)
        leftovers.remove(path)
        files.make_folder(path.parent)
        try:
            with files.atomic_folder(path) as unfinished:
                content = yaml.safe_dump(add_seal(config), sort_keys=False, allow_unicode=True).encode()
                with files.storing(unfinished, lambda: len(content)):
                    (unfinished / CONFIG).write_bytes(content)
                    files.sync_file(unfinished / CONFIG)
                yield (folder := cls(unfinished))
        except StorageError:
            cls.check_free(path)
            raise
        folder.path = folder.root = path

    @classmethod
    def open(cls, path: Path) -> Self:
        """Take an existing run."""
        if not (path / CONFIG).is_file():
            raise RunError(f"{path} is not a run folder: no {CONFIG}. Point at the folder that `multiway train` wrote.")
        return cls(path)

    @property
    def state_dir(self) -> Path:
        """Where the state of an unfinished training lies."""
        return self.path / "state"

    def part(self, name: str) -> "RunFolder":
        """Folder for a second training of this run, such as that of a baseline; it goes when the state goes."""
        path = self.state_dir / name
        for folder in (self.state_dir, path):
            files.make_folder(folder, parents=False)
        return RunFolder(path, self.root)

    @property
    def is_finished(self) -> bool:
        """Whether the run was sealed."""
        return (self.path / MANIFEST).is_file()

    def config(self) -> dict[str, Any]:
        """The config that the run was started with, as it lies there."""
        return load_yaml(self.path / CONFIG)

    def check_config(self) -> None:
        """Compare the config with its own hash."""
        if not is_whole(self.config()):
            raise RunError(
                f"{self.path / CONFIG} was changed since the run was started. Restore it, or start a new run with it."
            )

    @property
    def config_sha256(self) -> str:
        """Hash of the config of the whole run, which its saved states belong to."""
        with files.storing(self.root):
            return files.sha256_of(self.root / CONFIG)

    def find(self, name: str) -> Path | None:
        """Path of a file of the run, None without one; once verified, a run has the files of its manifest only."""
        path = self.path / name
        if not path.is_file():
            return None
        if self._sealed is not None and name not in self._sealed:
            raise RunError(f"{path} has no hash in {MANIFEST}, so it is none of this run. Train the run again.")
        return path

    def tables(self) -> list[Path]:
        """Tables of a verified run."""
        return [self.path / name for name in sorted(self._sealed or ()) if name.endswith(".parquet")]

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for this process; the lock goes with the process, whatever ends it."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise RunError(f"{self.path} is in use by another process. Wait for it, or stop it first.") from None
        finally:
            os.close(descriptor)

    def clean(self) -> None:
        """Remove what a killed write left of the run's files, in the folder or next to it, and nothing else."""
        leftovers.remove_all(self.path)
        leftovers.remove(self.path)

    def log(self, row: dict[str, Any]) -> None:
        """Append a row to the log."""
        files.append_text(self.path / LOG, json.dumps(row) + "\n")

    def rewrite_log(self, rows: list[dict[str, Any]]) -> None:
        """Bring the log to what the saved state knows, so that no row is lost or doubled."""
        files.write_text(self.path / LOG, "".join(json.dumps(row) + "\n" for row in rows))

    def read_log(self) -> list[dict[str, Any]]:
        """Rows of the log."""
        path = self.find(LOG)
        try:
            lines = [] if path is None else path.read_text(encoding="utf-8").splitlines()
            return [LogRow.parse(json.loads(line), str(path)).plain() for line in lines]
        except (ValueError, RecursionError) as error:
            raise RunError(f"{path} cannot be read: {in_a_line(error)}.") from None

    def write_json(self, name: str, content: object) -> None:
        """Write a JSON file atomically."""
        files.write_text(self.path / name, json.dumps(content, indent=1, allow_nan=False) + "\n")

    def read_json(self, name: str) -> Any:
        """Read a JSON file."""
        path = self.present(name)
        try:
            return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse, parse_float=_finite)
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{path} cannot be read: {in_a_line(error)}.") from None

    def save_weights(self, model: "nn.Module", name: str = WEIGHTS) -> None:
        """Write a model's weights."""
        files.write_tensors(self.path / name, model.state_dict())

    def load_weights(self, model: "nn.Module", name: str = WEIGHTS) -> None:
        """Read weights into a model of the same config."""
        path = self.present(name)
        with files.usable(path):
            model.load_state_dict(files.read_tensors(path))

    def load_tensors(self, name: str) -> "dict[str, Tensor]":
        """Read a file of tensors; none where it was not written."""
        path = self.find(name)
        return {} if path is None else files.read_tensors(path)

    def add_inputs(self) -> None:
        """Count what the training read among what the present command reads."""
        settings = [self.config().get("settings")]
        for each in settings:
            if isinstance(each, dict):
                settings += each.values()
                files.add_input(*(each[name] for name in SOURCES if isinstance(each.get(name), str)))

    def read_kept(self, name: str) -> Any:
        """What the training wrote to be shown later; None where it wrote none, or was one of another version."""
        self.check_config()
        manifest = self.verify()
        self.add_inputs()
        if self.find(name) is None or manifest.get("versions", {}).get("multiway") != version("multiway"):
            return None
        return self.read_json(name)

    def present(self, name: str) -> Path:
        """Path of a file without which there is no such run."""
        path = self.find(name)
        if path is None:
            raise RunError(f"{self.path / name} cannot be used: it is missing. Train the run again.")
        return path

    def finish(self, facts: dict[str, Any]) -> None:
        """Seal the run: hashes of every file, versions and machine, then drop the state."""
        self.clean()
        hashes = {
            str(path.relative_to(self.path)): files.sha256_of(path)
            for path in sorted(self.path.rglob("*"))
            if path.suffix in KEPT and path.is_file() and self.state_dir not in path.parents and path.name != MANIFEST
        }
        self.write_json(MANIFEST, add_seal({**facts, **run_environment(), "sha256": hashes}))
        self.drop_state()

    def drop_state(self) -> None:
        """Remove what a finished run needs no more; after a kill that follows the seal, it lies there still."""
        shutil.rmtree(self.state_dir, ignore_errors=True)

    def verify(self) -> dict[str, Any]:
        """Check a sealed run's manifest and files against their hashes and return the manifest."""
        if not self.is_finished:
            raise RunError(f"{self.path} is not finished. Continue it with {resuming(self.path)}.")
        self._sealed = None
        stored = self.read_json(MANIFEST)
        if not isinstance(stored, dict) or not is_whole(stored):
            raise RunError(f"{self.path / MANIFEST} was changed since training. Restore it, or train the run again.")
        hashes = Manifest.parse(stored, str(self.path / MANIFEST)).sha256
        files.add_input(self.path / MANIFEST, *(self.path / name for name in hashes))
        wrong = []
        for name, value in hashes.items():
            if not (self.path / name).is_file() or files.sha256_of(self.path / name) != value:
                wrong.append(name)
        if wrong:
            raise RunError(
                f"{self.path}: changed or missing since training: {', '.join(wrong[:5])}. Train the run again."
            )
        self._sealed = frozenset(hashes)
        return stored


def run_folders(path: Path | str) -> list[Path]:
    """The folder of a run, or those of every seed below it, in the order of their seeds."""
    path = Path(path)
    if (path / CONFIG).is_file():
        return [path]
    below = [folder for folder in path.glob("seed-*") if folder.name[5:].isdecimal()]
    return sorted(below, key=lambda folder: int(folder.name[5:])) or [path]


def resuming(path: Path) -> str:
    """The command that continues a run."""
    return f"`{write_command('train', resume=path)}`"


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _refuse(text: str) -> float:
    """JSON of a run has neither NaN nor numbers beyond the largest."""
    raise ValueError(f"{text} is no finite number")
