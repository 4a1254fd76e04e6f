"""Share of test movements classified correctly, by month, and by ticker and month."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.report import text
from multiway.report.sections import Cell, Part, Section, Table, Text
from multiway.tasks.protocol import OURS

COUNTS = ["right", "rises", "all"]
MAX_MONTHS = 12
PALE = 10
"""Movements at which a cell has half its colour."""
FEWEST = 5
"""Movements of a ticker whose share says something."""


def grid_part(test: pd.DataFrame) -> Part:
    """Tables of test predictions: date, ticker, label and predicted."""
    rows = pd.DataFrame(
        {
            "ticker": test["ticker"].astype(str),
            "month": pd.DatetimeIndex(test["date"]).strftime("%Y-%m"),
            "right": test["predicted"] == test["label"],
            "rises": test["label"] == 1,
            "all": 1,
        }
    )
    by_month, by_ticker, each = (rows.groupby(keys)[COUNTS].sum() for keys in ("month", "ticker", ["ticker", "month"]))
    months = [_row(month, *counts) for month, *counts in by_month.itertuples()]
    return Part(
        id="grid",
        title="Tickers and months",
        side=[
            f"Share of the test movements whose direction {OURS} classified correctly.",
            "Blue is above one half, orange below; the fewer movements, the paler.",
        ],
        content=[
            Table(columns=["Month", "ACC", "Movements", "Rises"], rows=months, style="numbers confusion"),
            *(_by_ticker(by_ticker, each, list(by_month.index)) if len(by_ticker) > 1 else []),
        ],
    )


def _by_ticker(sums: pd.DataFrame, each: pd.DataFrame, months: list[str]) -> list[Section]:
    """A row per ticker: all months, then the last twelve."""
    shown = months[-MAX_MONTHS:]
    cells = {place: _cell(right, count) for place, right, _, count in each.itertuples()}
    rows = [
        _row(name, right, rises, count, [cells.get((name, month), Cell()) for month in shown])
        for name, right, rises, count in sums.itertuples()
    ]
    columns = ["Ticker", "All", *shown, "Movements", "Rises"]
    cut = f"The last {MAX_MONTHS} of {len(months)} months are shown." if len(months) > MAX_MONTHS else ""
    remarks = [words for words in (_chance(sums["all"].to_numpy(), sums["right"].to_numpy()), cut) if words]
    table = Table(title="By ticker", columns=columns, rows=rows, style="numbers confusion tall")
    return [table, *(Text(words=words) for words in remarks)]


def _row(name: str, right: int, rises: int, count: int, cells: Sequence[Cell] = ()) -> list[Cell | str]:
    return [name, _cell(right, count), *cells, text.count(count), _share(rises, count)]


def _cell(right: int, count: int) -> Cell:
    """The share, shaded by how far it is from one half and how many movements it is of."""
    share = right / count
    shade = min(1.0, 2 * abs(share - 0.5)) * count / (count + PALE)
    style = "right" if share >= 0.5 else "wrong"
    return Cell(_share(right, count), style=style, shade=round(shade, 3), title=f"{text.count(count)} movements")


def _share(part: int, count: int) -> str:
    return text.percent(100 * part / count, 0)


def _chance(counts: NDArray[np.int64], right: NDArray[np.int64]) -> str:
    """Spread between tickers against that of tickers that are all alike, each share of so many movements."""
    known = counts >= FEWEST
    if known.sum() < 3:
        return ""
    share = right[known] / counts[known]
    mean = right[known].sum() / counts[known].sum()
    alike = math.sqrt(float((mean * (1 - mean) / counts[known]).mean()))
    spread = float(np.sqrt(((share - mean) ** 2).mean()))
    return (
        f"Between the {int(known.sum())} tickers with at least {FEWEST} movements the share has a standard deviation "
        f"of {text.number(100 * spread, 1)} points; if all were alike, chance would give {text.number(100 * alike, 1)}."
    )
