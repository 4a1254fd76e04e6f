"""The manifest of a sealed run: facts, versions, machine, and the hash of every file; a seal says if it was changed."""

import contextlib
import datetime
import hashlib
import importlib.metadata
import json
import platform
import time
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any

import torch
from pydantic import ConfigDict, Field, field_validator

from multiway.config import Config

SEAL = "seal"
"""Where plain values keep the hash of all others."""
PACKAGES = ("multiway", "torch", "numpy", "pandas", "accelerate", "safetensors")
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Manifest(Config):
    """What a manifest holds; facts of a task may stand beside."""

    model_config = ConfigDict(extra="allow")

    sha256: dict[str, Sha256]
    """Hash of each file, by its path in the run."""
    task: str | None = None
    data_sha256: str | None = None
    seed: int | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    python: str = ""
    platform: str = ""
    device: str = ""
    threads: int = 1
    finished: str = ""

    @field_validator("sha256")
    @classmethod
    def _paths_stay_in_the_run(cls, hashes: dict[str, str]) -> dict[str, str]:
        outside = [name for name in hashes if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts]
        if outside:
            raise ValueError(f"{outside[0]} is no path in the run")
        return hashes


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values with their hash beside them."""
    return {**values, SEAL: _digest(values)}


def is_whole(values: Mapping[str, Any]) -> bool:
    """Whether values are those that were sealed."""
    return values.get(SEAL) == _digest({name: value for name, value in values.items() if name != SEAL})


def _digest(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def environment() -> dict[str, Any]:
    """Versions and machine."""
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
