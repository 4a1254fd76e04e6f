"""StockNet's folder of prices: raw ones as CSV, and movements as its authors computed them beside them."""

import dataclasses
from pathlib import Path

import numpy as np

from multiway.data.findings import Findings, Place, quoted
from multiway.data.stocks.prices import PriceRows


def with_stocknet_movements(rows: PriceRows, raw: Path, findings: Findings) -> PriceRows:
    """Take the movements of `price/preprocessed/TICKER.txt`, where that is there: day, movement, normalised prices."""
    path = raw.parent.parent / "preprocessed" / f"{raw.stem}.txt"
    if not path.is_file():
        return rows
    known: dict[str, float] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        day, movement = ([*line.split("\t"), ""])[:2]
        try:
            known[str(np.datetime64(day.strip(), "D"))] = float(movement)
        except ValueError:
            rule = f"{quoted(path.name)}: a line holds a day and a movement, with tabs between"
            raise findings.fatal("movement", rule, "Fetch it again.", [Place(row=number, value=line)]) from None
    return dataclasses.replace(rows, movement=np.array([known.get(str(day), np.nan) for day in rows.day]))
