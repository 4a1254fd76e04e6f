"""The row of results of a published cell: its settings, what was published, and what runs measured."""

import hashlib
import math
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from multiway import files
from multiway.tasks.protocol import NETWORK, OURS, Row
from multiway.tasks.run import Run
from multiway.tasks.scores import deviation, mean, metrics_with_scores, models_of, score_of, step_bytes
from multiway.workflows import Recipe


def cell_row(name: str, cell: Recipe, runs: Sequence[Run], seeds: int) -> Row:
    """One row of results: published, measured with its deviation over seeds, and the baselines."""
    first = runs[0]
    manifest = first.folder.verify() if first.folder else {}
    row: Row = {"recipe": name, "row": cell.row}
    row |= {key: value for key, value in (("variant", cell.variant), ("form", cell.form)) if value}
    if cell.horizons:
        row["horizons"] = ",".join(map(str, cell.horizons))
    row["seeds"] = seeds
    row |= {f"published_{metric}": value for metric, value in cell.figures.items()}
    for model in models_of(first):
        prefix = "" if model == first.task.own else f"{model}_"
        for metric in metrics_with_scores(first):
            values = [score_of(run, model, metric)["value"] for run in runs]
            row[prefix + metric.name] = mean(values)
            if metric.spread and len(cell.horizons) <= 1:  # runs of several horizons are no seeds
                row[f"{prefix}{metric.name}_sd"] = deviation(values)
    return {
        **row,
        "parameters": first.facts["parameters"],
        "flops": first.facts.get("flops"),
        "step_bytes": step_bytes(first),
        "best_epochs": [run.facts["best"].get(run.task.own, {}).get("epoch") for run in runs],
        "seconds": round(math.fsum(value for run in runs for value in run.facts["seconds"].values()), 1),
        "each": [
            {each.name: score_of(run, run.task.own, each)["value"] for each in metrics_with_scores(run)} for run in runs
        ],
        **first.task.cell_facts(runs),
        "settings": first.config.plain(),
        "environment": {key: manifest.get(key) for key in ("versions", "device", "threads")}
        | {"data_sha256": sha256_of_data(first)},
        "commit": commit_of_source(),
    }


def own_parameters(row: Row) -> int | None:
    """How many parameters a row of results has of the model that its runs are about; rows of old call it otherwise."""
    counts = row.get("parameters")
    if not isinstance(counts, dict):
        return counts
    return next((counts[name] for name in (NETWORK, OURS) if name in counts), None)


def sha256_of_data(run: Run) -> str | None:
    """Hash of the file that a run was fitted on, or of the names and hashes of a folder's; None where there is none.

    It is of the bytes alone: neither of settings, as a share for the test, nor of how this version reads them. That of
    a run is of what was read, its splits included.
    """
    if run.config.data is None:
        return None
    path = Path(run.task.locate(run.config.data))
    if not path.is_dir():
        return files.sha256_of(path) if path.exists() else None
    inside = sorted(each for each in path.rglob("*") if each.is_file())
    lines = (f"{each.relative_to(path).as_posix()} {files.sha256_of(each)}\n" for each in inside)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def commit_of_source() -> str | None:
    """The commit that this code is of, in a checkout; or what MULTIWAY_COMMIT says."""
    root = Path(__file__).parents[2]
    if "MULTIWAY_COMMIT" in os.environ or not (root / ".git").exists() or not shutil.which("git"):
        return os.environ.get("MULTIWAY_COMMIT")
    done = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
