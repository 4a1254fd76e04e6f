"""`read_stocks`: prices to a panel, texts to entries with the day of the exchange, every flaw noted on the way."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.findings import Findings, Place, Unreadable, quoted
from multiway.data.loading import source_name
from multiway.data.stocks.building import build_panel
from multiway.data.stocks.gathering import gather
from multiway.data.stocks.joining import absorb, joined_notes
from multiway.data.stocks.layouts import Layout, layout_of
from multiway.data.stocks.options import NO_TEXTS, StockOptions
from multiway.data.stocks.panel import StockPanel
from multiway.data.stocks.placing import place_texts
from multiway.data.stocks.prices import PriceRows, read_prices
from multiway.data.stocks.stocknet_files import with_stocknet_movements
from multiway.data.stocks.tables import is_ticker, refuse_ticker, stem
from multiway.data.stocks.texts import StockTexts


def read_stocks(
    source: Any, options: StockOptions | None = None, *, texts: Any = None
) -> tuple[StockPanel, StockTexts | None]:
    """Read prices, and the texts beside them.

    Args:
        source: A table of prices (CSV, CSV.gz, Parquet, or a pandas or polars frame) with tickers in a column; a folder
            with one such table for each ticker; StockNet's folder; or a folder with `prices.parquet` or `prices.csv`,
            and `tweets` or `texts` beside it as Parquet, CSV or JSONL.
        options: How to read; by default every flaw is refused.
        texts: A frame or path of texts, which wins over `options.texts`.

    Returns:
        The panel, and the texts; None in their place where there are none.

    Raises:
        DataError: The data are not sound: one line with the file, the place, the value and the fix.
    """
    findings = Findings(name_of(source))
    of_texts = Findings("texts")
    try:
        panel, found = read_into(source, options or StockOptions(), texts, findings, of_texts)
    except Unreadable:
        raise (findings if findings.errors() else of_texts).error() from None
    for one in (findings, of_texts):
        if one.errors():
            raise one.error()
    return panel, found


def read_into(
    source: Any, options: StockOptions, texts: Any, findings: Findings, of_texts: Findings
) -> tuple[StockPanel, StockTexts | None]:
    """The same, with flaws of prices and of texts noted apart; sound only where no finding is an error."""
    layout = layout_of(source)
    panel = _panel_if_sound(layout, options, findings)
    chosen = texts if texts is not None else options.texts if options.texts is not None else layout.texts
    raw = None
    if chosen is not None and not (isinstance(chosen, str) and chosen == NO_TEXTS):
        of_texts.source = findings.source if layout.kind == "stocknet" and chosen is layout.texts else name_of(chosen)
        raw = gather(chosen, options, of_texts)
        joined_notes(of_texts, of_texts.source)
    if panel is None:
        raise Unreadable
    return panel, None if raw is None else place_texts(raw, panel, options, of_texts)


def name_of(source: Any) -> str:
    """What messages call a source."""
    return quoted(Path(source).resolve().name, 80) if isinstance(source, str | Path) else source_name(source)


def _notes(findings: Findings) -> tuple[str, ...]:
    return tuple(finding.line() for finding in findings.found if finding.severity != "error")


def _panel_if_sound(layout: Layout, options: StockOptions, findings: Findings) -> StockPanel | None:
    """The panel, or nothing where what is wrong with it is noted, so that texts are looked at too."""
    try:
        rows = _rows(layout, options, findings)
        if findings.errors():
            return None
        panel = build_panel(rows, options, findings)
    except Unreadable:
        return None
    return dataclasses.replace(panel, source=findings.source, notes=_notes(findings))


def _rows(layout: Layout, options: StockOptions, findings: Findings) -> PriceRows:
    """Rows of all files; a file that is no sound table does not keep the others from being looked at."""
    if layout.kind in ("table", "tables"):
        source = layout.prices[0]
        ticker = stem(source) if isinstance(source, Path) and layout.kind == "table" else None
        return read_prices(source, ticker, options, findings)
    parts = []
    for path in layout.prices:
        inner = Findings(quoted(path.name, 80))
        try:
            parts.append(_member(layout, path, options, inner))
        except Unreadable:
            pass
        absorb(inner, findings)
    joined_notes(findings, findings.source)
    if findings.errors():
        raise Unreadable
    return _together(parts, findings)


def _member(layout: Layout, path: Path, options: StockOptions, findings: Findings) -> PriceRows:
    name = stem(path)
    if not is_ticker(name):
        refuse_ticker(path, findings)
    rows = read_prices(path, name, options, findings)
    return with_stocknet_movements(rows, path, findings) if layout.kind == "stocknet" else rows


def _together(parts: list[PriceRows], findings: Findings) -> PriceRows:
    ticker, day, values, movement = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("ticker", "day", "values", "movement")
    )
    frame = pd.DataFrame({"ticker": ticker, "day": day})
    repeated = np.flatnonzero(frame.duplicated())
    if len(repeated):
        places = [Place(detail=f"{ticker[row]} {day[row]}") for row in repeated[:20]]
        fix = "Keep one row per ticker and day."
        findings.add("duplicates", "error", f"{len(repeated)} rows of different files repeat a ticker and day", fix,
                     places, len(repeated))  # fmt: skip
    read = tuple(field for field in parts[0].read if all(field in part.read for part in parts))
    return PriceRows(ticker=ticker, day=day, values=values, movement=movement, read=read, table=parts[0].table)
