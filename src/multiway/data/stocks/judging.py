"""Rows that no price can be: cells out of bounds, highs below lows, days twice."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings
from multiway.data.raw import Table
from multiway.data.stocks.panel import FIELDS

HIGH, LOW, VOLUME, MOVEMENT = FIELDS.index("high"), FIELDS.index("low"), FIELDS.index("volume"), len(FIELDS)
LEAST, MOST = 1e-12, 1e12
"""Prices between them have ratios that float32 holds."""
Cells = NDArray[np.float64]
Marks = NDArray[np.bool_]


def judge(
    table: Table, columns: dict[str, str | None], ticker: NDArray[np.object_], day: NDArray[np.datetime64],
    cells: Cells, findings: Findings,
) -> None:  # fmt: skip
    """Note every cell that cannot be.

    Args:
        table: Where the rows stand.
        columns: Column of each field and of `movement`; None where a field has none, and then is not judged.
        ticker: Of each row.
        day: Of each row.
        cells: `(rows, fields + 1)`, the last being the movement.
        findings: Where it is noted.
    """
    names = [columns[field] for field in (*FIELDS, "movement")]
    given = np.array([name is not None for name in names])
    for kind, rule, fix, find in RULES:
        with np.errstate(invalid="ignore"):
            bad = find(cells) & given
        if bad.any():
            where = np.argwhere(bad)
            places = [table.place(int(row), names[field], f"{cells[row, field]:g}", f"{ticker[row]} {day[row]}")
                      for row, field in where[:20]]  # fmt: skip
            findings.add(kind, "error", f"{len(where)} {rule}", fix, places, len(where))
    _judge_days(table, columns["date"], ticker, day, findings)


def _in(found: Marks, first: int, last: int) -> Marks:
    """The same marks in some columns only."""
    columns = np.arange(found.shape[1])
    return found & (columns >= first) & (columns < last)


def _high_below_low(cells: Cells) -> Marks:
    marks = np.zeros(cells.shape, dtype=bool)
    marks[:, HIGH] = cells[:, HIGH] < cells[:, LOW]
    return marks


RULES: tuple[tuple[str, str, str, Callable[[Cells], Marks]], ...] = (
    ("empty", "prices are empty", "Fill them in, or take the rows out.", lambda c: _in(np.isnan(c), 0, VOLUME)),
    ("price", "prices are not above 0", "Correct them, or empty the rows of days without trading.",
     lambda c: _in(c <= 0, 0, VOLUME)),
    ("bounds", f"prices lie outside {LEAST:g} to {MOST:g}", "Correct them, or give them in another unit.",
     lambda c: _in((c > MOST) | ((c > 0) & (c < LEAST)), 0, VOLUME)),
    ("order", "highs lie below the low of the day", "Correct them.", _high_below_low),
    ("volume", "volumes are below 0", "Correct them.", lambda c: _in(c < 0, VOLUME, MOVEMENT)),
    ("movement", "movements lie below -1 or above all bounds", "Give them as shares, so 0.01 is one per cent.",
     lambda c: _in((c <= -1) | (c > MOST), MOVEMENT, MOVEMENT + 1)),
)  # fmt: skip


def _judge_days(
    table: Table, column: str | None, ticker: NDArray[np.object_], day: NDArray[np.datetime64], findings: Findings
) -> None:
    repeated = np.flatnonzero(pd.DataFrame({"ticker": ticker, "day": day}).duplicated())
    if len(repeated):
        places = [table.place(int(row), column, detail=f"{ticker[row]} {day[row]}") for row in repeated[:20]]
        fix = "Keep one row per ticker and day."
        findings.add("duplicates", "error", f"{len(repeated)} rows repeat a ticker and day", fix, places, len(repeated))
