"""Data sets with a leak, and sound ones: which of them the audit catches, misses, and flags falsely."""

import collections
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leak_sets import masks, scans, series, stocks, tables
from benchmarks.leak_sets.maker import LeakSet
from multiway import workflows

TASKS = {
    "forecast": series.SETS, "volumes": scans.SETS, "segment": masks.SETS, "stocks": stocks.SETS,
    "tabular": tables.SETS,
}  # fmt: skip


def run(repeats: int, shapes: list[str] | None) -> Iterator[dict[str, object]]:
    """Audit every set of every task, or of some tasks; `repeats` is for timings and not used here."""
    for task in shapes or TASKS:
        rows = [audited(task, each) for each in TASKS[task]]
        yield {"task": task, **summary(rows), "rows": rows}


def audited(task: str, leak_set: LeakSet, seed: int = 0) -> dict[str, object]:
    """What the audit says of one set; a leak is caught where the finding that must say it is called a leak."""
    with tempfile.TemporaryDirectory() as folder:
        draw = np.random.default_rng([zlib.crc32(leak_set.name.encode()), seed])
        report = workflows.audit(task, leak_set.make(Path(folder), draw))
    kinds = sorted({finding.kind for finding in report.findings if finding.severity == "error"})
    outcome = ("flagged" if kinds else "passed") if leak_set.kind is None else (
        "caught" if leak_set.kind in kinds else "missed"
    )  # fmt: skip
    return {"set": leak_set.name, "outcome": outcome, "leaks": kinds}


def summary(rows: list[dict[str, object]]) -> dict[str, object]:
    """How many sets had each outcome, and the names of those that went wrong."""
    count = collections.Counter(row["outcome"] for row in rows)
    wrong = {name: [row["set"] for row in rows if row["outcome"] == name] for name in ("missed", "flagged")}
    return {
        "leaky": count["caught"] + count["missed"], "caught": count["caught"], "missed": wrong["missed"],
        "sound": count["passed"] + count["flagged"], "flagged": wrong["flagged"],
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> list[str]:
    """One line per set, and the totals."""
    lines = [f"{'task':<10}{'set':<46}{'outcome':<10}leaks"]
    for row in rows:
        lines += [f"{row['task']:<10}{each['set']:<46}{each['outcome']:<10}{', '.join(each['leaks'])}"
                  for each in row["rows"]]  # fmt: skip
    total = summary([each for row in rows for each in row["rows"]])
    missed, flagged = (len(total[name]) for name in ("missed", "flagged"))
    return [
        *lines,
        f"caught {total['caught']} of {total['leaky']}, missed {missed}, falsely flagged {flagged} of {total['sound']}",
    ]
