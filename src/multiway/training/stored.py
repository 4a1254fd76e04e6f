"""What lies in a run: sealed manifest and tables, each refused in one line where it is not as written."""

import contextlib
import datetime
import hashlib
import importlib.metadata
import json
import platform
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import pandas as pd
from pydantic import ConfigDict, Field, field_validator

from multiway.config import Config
from multiway.errors import RunError, in_a_line

SEAL = "seal"
"""Where plain values keep the hash of all others."""
PACKAGES = ("multiway", "torch", "numpy", "pandas", "accelerate", "safetensors")
MAX_CELLS = 50_000_000
"""Of one table of a run: far more than any run keeps, far fewer than fill a memory."""
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Manifest(Config):
    """What a manifest holds; a task may add facts."""

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


def add_seal(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values with their hash."""
    return {**values, SEAL: _digest(values)}


def is_whole(values: Mapping[str, Any]) -> bool:
    """Whether values are those that were sealed."""
    return values.get(SEAL) == _digest({name: value for name, value in values.items() if name != SEAL})


def _digest(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def run_environment() -> dict[str, Any]:
    """Versions and machine."""
    import torch  # a manifest is read without

    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    processor = f"{platform.processor() or platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else processor
    return {
        "versions": versions,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "device": device,
        "threads": torch.get_num_threads(),
        "finished": datetime.datetime.fromtimestamp(time.time(), datetime.UTC).isoformat(timespec="seconds"),
    }


def columns_of(table: pd.DataFrame) -> dict[str, str]:
    """Types of the columns of a table, in their order."""
    return {str(name): str(kind) for name, kind in table.dtypes.items()}


def read_table(path: Path, columns: dict[str, str] | None) -> pd.DataFrame:
    """Read a table of a run, once its head says that it is one."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        head = read_metadata(path)
        if head.num_rows * head.num_columns > MAX_CELLS:
            raise ValueError(f"{head.num_rows:,} rows are more than a run keeps")
        table = pd.read_parquet(path)
        if columns_of(table) != columns:
            raise ValueError(f"its columns are {columns_of(table)} and were {columns}")
    except (ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise RunError(f"{path} cannot be used: {in_a_line(error, 200)}. Train the run again.") from None
    return table
