"""Share of test movements classified correctly, by month, and by ticker and month."""

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.report import text
from multiway.report.sections import Cell, Part, Section, Table, Text
from multiway.tasks.protocol import OURS

MAX_MONTHS = 12
PALE = 10
"""Movements at which a cell has half its colour."""
FEWEST = 5
"""Movements of a ticker whose share says something."""


def grid_part(test: pd.DataFrame) -> Part:
    """Tables of test predictions: date, ticker, label and predicted."""
    months = pd.DatetimeIndex(test["date"]).strftime("%Y-%m")
    right = (test["predicted"] == test["label"]).to_numpy()
    table = pd.DataFrame(
        {"ticker": test["ticker"].to_numpy(), "month": months, "count": 1, "right": right.astype(int)}
    ).assign(rises=(test["label"] == 1).to_numpy().astype(int))
    sums = table.groupby(["ticker", "month"]).sum().unstack(fill_value=0)
    names, labels = list(map(str, sums.index)), list(sums["count"].columns)
    counts, hits, rises = (sums[name].to_numpy(np.int64) for name in ("count", "right", "rises"))
    tickers = _by_ticker(names, labels, counts, hits, rises) if len(names) > 1 else []
    return Part(
        id="grid",
        title="Tickers and months",
        side=[
            f"Share of the test movements whose direction {OURS} classified correctly.",
            "Blue is above one half, orange below; the fewer movements, the paler.",
        ],
        content=[_by_month(labels, counts.sum(0), hits.sum(0), rises.sum(0)), *tickers],
    )


def _by_month(months: list[str], counts: NDArray[np.int64], hits: NDArray[np.int64], rises: NDArray[np.int64]) -> Table:
    rows: list[list[Cell | str]] = [
        [month, _cell(r, c), text.count(c), _share(u, c)] for month, c, r, u in _zipped(months, counts, hits, rises)
    ]
    return Table(columns=["Month", "ACC", "Movements", "Rises"], rows=rows, style="numbers confusion")


def _by_ticker(
    names: list[str],
    months: list[str],
    counts: NDArray[np.int64],
    hits: NDArray[np.int64],
    rises: NDArray[np.int64],
) -> list[Section]:
    """A row per ticker: all months, then the last twelve."""
    shown = slice(max(0, len(months) - MAX_MONTHS), None)
    sums = _zipped(names, counts.sum(1), hits.sum(1), rises.sum(1))
    rows: list[list[Cell | str]] = [
        [
            name,
            _cell(r, c),
            *(_cell(int(b), int(a)) for a, b in zip(counts[row][shown], hits[row][shown], strict=True)),
            text.count(c),
            _share(u, c),
        ]
        for row, (name, c, r, u) in enumerate(sums)
        if c
    ]
    columns = ["Ticker", "All", *months[shown], "Movements", "Rises"]
    cut = f"The last {MAX_MONTHS} of {len(months)} months are shown." if len(months) > MAX_MONTHS else ""
    remarks = [words for words in (_chance(counts.sum(1), hits.sum(1)), cut) if words]
    table = Table(title="By ticker", columns=columns, rows=rows, style="numbers confusion tall")
    return [table, *(Text(words=words) for words in remarks)]


def _zipped(names: list[str], *arrays: NDArray[np.int64]) -> list[tuple[str, int, int, int]]:
    return list(zip(names, *(array.tolist() for array in arrays), strict=True))


def _cell(right: int, count: int) -> Cell:
    """The share, shaded by how far it is from one half and how many movements it is of."""
    if not count:
        return Cell()
    share = right / count
    shade = min(1.0, 2 * abs(share - 0.5)) * count / (count + PALE)
    style = "right" if share >= 0.5 else "wrong"
    return Cell(_share(right, count), style=style, shade=round(shade, 3), title=f"{text.count(count)} movements")


def _share(part: int, count: int) -> str:
    return text.percent(100 * part / count, 0) if count else ""


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
