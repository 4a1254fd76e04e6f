"""Data sets with a leak, and sound ones: which of them the audit catches, misses, and flags falsely.

Real sets are those of `multiway data list`; three more are there where the package aeon is installed.

    PYTHONPATH=src:tests python -m leak_sets.outcomes [TASK ...] --out results/leaks.jsonl
"""

import argparse
import collections
import json
import tempfile
import zlib
from pathlib import Path
from typing import Any, get_args

import numpy as np

from leak_sets import (
    everyday,
    fresh,
    later,
    later_still,
    masks,
    projects,
    scans,
    series,
    stocks,
    strange_forecasts,
    strange_images,
    strange_series,
    strange_tables,
    strange_texts,
    tables,
)
from leak_sets.maker import LeakSet, Origin
from multiway import workflows
from multiway.auditing import AuditReport

WRITTEN = (fresh, later, later_still, everyday, projects)
"""Modules whose `SETS` have sets of several tasks."""
FIRST = {
    "forecast": (*series.SETS, *strange_forecasts.SETS),
    "volumes": (*scans.SETS, *strange_images.VOLUMES),
    "segment": (*masks.SETS, *strange_images.MASKS),
    "stocks": (*stocks.SETS, *strange_forecasts.STOCKS),
    "tabular": (*tables.SETS, *strange_tables.SETS),
    "series": strange_series.SETS,
    "text": strange_texts.SETS,
    "language": strange_texts.LANGUAGE,
    "images": strange_images.SETS,
    "grids": (),
    "arrays": (),
}
TASKS: dict[str, tuple[LeakSet, ...]] = {
    task: (*sets, *(each for module in WRITTEN for each in module.SETS.get(task, ()))) for task, sets in FIRST.items()
}


def main() -> None:
    """Audit every set of every task, or of some tasks; print a table of what was found."""
    parser = argparse.ArgumentParser(prog="python -m leak_sets.outcomes", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK", default=list(TASKS), help="all if none is given")
    parser.add_argument("--origin", choices=get_args(Origin), help="sets of one origin alone")
    parser.add_argument("--out", type=Path, help="append one JSON line per task")
    chosen = parser.parse_args()
    rows = []
    for task in chosen.tasks:
        sets = [audited(task, each) for each in TASKS[task] if chosen.origin in (None, each.origin)]
        rows.append({"task": task, **summary(sets), "rows": sets})
        if chosen.out:
            with chosen.out.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    print("\n".join(table(rows)))


def audited(task: str, leak_set: LeakSet, seed: int = 0) -> dict[str, object]:
    """What the audit says of one set; a leak is caught where the finding that must say it is called a leak."""
    with tempfile.TemporaryDirectory() as folder:
        draw = np.random.default_rng([zlib.crc32(leak_set.name.encode()), seed])
        settings = leak_set.make(Path(folder), draw)
        report = audit_arrays(**settings) if task == "arrays" else workflows.audit(task, settings)
    leaks = [(finding.kind, finding.line()) for finding in report.findings if finding.severity == "error"]
    return {
        "set": leak_set.name,
        "origin": leak_set.origin,
        "outcome": leak_set.outcome(leaks),
        "leaks": sorted({kind for kind, _ in leaks}),
    }


def audit_arrays(X: Any, y: Any, **split: Any) -> AuditReport:
    """What the audit says of a split that was made elsewhere."""
    return workflows.audit(X, y, **split)


def summary(rows: list[dict[str, object]]) -> dict[str, object]:
    """How many sets had each outcome, and the names of those that went wrong."""
    count = collections.Counter(row["outcome"] for row in rows)
    wrong = {name: [row["set"] for row in rows if row["outcome"] == name] for name in ("missed", "flagged")}
    return {
        "leaky": count["caught"] + count["missed"],
        "caught": count["caught"],
        "missed": wrong["missed"],
        "sound": count["passed"] + count["flagged"],
        "flagged": wrong["flagged"],
    }


def table(rows: list[dict[str, Any]]) -> list[str]:
    """One line per set, and the totals."""
    lines = [f"{'task':<10}{'origin':<9}{'set':<46}{'outcome':<10}leaks"]
    for row in rows:
        for each in row["rows"]:
            names = f"{row['task']:<10}{each['origin']:<9}{each['set']:<46}"
            lines.append(f"{names}{each['outcome']:<10}{', '.join(each['leaks'])}")
    every = [each for row in rows for each in row["rows"]]
    origins = {origin: [each for each in every if each["origin"] == origin] for origin in get_args(Origin)}
    return [*lines, *(_told(name, chosen) for name, chosen in origins.items() if chosen), _told("all", every)]


def _told(name: str, rows: list[dict[str, Any]]) -> str:
    total = summary(rows)
    missed, flagged = (len(total[key]) for key in ("missed", "flagged"))
    caught = f"caught {total['caught']} of {total['leaky']}, missed {missed}"
    return f"{name}: {caught}, falsely flagged {flagged} of {total['sound']}"


if __name__ == "__main__":
    main()
