"""Ready vectors of texts: columns e0, e1, ..., or one column of lists."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data import columns as col
from multiway.data.findings import Findings, Place, listed
from multiway.data.raw import Table

EMBEDDING = "embedding"


def vectors_of(table: Table, findings: Findings) -> NDArray[np.float32] | None:
    """Vectors of a table; None where it holds none."""
    names = [f"e{position}" for position in range(len(table.names)) if f"e{position}" in table.names]
    if not names:
        if EMBEDDING not in table.names:
            return None
        return stacked(table.frame[EMBEDDING].tolist(), table.place, findings)
    if names[-1] != f"e{len(names) - 1}":
        raise findings.fatal("vectors", f"vectors are columns e0, e1, ... without a gap. Got {listed(names)}")
    values = col.parse_numbers(table, names, findings)
    return _finite(values.astype(np.float32), table.place, findings)


def stacked(cells: Sequence[Any], place: Callable[[int], Place], findings: Findings) -> NDArray[np.float32]:
    """Lists of numbers as rows of one array."""
    try:
        rows = [np.asarray(cell, dtype=np.float32) for cell in cells]
    except (TypeError, ValueError):
        rule = f"'{EMBEDDING}' does not hold lists of numbers"
        raise findings.fatal("vectors", rule, "Write them to Parquet or JSONL as lists.") from None
    odd = next((row for row, one in enumerate(rows) if one.ndim != 1 or one.shape != rows[0].shape or not one.size), -1)
    if odd >= 0:
        rule = f"vectors must be lists of one length, and the first has {rows[0].size}"
        raise findings.fatal("vectors", rule, "Make them again.", [place(odd)])
    return _finite(np.stack(rows), place, findings)


def _finite(values: NDArray[np.float32], place: Callable[[int], Place], findings: Findings) -> NDArray[np.float32]:
    wrong = np.flatnonzero(~np.isfinite(values).all(1))
    if len(wrong):
        places = [place(int(row)) for row in wrong[:20]]
        findings.add("vectors", "error", f"{len(wrong)} vectors are not finite", "Make them again.", places, len(wrong))
    return values
