"""Tables that tasks share: a frame written to a file, and the part of a results row that every task has."""

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from multiway import files
from multiway.errors import ConfigError, RunError
from multiway.tasks.protocol import Cell, Row, Run

if TYPE_CHECKING:
    import pandas as pd


def write_frame(frame: "pd.DataFrame", path: Path) -> None:
    """Write CSV, CSV.gz or Parquet atomically.

    Raises:
        ConfigError: The ending is none of these.
        RunError: The folder does not exist, or the disk is full.
    """
    check_target(path)
    if path.suffix == ".parquet":
        files.write_with(path, lambda temporary: frame.to_parquet(temporary, index=False))
    else:
        text = frame.to_csv(index=False).encode()
        files.write_bytes(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def check_target(path: Path) -> None:
    """Whether `write_frame` can write there; ask before long work.

    Raises:
        ConfigError: The ending is none of .csv, .csv.gz and .parquet.
        RunError: The folder does not exist.
    """
    if not path.parent.is_dir():
        raise RunError(f"{path} could not be written: there is no folder {path.parent}. Make it first.")
    if not path.name.endswith((".csv", ".csv.gz", ".parquet")):
        raise ConfigError(f"{path} must end in .csv, .csv.gz or .parquet.")


def cell_head(name: str, cell: Cell, seeds: int) -> Row:
    """Begin a row of results: which cell it is, and what was published."""
    horizons = {"horizons": ",".join(map(str, cell.horizons))} if cell.horizons else {}
    variant = {"variant": cell.variant} if cell.variant else {}
    published = {f"published_{metric}": value for metric, value in cell.figures.items()}
    return {"recipe": name, "row": cell.row, **variant, **horizons, "seeds": seeds, **published}


def cell_tail(runs: Sequence[Run]) -> Row:
    """End a row of results: the settings and the machine that made it."""
    first = runs[0]
    manifest = first.folder.verify() if first.folder else {}
    return {
        "settings": first.config.plain(),
        "environment": {key: manifest.get(key) for key in ("versions", "device", "threads", "data_sha256")},
        "commit": os.environ.get("MULTIWAY_COMMIT"),
    }


def not_earned(ours: float | None, others: dict[str, float | None]) -> str:
    """Say it where a baseline does as well as the network or better, higher being better; else nothing."""
    known = {name: value for name, value in others.items() if value is not None}
    best = max(known, key=lambda name: known[name], default=None)
    if ours is None or best is None or known[best] < ours:
        return ""
    return f" The network has not earned its place: {best} does as well or better."
