"""Large volumes, tables and panels, and the start of the command: seconds and memory.

    PYTHONPATH=src python -m benchmarks.large --folder /dev/shm/large --out results/large.jsonl

Every command runs in a process of its own, with the threads that the machine gives it, and with the byte code of the
package, as where it is installed.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from safetensors.torch import load_file

from benchmarks.rows import keep
from benchmarks.volume_memory import ROOT
from multiway.tasks.forecasting.forecasts import FIRST
from multiway_papers.cell_rows import commit_of_source

SIDE, CASES = 64, {"train": 64, "val": 16, "test": 32}
USUAL_BATCH, REPORT_SECONDS, HELP_SECONDS, HELP_MB = 32, 20, 0.6, 120
HELP_ROUNDS, REPORT_ROUNDS, CHECK_ROUNDS = 7, 3, 3
LONG_ROWS, STORES, ITEMS = 2_000_000, 20, 100
CHECK_SECONDS, CHECK_TIMES = 6, 4
PANELS = {500: (1000, {"first_seconds": 3, "seconds": 60, "gb": 1.5}), 30_000: (500, {"gb": 8})}
"""Rows of panels of so many series, and what their training may take."""
NETWORKS, EPOCH = (3_000, 30_000), ("--set", "network=true", "--epochs", 1)
"""Series of panels whose network is trained for an epoch, in groups, as their command says; the bar is of the last."""
PARTS, PART_SERIES, PART_ROWS, SHARE, EQUAL = 10, 1500, 1000, 0.6, 1e-12
"""Parts of a folder, their series and rows; memory of each of two processes over that of one; how equal ridge is."""
BUDGET, LATE, BUDGETED = 60, 1.1, (50, 4000)
"""Seconds that a training may take, what of them it takes at most, and series and rows of its panel."""
KINDS = (
    "help",
    "volumes",
    "check",
    *(f"panel-{series}" for series in PANELS),
    *(f"network-{series}" for series in NETWORKS),
    "budget",
    "processes",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="folder to work in, which does not exist yet")
    parser.add_argument("--out", type=Path, help="append one JSON line per row")
    parser.add_argument("--only", nargs="*", default=list(KINDS), choices=KINDS, help="rows of these alone")
    chosen = parser.parse_args()
    chosen.folder.mkdir()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    called("compileall", "-q", ROOT / "src")
    for row in measure(chosen.folder, chosen.only):
        where = {"commit": commit_of_source(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
        keep({**row, **where}, chosen.out)


def measure(folder: Path, kinds: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One row each for what is named; `load` says what else the machine did."""
    run = folder / "run"
    if "help" in kinds:
        yield help_row()
    if "volumes" in kinds:
        yield training_row(write_volumes(folder / "volumes.npz"), run)
        yield report_row(run)
    if "check" in kinds:
        yield check_row(write_sales(folder / "sales.csv"))
    for series, (rows, bars) in PANELS.items():
        if f"panel-{series}" in kinds:
            yield panel_row(write_panel(folder / f"{series}.parquet", series, rows), folder / f"run-{series}", bars)
    rows, bars = PANELS[max(NETWORKS)]
    for series in NETWORKS:
        if (name := f"network-{series}") in kinds:
            yield panel_row(write_panel(folder / f"{name}.parquet", series, rows), folder / f"run-{name}", bars, *EPOCH)
    if "budget" in kinds:
        yield budget_row(write_panel(folder / "budget.parquet", *BUDGETED), folder / "run-budget")
    if "processes" in kinds:
        yield processes_row(write_parts(folder / "parts"), folder)


def write_sales(path: Path) -> Path:
    """A long table of items in stores by day, as CSV."""
    steps, series, chance = LONG_ROWS // (STORES * ITEMS), STORES * ITEMS, np.random.default_rng(0)
    names = [(f"store {store}", f"item {item}") for store in range(STORES) for item in range(ITEMS)]
    stores, items = (np.repeat(each, steps) for each in zip(*names, strict=True))
    days = np.tile(pd.date_range("2019-01-01", periods=steps).strftime("%Y-%m-%d"), series)
    sales = 20 + 5 * np.sin(2 * np.pi * np.tile(np.arange(steps), series) / 7) + chance.normal(0, 2, LONG_ROWS)
    price = (5 + chance.random(LONG_ROWS)).round(2)
    columns = {"store": stores, "date": days, "item": items, "sales": sales.round(2), "price": price}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def write_panel(path: Path, series: int, rows: int) -> Path:
    """Weekly seasons with noise, a column for each series, as Parquet."""
    chance = np.random.default_rng(0)
    week = np.sin(2 * np.pi * (np.arange(rows)[:, None] / 7 + chance.random(series)))
    walk = 0.2 * chance.normal(size=(rows, series)).cumsum(0)
    values = (20 + 5 * week + walk + chance.normal(size=(rows, series))).astype(np.float32)
    frame = pd.DataFrame(values, columns=[f"s{number}" for number in range(series)])
    frame.insert(0, "date", pd.date_range("2020-01-01", periods=rows))
    frame.to_parquet(path)
    return path


def write_parts(folder: Path) -> Path:
    """The same panel as a long table, as Parquet in parts whose row groups end within series."""
    folder.mkdir()
    days = pd.date_range("2020-01-01", periods=PART_ROWS).as_unit("us")
    for part in range(PARTS):
        chance = np.random.default_rng(part)
        week = np.sin(2 * np.pi * (np.arange(PART_ROWS) / 7 + chance.random((PART_SERIES, 1))))
        walk = 0.2 * chance.normal(size=(PART_SERIES, PART_ROWS)).cumsum(1)
        values = 20 + 5 * week + walk + chance.normal(size=(PART_SERIES, PART_ROWS))
        names = [f"s{part * PART_SERIES + number}" for number in range(PART_SERIES)]
        columns = {"unique_id": np.repeat(names, PART_ROWS), "ds": np.tile(days, PART_SERIES), "y": values.ravel()}
        pd.DataFrame(columns).to_parquet(folder / f"part-{part:02}.parquet", row_group_size=150_000, index=False)
    return folder


def processes_row(data: Path, folder: Path) -> dict[str, Any]:
    """Time and memory of ridge on a folder of parts in one process and in two, and how far their weights are apart."""
    words = ["train", "forecast", "--data", data, "--horizon", 14, "--answer", "ridge"]
    words += ["--set", f"read.max_bytes={4 * 10**9}"]
    start = time.perf_counter()
    alone = peak_of(*words, "--out", folder / "one")
    middle = time.perf_counter()
    said = called(
        "torch.distributed.run", "--nproc-per-node", 2, "-m", "benchmarks.peak", *words, "--out", folder / "two"
    )
    seconds = middle - start, time.perf_counter() - middle
    each = [int(line) for line in said.splitlines() if line.isdecimal()]
    one, two = (load_file(folder / name / "weights.safetensors") for name in ("one", "two"))
    apart = max(float((one[name].double() - two[name].double()).abs().max()) for name in one)
    shares = [round(peak / alone, 3) for peak in each]
    return {
        "benchmark": "processes",
        "series": PARTS * PART_SERIES,
        "rows": PART_ROWS,
        "files_mb": round(sum(path.stat().st_size for path in data.iterdir()) / 1e6, 1),
        "seconds": [round(part, 1) for part in seconds],
        "gb": round(alone / 1e9, 2),
        "each_gb": [round(peak / 1e9, 2) for peak in each],
        "shares": shares,
        "weights_apart": apart,
        "bars": {"share": SHARE, "apart": EQUAL},
        "met": max(shares) <= SHARE and apart <= EQUAL,
    }


def check_row(data: Path) -> dict[str, Any]:
    """Median time of `multiway check`, and its memory over that of the same with fifty rows, in sizes of the file."""
    small = data.with_name("small.csv")
    small.write_text("".join(data.read_text().splitlines(keepends=True)[:51]))
    seconds, processor = seconds_of("check", data, rounds=CHECK_ROUNDS)
    size, peak, base = data.stat().st_size, peak_of("check", data), peak_of("check", small)
    times = (peak - base) / size
    return {
        "benchmark": "check",
        "rows": LONG_ROWS,
        "columns": 5,
        "file_mb": round(size / 1e6, 1),
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "rounds": CHECK_ROUNDS,
        "peak_mb": round(peak / 1e6),
        "base_mb": round(base / 1e6),
        "times": round(times, 1),
        "bars": {"seconds": CHECK_SECONDS, "times": CHECK_TIMES},
        "met": seconds <= CHECK_SECONDS and times <= CHECK_TIMES,
    }


def panel_row(data: Path, run: Path, bars: dict[str, float], *words: object) -> dict[str, Any]:
    """Time and memory of one training for two weeks ahead, by default with the usual settings, and of a forecast.

    `first_seconds` is when the folder of the run has what ridge forecasts, `first_processor_seconds` what the process
    has spent on it.
    """
    before = clocks()
    words = ("train", "forecast", "--data", data, "--horizon", 14, "--out", run, *words)
    with started("benchmarks.peak", *words) as training:
        while training.poll() is None and not (run / "state" / FIRST).is_file():
            time.sleep(0.01)
        first, spent = time.perf_counter() - before[0], processor_of(training.pid)
        peak = int(training.communicate()[0].splitlines()[-1]) / 1e9
    seconds, processor = (end - start for start, end in zip(before, clocks(), strict=True))
    later = peak_of("predict", run, "--data", data, "--out", run.with_suffix(".parquet")) / 1e9
    settings = yaml.safe_load((run / "config.yaml").read_text())["settings"]
    return {
        "benchmark": "panel",
        "data": data.name,
        "network": settings["network"],
        "lookback": settings["lookback"],
        "first_seconds": round(first, 1),
        "first_processor_seconds": round(spent, 1),
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "gb": round(peak, 2),
        "predict_gb": round(later, 2),
        "bars": bars,
        "met": first <= bars.get("first_seconds", np.inf)
        and seconds <= bars.get("seconds", np.inf)
        and max(peak, later) <= bars["gb"],
    }


def budget_row(data: Path, run: Path) -> dict[str, Any]:
    """Time of a training that may take so long, from start to end, and what was planned."""
    start = time.perf_counter()
    called("multiway", "train", "forecast", "--data", data, "--horizon", 14, "--budget", f"{BUDGET}s", "--out", run)
    seconds = time.perf_counter() - start
    stored = json.loads((run / "preprocessing.json").read_text())["facts"]
    return {
        "benchmark": "budget",
        "series": BUDGETED[0],
        "rows": BUDGETED[1],
        "seconds": round(seconds, 1),
        "plan": next(note for note in stored["notes"] if note.startswith("Budget")),
        "epochs": stored["best"].get("multiway", {}).get("epoch"),
        "bars": {"seconds": BUDGET * LATE},
        "met": seconds <= BUDGET * LATE,
    }


def write_volumes(path: Path) -> Path:
    """Bytes of noise with a bright block, early or late along the first axis, as a MedMNIST file."""
    chance, parts = np.random.default_rng(0), {}
    for name, count in CASES.items():
        labels = np.arange(count) % 2
        volumes = chance.integers(0, 120, (count, SIDE, SIDE, SIDE), np.uint8)
        for volume, label in zip(volumes, labels, strict=True):
            volume[label * SIDE // 2 : (label + 1) * SIDE // 2, 2:7, 2:7] += 60
        parts |= {f"{name}_images": volumes, f"{name}_labels": labels[:, None].astype(np.uint8)}
    np.savez(path, **parts)
    return path


def help_row() -> dict[str, Any]:
    """Median time of `multiway --help`, and its memory."""
    seconds, processor = seconds_of("--help", rounds=HELP_ROUNDS)
    megabytes = peak_of("--help") / 1e6
    return {
        "benchmark": "help",
        "seconds": round(seconds, 3),
        "processor_seconds": round(processor, 3),
        "rounds": HELP_ROUNDS,
        "mb": round(megabytes, 1),
        "bars": {"seconds": HELP_SECONDS, "mb": HELP_MB},
        "met": seconds <= HELP_SECONDS and megabytes <= HELP_MB,
    }


def training_row(data: Path, run: Path) -> dict[str, Any]:
    """Memory over the data of one epoch of the default network, where no batch is named."""
    peak = peak_of("train", "volumes", "--data", data, "--out", run, "--epochs", 1)
    held = SIDE**3 * sum(CASES.values())
    training = yaml.safe_load((run / "config.yaml").read_text())["settings"]["training"]
    batch, accumulation = training["batch_size"], training["accumulation"]
    return {
        "benchmark": "training",
        "sizes": [SIDE] * 3,
        "batch": batch,
        "accumulation": accumulation,
        "peak_gb": round(peak / 1e9, 2),
        "over_data_gb": round((peak - held) / 1e9, 2),
        "bars": {"batch": "chosen by memory, steps of the usual batch"},
        "met": batch < USUAL_BATCH == batch * accumulation,
    }


def report_row(run: Path) -> dict[str, Any]:
    """Median time of the report of that run."""
    seconds, processor = seconds_of("report", run, rounds=REPORT_ROUNDS)
    return {
        "benchmark": "report",
        "sizes": [SIDE] * 3,
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "rounds": REPORT_ROUNDS,
        "bars": {"seconds": REPORT_SECONDS},
        "met": seconds <= REPORT_SECONDS,
    }


def seconds_of(*words: object, rounds: int) -> list[float]:
    """Median time of a command from start to end, and of the processors on it, which other work lengthens less."""
    times = []
    for _ in range(rounds):
        before = clocks()
        called("multiway", *words)
        times.append([end - start for start, end in zip(before, clocks(), strict=True)])
    return [statistics.median(each) for each in zip(*times, strict=True)]


def clocks() -> tuple[float, float]:
    """Now, and what the processors have spent on processes that are done."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def peak_of(*words: object) -> int:
    """Most memory that a command had at once, in bytes."""
    return int(called("benchmarks.peak", *words).splitlines()[-1])


def processor_of(process: int) -> float:
    """What the processors have spent on a process so far."""
    user, system = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def called(module: str, *words: object) -> str:
    """What a module prints, run in a fresh process."""
    with started(module, *words) as process:
        out, said = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{module} {' '.join(map(str, words))}: {said[-2000:]}")
    return out


def started(module: str, *words: object) -> subprocess.Popen[str]:
    """A module in a fresh process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    line = [sys.executable, "-m", module, *map(str, words)]
    return subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


if __name__ == "__main__":
    main()
