"""Audits of tables beside leaklens-ml and leakhound-ml: leaks that each catches, and sound sets that each flags.

    pip install --no-deps --target PEERS leaklens-ml==0.11.0 leakhound-ml==0.5.0
    PYTHONPATH=src:tests:PEERS python -m benchmarks.audits [--origin fresh] [--out results/audits.jsonl]

A peer that is not installed is said. A set counts as caught by a peer whatever it finds of high severity. The peers
get the target, the column of groups and that of times, and rows that are split as the set says or at random.
"""

import argparse
import importlib
import importlib.metadata
import json
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from benchmarks.rows import facts
from leak_sets.maker import LeakSet, Origin
from leak_sets.outcomes import TASKS
from multiway import workflows

Says = Callable[[dict[str, Any]], list[tuple[str, str]]]
"""From settings of a set to the kinds and lines of what is called a leak."""
TEST = 0.3


def ours(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Leaks that multiway says."""
    report = workflows.audit("tabular", settings)
    return [(found.kind, found.line()) for found in report.findings if found.severity == "error"]


def leaklens(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Findings of high severity of leaklens."""
    scans, (train, test, read) = importlib.import_module("leaklens.leakage"), split(settings)
    found = [*scans.scan(pd.concat([train, test]), read["target"]), *scans.split_overlap(train, test)]
    found += scans.group_overlap(train, test, read["group"]) if read.get("group") else []
    found += scans.temporal_overlap(train, test, read["time"]) if read.get("time") else []
    return [(each.kind, f"{each.column}: {each.detail}") for each in found if each.severity.lower() == "high"]


def leakhound(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Findings of high severity of leakhound."""
    train, test, read = split(settings)
    audit = importlib.import_module("leakhound").audit
    train, test = (filled(frame) for frame in (train, test))
    report = audit(train, test, target=read["target"], time_col=read.get("time"), group_col=read.get("group"))
    return [(each.check, f"{each.message} {each.evidence}") for each in report.leaks if each.severity == "high"]


PEERS: dict[str, tuple[str | None, Says]] = {
    "multiway": (None, ours),
    "leaklens": ("leaklens-ml", leaklens),
    "leakhound": ("leakhound-ml", leakhound),
}


def filled(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows whose missing numbers are the median and missing words empty: leakhound fails on them under pandas 3."""
    return frame.fillna(frame.median(numeric_only=True)).fillna("")


def split(settings: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Training and test rows of a set: the latest, or whole groups, or rows at random."""
    frame, read = pd.read_csv(settings["data"]), settings["read"]
    if read.get("time"):
        frame, cut = frame.sort_values(read["time"]), round((1 - TEST) * len(frame))
        return frame.iloc[:cut], frame.iloc[cut:], read
    keys = frame[read["group"]] if read.get("group") else pd.Series(frame.index, frame.index)
    groups = keys.unique()
    held = keys.isin(np.random.default_rng(0).permutation(groups)[: round(TEST * len(groups))])
    return frame[~held], frame[held], read


def outcome(leak_set: LeakSet, says: Says) -> tuple[str, float]:
    """What becomes of a set, and the seconds; a peer's own kinds count whatever they are called."""
    with tempfile.TemporaryDirectory() as folder:
        settings = leak_set.make(Path(folder), np.random.default_rng([zlib.crc32(leak_set.name.encode()), 0]))
        started = time.perf_counter()
        leaks = says(settings)
        seconds = time.perf_counter() - started
    if says is not ours:
        return {(True, True): "caught", (True, False): "missed", (False, True): "flagged"}.get(
            (leak_set.kind is not None, bool(leaks)), "passed"
        ), seconds
    return leak_set.outcome(leaks), seconds


def main() -> None:
    """Print and keep one row per program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audits", description=__doc__)
    parser.add_argument("--origin", choices=get_args(Origin), action="append", help="sets of some origins alone")
    parser.add_argument("--out", type=Path, help="append one JSON line per program")
    chosen = parser.parse_args()
    sets = [each for each in TASKS["tabular"] if chosen.origin is None or each.origin in chosen.origin]
    for name, (package, says) in PEERS.items():
        try:
            version = None if package is None else importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name:<10} is not installed")
            continue
        outcomes = {each.name: outcome(each, says) for each in sets}
        said = [kind for kind, _ in outcomes.values()]
        leaky = said.count("caught") + said.count("missed")
        seconds = sum(taken for _, taken in outcomes.values())
        row = {
            "program": name,
            "version": version,
            "origins": chosen.origin,
            "leaky": leaky,
            "caught": said.count("caught"),
            "sound": len(said) - leaky,
            "flagged": said.count("flagged"),
            "seconds": round(seconds, 1),
            "wrong": [key for key, (kind, _) in outcomes.items() if kind in ("missed", "flagged")],
        }
        print(
            f"{name:<10} caught {row['caught']} of {leaky}, flagged {row['flagged']} of {row['sound']}, {seconds:.1f} s"
        )
        if chosen.out:
            with chosen.out.open("a") as file:
                file.write(json.dumps({**row, **facts()}) + "\n")


if __name__ == "__main__":
    main()
