"""Forty tables of hard cells, each as CSV, Parquet, Excel, JSON lines, a pandas and a polars frame.

The classes and the predictions of a run that is trained on each have to be those of the CSV file, or each has to be
refused; and the run of the CSV file has to answer for each as for the CSV file.

    PYTHONPATH=src:tests OMP_NUM_THREADS=1 python -m corpora.formats --out results/formats.jsonl
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from attacks.tiny_runs import origin
from corpora.hard_tables import CELLS, FORMATS, long_table, table
from multiway.data.findings import soundly
from multiway.data.options import ReadOptions, SequenceOptions
from multiway.data.sources.series_reading import read_series_into
from multiway.errors import MultiwayError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.read import read_panel
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run
from multiway.tasks.target_task import answer_samples

SETTINGS = {
    "read": {"target": "outcome"},
    "model": {"hidden": [4], "dropout": 0.0},
    "draws": 2,
    "answer": "logistic",
    "training": {"epochs": 1, "batch_size": 64},
    "baselines": ["majority", "logistic"],
}


class Told(NamedTuple):
    """What a run says of a table in one format.

    refused: In words, where it is.
    """

    run: Run | None
    classes: tuple[str, ...] | None = None
    shares: NDArray[np.float64] | None = None
    refused: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m corpora.formats", description=__doc__)
    parser.add_argument("--count", type=int, default=len(CELLS))
    parser.add_argument("--out", type=Path, help="append the summary as a JSON line")
    chosen = parser.parse_args()
    row = measure(range(chosen.count))
    print(json.dumps(row))
    if chosen.out:
        with chosen.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
    sys.exit(row["equal"] != row["tables"])


def measure(numbers: range) -> dict[str, Any]:
    """Tables that are the same in every format; each that is not is a line on stderr."""
    torch.set_num_threads(1)
    start, faults, refused = time.monotonic(), [], 0
    for number in numbers:
        told, wrong = compared(number)
        refused += bool(told.refused)
        faults += [number] if wrong else []
        for line in wrong:
            print(f"{number} {line}", file=sys.stderr, flush=True)
    return {
        "benchmark": "formats",
        "tables": len(numbers),
        "formats": len(FORMATS),
        "equal": len(numbers) - len(faults),
        "refused_in_all": refused,
        "seconds": round(time.monotonic() - start, 1),
        **origin(),
    }


def compared(number: int) -> tuple[Told, list[str]]:
    """What the CSV of a table gives, and how other formats differ from it."""
    rows = table(number)
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sources = {form: write(rows, Path(name)) for form, write in FORMATS.items()}
        wrong = names_apart(number, Path(name))
        first = told_of(sources["csv"])
        others = {form: told_of(source) for form, source in sources.items() if form != "csv"}
        wrong += [f"{form}: {what}" for form, told in others.items() if (what := difference(first, told))]
        if first.run is not None:
            later = {form: shares_of(first.run, source) for form, source in sources.items()}
            wrong += [f"{form}: {what}" for form, shares in later.items() if (what := _apart(later["csv"], shares))]
    return first, wrong


def names_apart(number: int, folder: Path) -> list[str]:
    """How names, classes and values of the series of a long table differ between formats."""
    rows, folder = long_table(number), folder / "long"
    folder.mkdir()
    told = {form: series_of(write(rows, folder)) for form, write in FORMATS.items()}
    return [f"{form}: {one}, and {told['csv']} in CSV" for form, one in told.items() if one != told["csv"]]


def series_of(source: Any) -> list[Any]:
    """Names and values of the series to forecast, and names and classes of those to classify."""
    told: list[Any] = []
    try:
        panel = read_panel(source, ReadOptions(id_column="who", value_column="x", time_column="step"))
        told += [panel.names, panel.values.tolist()]
    except MultiwayError:
        told.append("refused")
    try:
        options = SequenceOptions(id="who", time="step", target="outcome")
        sequences = soundly("table", lambda findings: read_series_into(source, options, findings))
        told += [sequences.names, sequences.labels, sequences.values.tolist()]
    except MultiwayError:
        told.append("refused")
    return told


def told_of(source: Any) -> Told:
    """Train on a table; its classes, and what the run says of its held-out rows."""
    task = task_of("tabular")
    try:
        config = task.configure({**SETTINGS, "data": str(source) if isinstance(source, Path) else None}, {})
        run = lifecycle.fit_in_memory(task, config, str(source) if isinstance(source, Path) else source)
    except MultiwayError as error:
        return Told(None, refused=str(error))
    stored = run.tables["predictions"].select_dtypes("number").drop(columns=["row", "line"], errors="ignore")
    return Told(run, run.state.classes, stored.to_numpy(float))


def shares_of(run: Run, source: Any) -> Any:
    """What a run says of later rows; words where it refuses them."""
    try:
        return answer_samples(run, run.task.prepare(run.config, source, run.state, labelled=False).encoded)
    except MultiwayError as error:
        return str(error)


def difference(first: Told, other: Told) -> str:
    """How a format differs from the first one, in words; empty where it does not."""
    if bool(first.refused) != bool(other.refused):
        return f"refused: {other.refused or 'not, but CSV is: ' + first.refused}"
    if first.classes != other.classes:
        return f"classes {other.classes}, and {first.classes} in CSV"
    return "" if first.refused else _apart(first.shares, other.shares)


def _apart(first: Any, other: Any) -> str:
    if isinstance(first, str) or isinstance(other, str):
        return "" if isinstance(first, str) == isinstance(other, str) else f"{other!r:.200} in place of {first!r:.200}"
    if first.shape != other.shape:
        return f"predictions {other.shape}, and {first.shape} in CSV"
    return "" if np.array_equal(first, other) else f"predictions differ by {np.abs(first - other).max():.2g}"


if __name__ == "__main__":
    main()
