"""Tables that tasks share: a frame written to a file, scores over seeds, and what every row of results has."""

import gzip
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from multiway import files
from multiway.errors import ConfigError, RunError
from multiway.tasks.protocol import Cell, Row, Run

if TYPE_CHECKING:
    import pandas as pd


class Scored(Protocol):
    """A run whose scores are rows of model, split, metric, value and the ends of an interval."""

    scores: list[dict[str, Any]]


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


def score_of(run: Scored, model: str, metric: str, split: str = "test") -> dict[str, Any]:
    """Value and interval of one score of a run; all None if it has none."""
    wanted = (model, split, metric)
    found = (row for row in run.scores if (row["model"], row["split"], row["metric"]) == wanted)
    return next(found, {"value": None, "low": None, "high": None})


def models_of(run: Scored, split: str = "test") -> list[str]:
    """Names of the models that are scored, the network's first."""
    return list(dict.fromkeys(row["model"] for row in run.scores if row["split"] == split))


def score_rows(runs: Sequence[Scored], split: str, metrics: Sequence[str], spread: Sequence[str]) -> list[Row]:
    """One row per model: each metric's mean over the runs; what is undefined is None.

    spread: Metrics with their 95 % interval for one run, with their deviation over several.
    """
    return [{"model": model, **_figures(runs, model, split, metrics, spread)} for model in models_of(runs[0], split)]


def _figures(runs: Sequence[Scored], model: str, split: str, metrics: Sequence[str], spread: Sequence[str]) -> Row:
    found: Row = {}
    for metric in metrics:
        rows = [score_of(run, model, metric, split) for run in runs]
        found[metric] = mean([row["value"] for row in rows])
        if metric in spread and len(runs) > 1:
            found[f"{metric} sd"] = deviation([row["value"] for row in rows])
        elif metric in spread:
            found |= {f"{metric} {side}": rows[0][side] for side in ("low", "high")}
    return found


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of what is defined."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def deviation(values: Sequence[float | None]) -> float | None:
    """Standard deviation (n - 1) of what is defined, None for fewer than two."""
    known = [value for value in values if value is not None]
    return statistics.stdev(known) if len(known) > 1 else None
