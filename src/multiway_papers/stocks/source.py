"""`read_stocks`: from a file, folder or frame of prices, and texts next to it, to a panel and entries, flaws noted."""

import collections
import dataclasses
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Finding, Findings, Unreadable, list_some, quote, soundly
from multiway.data.sources.bytes import within
from multiway.data.sources.frames import pair_of, source_name
from multiway.data.sources.json_files import ENDINGS
from multiway.data.sources.tables import column_names
from multiway.errors import DataError, Fix
from multiway_papers.stocks.config import NO_TEXTS, StockOptions
from multiway_papers.stocks.headers import has_two_headers
from multiway_papers.stocks.options import (
    PublishedFolder,
    file_of_ticker,
    find_column,
    is_table,
    published_folders,
    stem,
)
from multiway_papers.stocks.panel import PriceRows, StockPanel, StockTexts, build_panel
from multiway_papers.stocks.prices import read_prices, together
from multiway_papers.stocks.texts import Marks, RawTexts, gather

PRICE_TABLES = tuple(f"prices{ending}" for ending in (".parquet", ".pq", ".csv", ".csv.gz", ".xlsx", *ENDINGS))
TEXT_NAMES = ("tweets", "texts", "news")
TEXT_ENDINGS = (".parquet", ".pq", ".csv", ".csv.gz", ".xlsx", *ENDINGS)
OTHER_PRICES = ("open", "high", "low", "adj_close", "volume")
MAX_TEXT = 20_000
"""Characters of a text that are kept."""
DAYS_BEFORE = 7
"""Days before the first trading day from which texts are kept, since a first window looks back."""
Market = tuple[StockPanel, StockTexts | None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """Where prices and texts lie.

    table: One file or frame of all tickers; None where each has a file.
    is_named: Whether the table's file names its ticker, where it has no column of them.
    files: One for each ticker.
    texts: What the data set brings, if anything.
    published: Whose folder it is, if it is a published one.
    """

    table: object = None
    is_named: bool = False
    files: tuple[Path, ...] = ()
    texts: Path | None = None
    published: PublishedFolder | None = None


def read_stocks(source: object, options: StockOptions | None = None, *, texts: object = None) -> Market:
    """Read prices, and the texts next to them; None in their place where there are none.

    A table of prices (CSV, CSV.gz, Parquet, or a pandas or polars frame) with tickers in a column; a folder with one
    such table for each ticker; StockNet's folder; or a folder with `prices.parquet` or `prices.csv`, and `tweets` or
    `texts` next to it as Parquet, CSV or JSONL. `texts`, a frame or path, win over `options.texts`.
    """
    pair = (source, texts)
    return soundly(source_label(pair), lambda findings: market_of(pair, options or StockOptions(), findings))


def market_of(source: object, options: StockOptions, findings: Findings) -> Market:
    """The same of a path, a frame, a pair of prices and texts, or what was read before; flaws are noted."""
    if is_market(source):
        return cast(Market, source)
    with within(options, *pair_of(source), options.texts):
        return _market_of(source, options, findings)


def _market_of(source: object, options: StockOptions, findings: Findings) -> Market:
    prices, texts = pair_of(source)
    layout, of_texts = layout_of(prices), Findings("texts")
    panel = _panel_if_sound(layout, options, findings)
    chosen = next((given for given in (texts, options.texts) if given is not None), layout.texts)
    try:
        raw = None
        if chosen is not None and not (isinstance(chosen, str) and chosen == NO_TEXTS):
            is_inside = layout.published is not None and chosen is layout.texts
            of_texts.source = findings.source if is_inside else source_label(chosen)
            raw = gather(chosen, options, of_texts)
            join_notes(of_texts)
        if panel is None:
            raise Unreadable
        return panel, None if raw is None else place_texts(raw, panel, options, of_texts)
    finally:
        findings.found += of_texts.with_source()
        findings.others.append(of_texts.source)


def is_market(source: object) -> bool:
    """Whether it is a market that was read before."""
    return isinstance(source, tuple) and isinstance(source[0], StockPanel)


def source_label(source: object) -> str:
    """What messages call a source."""
    if is_market(source):
        return cast(Market, source)[0].source
    prices, _ = pair_of(source)
    return quote(Path(prices).resolve().name, 80) if isinstance(prices, str | Path) else source_name(prices)


def layout_of(source: object) -> Layout:
    """Look at a source without reading it."""
    if not isinstance(source, str | Path):
        return Layout(table=source)
    path = Path(source)
    if not path.exists():
        raise DataError(f"{quote(path, 200)} does not exist. Give a table of prices, or a folder of them.")
    if path.is_file():
        return Layout(table=path, is_named=True)
    table = next((path / name for name in PRICE_TABLES if (path / name).is_file()), None)
    if table is not None:
        texts = (path / f"{name}{ending}" for name in TEXT_NAMES for ending in TEXT_ENDINGS)
        return Layout(table=table, texts=next((text for text in texts if text.is_file()), None))
    for known in published_folders():
        if known.recognises(path):
            return Layout(files=known.prices(path), texts=known.texts(path), published=known)
    files = tuple(sorted(file for file in path.iterdir() if file.is_file() and is_table(file)))
    if not files:
        raise DataError(
            f"{quote(path, 200)}: there are no prices in it. Give prices.csv or prices.parquet, one table for each "
            f"ticker, or StockNet's folder."
        )
    return Layout(files=files)


def looks_like_stocks(source: object) -> bool:
    """Whether it is a folder of prices, or a table or frame with tickers, days, closing prices and another price."""
    if has_two_headers(source):
        return True
    if not isinstance(source, str | Path):
        return _are_prices(column_names(source), ("ticker", "date", "close"))
    path = Path(source)
    if path.is_file():
        return is_table(path) and _are_prices(column_names(path), ("ticker", "date", "close"))
    if not path.is_dir():
        return False
    is_known = any(known.recognises(path) for known in published_folders())
    if is_known or any((path / name).is_file() for name in PRICE_TABLES):
        return True
    first = next((file for file in sorted(path.iterdir()) if file.is_file() and is_table(file)), None)
    return first is not None and (has_two_headers(first) or _are_prices(column_names(first), ("date", "close")))


def _are_prices(names: list[str], kinds: tuple[str, ...]) -> bool:
    others = (find_column(names, field) is not None for field in OTHER_PRICES)
    return all(find_column(names, kind) is not None for kind in kinds) and any(others)


def _panel_if_sound(layout: Layout, options: StockOptions, findings: Findings) -> StockPanel | None:
    """The panel, or nothing where what is wrong with it is noted, so that texts are looked at too."""
    try:
        rows = _rows(layout, options, findings)
        if findings.errors():
            return None
        panel = build_panel(rows, options, findings)
    except Unreadable:
        return None
    return dataclasses.replace(panel, source=findings.source)


def _rows(layout: Layout, options: StockOptions, findings: Findings) -> PriceRows:
    """Rows of all files, each named by its ticker."""
    if layout.table is not None:
        ticker = stem(layout.table) if isinstance(layout.table, Path) and layout.is_named else None
        return read_prices(layout.table, ticker, options, findings)
    parts = []
    for path in layout.files:
        with file_of_ticker(path, findings) as inner:
            rows = read_prices(path, stem(path), options, inner)
            known = {} if layout.published is None else layout.published.movements(path, inner)
            if known:  # next to the prices of a published folder, they win over those of the file
                days = rows.frame["day"].dt.strftime("%Y-%m-%d")
                rows = dataclasses.replace(rows, frame=rows.frame.assign(movement=days.map(known)))
            parts.append(rows)
    join_notes(findings)
    if findings.errors():
        raise Unreadable
    return together(parts, findings)


def join_notes(findings: Findings) -> None:
    """Make one note of the same note on many files."""
    groups: dict[tuple[str, str], list[Finding]] = collections.defaultdict(list)
    others = []
    for finding in findings.found:
        name, mark, rule = finding.rule.partition(": ")
        if finding.severity == "note" and mark and name != findings.source:
            groups[finding.kind, rule].append(finding)
        else:
            others.append(finding)
    findings.found = others
    for (kind, rule), notes in groups.items():
        findings.add(kind, "note", notes[0].rule if len(notes) == 1 else f"{rule} (in {len(notes)} files)")


def place_texts(raws: list[RawTexts], panel: StockPanel, options: StockOptions, findings: Findings) -> StockTexts:
    """Keep texts of known tickers, with something in them, from days that a window of the panel can reach."""
    counts = collections.Counter[str]()
    parts = [_in_reach(_known(raw, panel, counts), panel, options, findings, counts) for raw in raws]
    if findings.errors():
        raise Unreadable
    dropped = {reason: count for reason, count in counts.items() if count}
    strangers = sorted({str(name) for raw in raws for name in raw.frame["ticker"]} - {*panel.tickers})
    words = ", ".join(f"{reason} {count}" for reason, count in dropped.items())
    unknown = f"; unknown tickers are {list_some(strangers)}" if strangers else ""
    if not any(len(part.frame) for part in parts):
        fix = ("Give texts of the tickers and days of the prices, or ", Fix("read.texts", NO_TEXTS), ".")
        raise findings.fatal("texts", f"no text is left ({words or 'there was none'}{unknown})", fix)
    if dropped:
        findings.add("dropped", "note", f"texts left out: {words}{unknown}", count=sum(dropped.values()))
    return _sorted(parts, panel, dropped, findings)


def _without(marks: Marks, reason: str, raw: RawTexts, dropped: collections.Counter[str]) -> RawTexts:
    dropped[reason] += int(marks.sum())
    return raw.kept(~marks)


def _known(raw: RawTexts, panel: StockPanel, dropped: collections.Counter[str]) -> RawTexts:
    """Texts of known tickers, each of them once, that say something and can be written."""
    known = raw.frame["ticker"].astype(str).isin(panel.tickers).to_numpy(bool)
    raw = _without(~known, "unknown ticker", raw, dropped)
    if "id" in raw.frame:
        repeated = raw.frame[["ticker", "id"]].astype(str).duplicated() & raw.frame["id"].notna()
        raw = _without(repeated.to_numpy(bool), "duplicate id", raw, dropped)
    if "text" not in raw.frame:
        return raw
    flaws = raw.frame["text"].map(_flaw)
    dropped.update(flaws[flaws != ""])
    return raw.kept((flaws == "").to_numpy(bool))


def _flaw(text: object) -> str:
    """Why a text cannot be read; empty where it can."""
    if not isinstance(text, str):
        return "empty" if text is None or text is pd.NA or text != text else "no text"
    if not text.strip():
        return "empty"
    return "NUL character" if "\x00" in text else ""


def _in_reach(
    raw: RawTexts, panel: StockPanel, options: StockOptions, findings: Findings, dropped: collections.Counter[str]
) -> RawTexts:
    """Give each text its day; keep what lies in the days of the prices, to the eve of the next session."""
    day, stamp = raw.times(options, findings)
    keep = (day >= panel.days[0] - np.timedelta64(DAYS_BEFORE, "D")) & (day < panel.next_session)
    dropped["outside the prices' days"] += int((~keep).sum())
    return raw.kept(keep, day=day[keep].astype("datetime64[s]"), stamp=stamp[keep])


def _sorted(parts: list[RawTexts], panel: StockPanel, dropped: dict[str, int], findings: Findings) -> StockTexts:
    """Texts of all files by ticker, day and stamp; long ones are cut, and counted."""
    frame, vectors = pd.concat([part.frame for part in parts], ignore_index=True), _vectors(parts, findings)
    ticker = np.searchsorted(np.array(panel.tickers), frame["ticker"].to_numpy(str)).astype(np.int64)
    day, stamp = frame["day"].to_numpy().astype("datetime64[D]"), frame["stamp"].to_numpy().astype("datetime64[s]")
    order = np.lexsort((stamp, day, ticker))
    texts = None if vectors is not None else [text.strip() for text in frame["text"].iloc[order]]
    cut = sum(len(text) > MAX_TEXT for text in texts or ())
    if cut:
        rule = f"{cut} texts of more than {MAX_TEXT:,} characters were cut there"
        findings.add("long", "note", rule, count=cut)
    return StockTexts(
        ticker=ticker[order],
        day=day[order],
        stamp=stamp[order],
        dropped=dropped,
        source=findings.source,
        text=None if texts is None else tuple(text[:MAX_TEXT] for text in texts),
        vectors=None if vectors is None else vectors[order],
    )


def _vectors(parts: list[RawTexts], findings: Findings) -> NDArray[np.float32] | None:
    """Vectors of all files in one array; None where they hold texts."""
    given = [part.vectors[part.frame.index] for part in parts if part.vectors is not None]
    if not given:
        return None
    if len(given) < len(parts) or len({vectors.shape[1] for vectors in given}) > 1:
        rule = "all files must hold vectors of one length, or all texts"
        raise findings.fatal("vectors", rule, "Make them again.")
    return np.concatenate(given)
