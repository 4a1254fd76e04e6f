"""Texts as they came, from a table, JSON lines, a folder of either or a published one; and when each was written."""

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, Unreadable, list_some, quote
from multiway.data.sources.cells import as_text
from multiway.data.sources.columns import RawTable
from multiway.data.sources.values import parse_numbers
from multiway.errors import DataError, Fix
from multiway_papers.stocks.config import NO_TEXTS, StockOptions
from multiway_papers.stocks.options import (
    DatedText,
    file_of_ticker,
    find_column,
    is_table,
    load_rows,
    needed_column,
    published_folders,
    stem,
    tickers_of,
)

EMBEDDING = "embedding"
ZONED = r".*\d(?:\.\d+)?\s*(?:[Zz]|UTC|GMT|[+-]\d{2}:?\d{2})"
TWITTER = r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d{2} \d{2}:\d{2}:\d{2} [+-]\d{4} \d{4}"
EPOCH = r"\d{9,14}"
PLAIN_DAYS = {r"\d{4}-\d{2}-\d{2}": "%Y-%m-%d", r"(?:19|20)\d{6}": "%Y%m%d"}
MOMENTS = {TWITTER: "%a %b %d %H:%M:%S %z %Y", EPOCH: "epoch", ZONED: "ISO8601"}
"""Ways to write a time in their order, each with its format."""
MILLISECONDS = 10**11
WRITE = "Write times such as 2014-01-31T15:30:00-05:00."
PlaceOf = Callable[[int, str], Place]
Moments = NDArray[np.datetime64]
Vectors = NDArray[np.float32]
Marks = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RawTexts:
    """Texts of one file, or of one published folder, in its order and before anything is left out.

    frame: Columns ticker, stamp and row; as far as they are there text, id, day (with the stamps: it wins over stamps
        that say no zone) and file (where each text stands if there are several).
    vectors: One for each label of the frame's index.
    by_day: Days win over any stamps.
    """

    frame: pd.DataFrame
    vectors: Vectors | None = None
    by_day: bool = False
    unit: Literal["line", "row"] = "line"

    def place(self, row: int, value: str | None = None) -> Place:
        """Where a text stands."""
        text = self.frame.iloc[row]
        return Place(row=int(text["row"]), unit=self.unit, value=value, detail=text.get("file"))

    def kept(self, keep: Marks, **changes: Sequence[str] | Moments) -> "RawTexts":
        """Some of the texts, some of their columns changed."""
        return dataclasses.replace(self, frame=self.frame[keep].assign(**changes))

    def times(self, options: StockOptions, findings: Findings) -> tuple[Moments, Moments]:
        """Day of the exchange that each text belongs to, and when it was written in UTC."""
        frame = self.frame
        if "day" in frame and (self.by_day or (options.time_zone is None and not says_zone(frame["stamp"]))):
            day = plain_days(frame["day"], self.place, findings)
            return day, parse_stamps(frame["stamp"], options.replace(time_zone="UTC"), self.place, findings).utc
        stamps = parse_stamps(frame["stamp"], options, self.place, findings)
        return exchange_days(stamps, options), stamps.utc


def gather(source: object, options: StockOptions, findings: Findings) -> list[RawTexts]:
    """All texts of a source, file by file."""
    if not isinstance(source, str | Path):
        return [_from_table(source, None, options, findings)]
    path = Path(source)
    if not path.exists():
        none = Fix("read.texts", NO_TEXTS)
        raise DataError(f"{quote(path, 200)} does not exist. Give a file or folder of texts, or none (", none, ").")
    if path.is_file():
        return [_from_table(path, None, options, findings)]
    files = sorted(file for file in path.iterdir() if file.is_file() and is_table(file, or_lines=True))
    if files:  # whose names are the tickers where they have no column of them
        texts = []
        for file in files:
            with file_of_ticker(file, findings) as inner:
                texts.append(_from_table(file, stem(file), options, inner))
        if findings.errors():
            raise Unreadable
        return texts
    for published in published_folders():
        folder = published.texts(path)
        if folder is not None:  # the day of a text is that of its file, unless its stamp is to be read
            rows = published.read_texts(folder, options.max_bytes, findings)
            frame = pd.DataFrame(rows, columns=DatedText._fields, dtype=object)
            frame = frame.astype({"stamp": "string", "day": "string"})
            is_by_day = options.stamp is None
            return [RawTexts(frame=frame if is_by_day else frame.drop(columns="day"), by_day=is_by_day)]
    rule = "there are no texts in this folder"
    raise findings.fatal("texts", rule, "Give CSV, Parquet or JSONL files, or StockNet's folder of tweets.")


def _from_table(source: object, ticker: str | None, options: StockOptions, findings: Findings) -> RawTexts:
    table = load_rows(source, options, findings)
    names, tickers = table.names, tickers_of(table, ticker, options, findings)
    stamp = needed_column(names, "stamp", options, findings)
    vectors = _vectors_of(table, findings)
    day = find_column([name for name in names if name != stamp], "day") if options.stamp is None else None
    columns = {"stamp": stamp, "id": find_column(names, "id"), "day": day}
    given = {name: table.frame[column].reset_index(drop=True) for name, column in columns.items() if column is not None}
    if vectors is None:
        given["text"] = table.frame[needed_column(names, "text", options, findings)].astype(object)
    frame = pd.DataFrame({"ticker": tickers, "row": table.rows, **given})
    return RawTexts(frame=frame, vectors=vectors, unit=table.unit)


def _vectors_of(table: RawTable, findings: Findings) -> Vectors | None:
    """Ready vectors of a table, columns e0, e1, ..., or one column of lists; None where it holds none."""
    names = [f"e{position}" for position in range(len(table.names)) if f"e{position}" in table.names]
    if names and names[-1] != f"e{len(names) - 1}":
        raise findings.fatal("vectors", f"vectors are columns e0, e1, ... without a gap. Got {list_some(names)}")
    if names:
        values = parse_numbers(table, names, findings).astype(np.float32)
    elif EMBEDDING in table.names:
        try:
            rows = [np.asarray(cell, dtype=np.float32) for cell in table.frame[EMBEDDING].tolist()]
        except (TypeError, ValueError):
            rule = f"'{EMBEDDING}' does not hold lists of numbers"
            raise findings.fatal("vectors", rule, "Write them to Parquet or JSONL as lists.") from None
        is_odd = (one.ndim != 1 or one.shape != rows[0].shape or not one.size for one in rows)
        if (odd := next((row for row, each in enumerate(is_odd) if each), None)) is not None:
            rule = f"vectors must be lists of one length, and the first has {rows[0].size}"
            raise findings.fatal("vectors", rule, "Make them again.", [table.place(odd)])
        values = np.stack(rows)
    else:
        return None
    endless = np.asarray(~np.isfinite(values).all(1))
    findings.mark("vectors", "vectors are not finite", "Make them again.", endless, table.place)
    return values


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Stamps:
    """Times of texts.

    utc: `(texts,)` datetime64[s]; a plain day at 00:00.
    is_day: `(texts,)`, where only a day is known.
    """

    utc: Moments
    is_day: Marks


def parse_stamps(raw: pd.Series, options: StockOptions, place_of: PlaceOf, findings: Findings) -> Stamps:
    """Read stamps in ISO 8601, as Twitter writes them, as plain days or as seconds since 1970.

    Times without a zone are taken in `options.time_zone`; without that option they are an error, and so are times that
    a clock of that zone never shows, or shows twice.
    """
    utc = np.full(len(raw), np.datetime64("NaT"), dtype="datetime64[s]")
    local, is_day = utc.copy(), np.zeros(len(raw), dtype=bool)
    if isinstance(raw.dtype, pd.DatetimeTZDtype):
        utc = raw.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy().astype("datetime64[s]")
    elif pd.api.types.is_datetime64_any_dtype(raw):
        local = raw.to_numpy().astype("datetime64[s]")
    else:
        raw, left = as_text(raw), np.ones(len(raw), dtype=bool)
        for pattern, form in (PLAIN_DAYS | MOMENTS).items():
            fits = left & raw.str.fullmatch(pattern).to_numpy(bool, na_value=False)
            utc[fits] = _parse(raw[fits], form)
            left &= ~fits
            is_day |= fits & (pattern in PLAIN_DAYS)
        local[left] = _parse(raw[left], "ISO8601", zoned=False)
    _refuse(np.isnat(utc) & np.isnat(local), raw, place_of, findings)
    return _in_zone(local, Stamps(utc=utc, is_day=is_day), raw, options, place_of, findings)


def says_zone(raw: pd.Series) -> bool:
    """Whether any stamp says its zone, or is one without needing it."""
    if pd.api.types.is_datetime64_any_dtype(raw):
        return isinstance(raw.dtype, pd.DatetimeTZDtype)
    return bool(as_text(raw).str.fullmatch(f"{ZONED}|{TWITTER}|{EPOCH}").any())


def plain_days(raw: pd.Series, place_of: PlaceOf, findings: Findings) -> Moments:
    """A column of days; a day that cannot be read is an error."""
    text = as_text(raw.dt.strftime("%Y-%m-%d") if pd.api.types.is_datetime64_any_dtype(raw) else raw)
    day = _parse(text.str.slice(0, 10), "%Y-%m-%d")
    _refuse(np.isnat(day), text, place_of, findings)
    return day.astype("datetime64[D]")


def exchange_days(stamps: Stamps, options: StockOptions) -> Moments:
    """The exchange's calendar day of each text; the next one from the close on. A plain day is that day."""
    moments = pd.DatetimeIndex(stamps.utc).tz_localize("UTC").tz_convert(options.exchange_zone)
    local = moments.tz_localize(None).to_numpy().astype("datetime64[s]")
    day = local.astype("datetime64[D]")
    close = datetime.time.fromisoformat(options.close)
    after = (local - day) >= np.timedelta64(close.hour * 3600 + close.minute * 60, "s")
    return np.where(stamps.is_day, stamps.utc.astype("datetime64[D]"), day + after.astype("timedelta64[D]"))


def _parse(text: pd.Series, form: str, *, zoned: bool = True) -> Moments:
    """In UTC, or as the clock shows; NaT where a stamp does not fit."""
    if form == "epoch":
        numbers = text.astype(np.int64).to_numpy()
        return np.where(numbers >= MILLISECONDS, numbers // 1000, numbers).astype("datetime64[s]")
    if form == "ISO8601" and zoned:
        text = text.str.replace(r"\s*(?:UTC|GMT|z)$", "Z", regex=True)
    try:
        times = pd.to_datetime(text, format=form, errors="coerce", utc=zoned)
    except (ValueError, OverflowError):
        return np.full(len(text), np.datetime64("NaT"), dtype="datetime64[s]")
    return (times.dt.tz_localize(None) if zoned else times).to_numpy().astype("datetime64[s]")


def _refuse(bad: Marks, raw: pd.Series, place_of: PlaceOf, findings: Findings) -> None:
    rule = "times of texts cannot be understood"
    findings.mark("stamp", rule, WRITE, bad, lambda row: place_of(row, str(raw.iloc[row])))


def _in_zone(
    local: Moments, stamps: Stamps, raw: pd.Series, options: StockOptions, place_of: PlaceOf, findings: Findings
) -> Stamps:
    """Bring times without a zone to UTC; where all of them are midnights they are plain days."""
    naive, utc = ~np.isnat(local), stamps.utc
    clock = local[naive]
    if (clock == clock.astype("datetime64[D]")).all():
        utc[naive] = clock
        return Stamps(utc=utc, is_day=stamps.is_day | naive)
    if options.time_zone is None:
        row = int(np.flatnonzero(naive)[0])
        rule = f"{naive.sum()} times of texts say no zone"
        fix = ("Write their offsets from UTC, or name their zone (", Fix("read.time_zone", "UTC"), ").")
        findings.add("zone", "error", rule, fix, [place_of(row, str(raw.iloc[row]))], int(naive.sum()))
        utc[naive] = clock
        return stamps
    zoned = pd.DatetimeIndex(clock).tz_localize(options.time_zone, ambiguous="NaT", nonexistent="NaT")
    wrong = np.zeros(len(naive), dtype=bool)
    wrong[naive] = np.asarray(zoned.isna())
    rule = f"times of texts come twice or never in {options.time_zone}, as clocks change"
    fix_of_clock = "Write their offsets from UTC."
    findings.mark("clock", rule, fix_of_clock, wrong, lambda row: place_of(row, str(raw.iloc[row])))
    utc[naive] = zoned.tz_convert("UTC").tz_localize(None).to_numpy().astype("datetime64[s]")
    return stamps
