"""Kill a training at random instants and resume it: the weights have to be those of a run left alone, bit for bit."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parent.parent
SETTINGS = [
    "--horizon",
    "24",
    "--lookback",
    "48",
    "--set",
    "training.epochs=3",
    "--set",
    "training.checkpoint_seconds=0",
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.resume", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="empty folder to work in")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--out", type=Path, help="append the summary as a JSON line")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True)
    data = write_series(chosen.folder / "series.csv")
    whole = chosen.folder / "whole"
    start = time.monotonic()
    finish(train_command(data, whole))
    span = time.monotonic() - start - imports()
    weights = (whole / "weights.safetensors").read_bytes()
    rows = [one_kill(number, data, chosen.folder, weights, span) for number in range(chosen.kills)]
    summary = {
        "benchmark": "resume",
        "kills": len(rows),
        "inside_a_save": sum(row["inside_a_save"] for row in rows),
        "resumed": sum(row["resumed"] for row in rows),
        "bit_identical": sum(row["identical"] for row in rows),
        "stray_files": sum(row["stray"] for row in rows),
        "uninterrupted_seconds": round(span, 1),
        "seed": 0,
    }
    print(json.dumps(summary))
    if chosen.out:
        with chosen.out.open("a") as file:
            file.write(json.dumps(summary) + "\n")
    sys.exit(summary["bit_identical"] != len(rows) or summary["stray_files"] > 0)


def one_kill(number: int, data: Path, folder: Path, weights: bytes, span: float) -> dict[str, object]:
    """Start, kill at a random instant after the folder is there, resume, compare."""
    run, chance = folder / f"run-{number}", random.Random(number)
    while True:
        child = subprocess.Popen(
            train_command(data, run), env=environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        while not run.exists() and child.poll() is None:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, span))
        child.kill()
        if child.wait() == -signal.SIGKILL and not (run / "manifest.json").exists():
            break
        subprocess.run(["rm", "-r", str(run)], check=True)  # it had finished: try an earlier instant
        span *= 0.8
    partial = bool(list(run.rglob("*.partial-*")))
    done = subprocess.run(
        [*command(), "train", "--resume", str(run)], env=environment(), capture_output=True, text=True
    )
    row = {
        "kill": number,
        "inside_a_save": partial,
        "resumed": done.returncode == 0,
        "identical": done.returncode == 0 and (run / "weights.safetensors").read_bytes() == weights,
        "stray": len(list(folder.rglob("*.partial-*"))) + (run / "state").exists(),
    }
    print(json.dumps(row), flush=True)
    subprocess.run(["rm", "-r", str(run)], check=True)
    return row


def write_series(path: Path) -> Path:
    """Three noisy seasonal series, hourly."""
    generator, hours = np.random.default_rng(0), np.arange(1500)
    day = np.sin(2 * np.pi * hours / 24)
    values = {
        name: scale * day + generator.normal(0, 0.3, len(hours)).cumsum() * 0.1
        for name, scale in (("a", 1), ("b", 2), ("c", 3))
    }
    pd.DataFrame({"ds": pd.date_range("2024-01-01", periods=len(hours), freq="h"), **values}).to_csv(path, index=False)
    return path


def command() -> list[str]:
    return [sys.executable, "-m", "multiway"]


def train_command(data: Path, out: Path) -> list[str]:
    return [*command(), "train", "forecast", "--data", str(data), "--out", str(out), *SETTINGS]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}


def finish(words: list[str]) -> None:
    subprocess.run(words, env=environment(), check=True, capture_output=True)


def imports() -> float:
    start = time.monotonic()
    finish([sys.executable, "-c", "import multiway.workflows, accelerate"])
    return time.monotonic() - start


if __name__ == "__main__":
    main()
