"""A run is a folder that is whole at every instant: made by one rename, changed by atomic writes, sealed by hashes."""

import contextlib
import datetime
import fcntl
import glob
import importlib.metadata
import json
import os
import platform
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import torch
import yaml
from torch import nn

from multiway import files
from multiway.config import load_yaml
from multiway.errors import RunError, StorageError

CONFIG, WEIGHTS, MANIFEST, LOG = "config.yaml", "weights.safetensors", "manifest.json", "metrics.jsonl"
PACKAGES = ("multiway", "torch", "numpy", "pandas", "accelerate", "safetensors")


class RunFolder:
    """One run on disk.

    `config.yaml` is there from the first instant; `manifest.json`, with the hash of every file, from the last.
    Between the two, `state/` holds what is needed to continue.
    """

    def __init__(self, path: Path, root: Path | None = None) -> None:
        self.path = path
        self.root = path if root is None else root
        """The folder that a user names: this one, or the one that this one is a part of."""

    @classmethod
    def create(cls, path: Path, config: dict[str, Any]) -> Self:
        """Make the folder with its config in one step.

        Raises:
            RunError: Something is there already; of many that start at once, one wins.
        """
        cls.check_free(path)
        files.make_folder(path.parent)
        temporary = path.with_name(files.temporary_name(f".{path.name}"))
        content = yaml.safe_dump(config, sort_keys=False, allow_unicode=True).encode()
        try:
            with files.storing(path, lambda: len(content)):
                temporary.mkdir()
                (temporary / CONFIG).write_bytes(content)
                files.sync_file(temporary / CONFIG)
                os.rename(temporary, path)  # fails if a folder with a run is there by now
                files.sync_folder(path.parent)
        except StorageError:
            cls.check_free(path)
            raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        files.note(path, path / CONFIG)
        return cls(path)

    @staticmethod
    def check_free(path: Path) -> None:
        """Whether a run can be made there.

        Raises:
            RunError: Something is there already, or nothing can be made there.
        """
        files.check_place(path)
        if path.exists():
            raise RunError(
                f"{path} exists already. Choose another --out, or continue it: `multiway train --resume {path}`."
            )

    @classmethod
    def open(cls, path: Path) -> Self:
        """Take an existing run.

        Raises:
            RunError: It is no run folder.
        """
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
        """The config that the run was started with."""
        return load_yaml(self.path / CONFIG)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder for this process; the lock goes with the process, whatever ends it.

        Raises:
            RunError: Another process holds it.
        """
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise RunError(f"{self.path} is in use by another process. Wait for it, or stop it first.") from None
        finally:
            os.close(descriptor)

    def clean(self) -> None:
        """Remove what a killed write left in the folder or beside it."""
        files.remove_partial(self.path)
        for stray in self.path.parent.glob(f".{glob.escape(self.path.name)}{files.TEMPORARY_MARK}*"):
            if files.is_temporary(stray.name):
                shutil.rmtree(stray, ignore_errors=True)

    def log(self, row: dict[str, Any]) -> None:
        """Append a row to the log."""
        files.append_text(self.path / LOG, json.dumps(row) + "\n")

    def rewrite_log(self, rows: list[dict[str, Any]]) -> None:
        """Bring the log to what the saved state knows, so that no row is lost or doubled."""
        files.write_text(self.path / LOG, "".join(json.dumps(row) + "\n" for row in rows))

    def read_log(self) -> list[dict[str, Any]]:
        """Rows of the log."""
        path = self.path / LOG
        return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []

    def write_json(self, name: str, content: object) -> None:
        """Write a JSON file atomically."""
        files.write_text(self.path / name, json.dumps(content, indent=1, allow_nan=False) + "\n")

    def read_json(self, name: str) -> Any:
        """Read a JSON file.

        Raises:
            RunError: It is missing or damaged.
        """
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{self.path / name} cannot be read: {' '.join(str(error).split())[:120]}.") from None

    def save_weights(self, model: nn.Module, name: str = WEIGHTS) -> None:
        """Write a model's weights."""
        files.write_tensors(self.path / name, model.state_dict())

    def load_weights(self, model: nn.Module, name: str = WEIGHTS) -> None:
        """Read weights into a model of the same config.

        Raises:
            RunError: The file is missing, damaged, or of another model.
        """
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            model.load_state_dict(load_file(self.path / name))
        except (SafetensorError, OSError, RuntimeError, ValueError, KeyError) as error:
            message = " ".join(str(error).split())[:160]
            raise RunError(f"{self.path / name} cannot be used: {message}. Train the run again.") from None

    def finish(self, facts: dict[str, Any]) -> None:
        """Seal the run: hashes of every file, versions and machine, then drop the state."""
        self.clean()
        hashes = {
            str(path.relative_to(self.path)): files.sha256_of(path)
            for path in sorted(self.path.rglob("*"))
            if path.is_file() and self.state_dir not in path.parents and path.name != MANIFEST
        }
        self.write_json(MANIFEST, {**facts, **environment(), "sha256": hashes})
        shutil.rmtree(self.state_dir, ignore_errors=True)

    def verify(self) -> dict[str, Any]:
        """Check a sealed run's files against their hashes and return the manifest.

        Raises:
            RunError: The run is unfinished, or files changed or are missing; they are named.
        """
        if not self.is_finished:
            raise RunError(f"{self.path} is not finished. Continue it with `multiway train --resume {self.path}`.")
        manifest: dict[str, Any] = self.read_json(MANIFEST)
        hashes = manifest.get("sha256") if isinstance(manifest, dict) else None
        if not isinstance(hashes, dict):
            raise RunError(f"{self.path / MANIFEST} holds no hashes. Train the run again.")
        wrong = [name for name, value in hashes.items() if not _matches(self.path / name, value)]
        if wrong:
            raise RunError(
                f"{self.path}: changed or missing since training: {', '.join(wrong[:5])}. Train the run again."
            )
        return manifest


def _matches(path: Path, value: object) -> bool:
    return path.is_file() and files.sha256_of(path) == value


def environment() -> dict[str, Any]:
    """Versions and machine, for the manifest."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()
    return {
        "versions": versions,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "device": device,
        "threads": torch.get_num_threads(),
        "finished": datetime.datetime.fromtimestamp(time.time(), datetime.UTC).isoformat(timespec="seconds"),
    }
