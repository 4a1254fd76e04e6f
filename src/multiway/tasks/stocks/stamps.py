"""When a text was written, and the day of the exchange that it belongs to."""

import dataclasses
import datetime
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place
from multiway.data.sources.cells import as_text
from multiway.errors import Fix
from multiway.tasks.stocks.options import StockOptions

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


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Stamps:
    """Times of texts.

    utc: `(texts,)` datetime64[s]; a plain day at 00:00.
    is_day: `(texts,)`, where only a day is known.
    """

    utc: Moments
    is_day: NDArray[np.bool_]


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
            utc[fits] = _parsed(raw[fits], form)
            left &= ~fits
            is_day |= fits & (pattern in PLAIN_DAYS)
        local[left] = _parsed(raw[left], "ISO8601", zoned=False)
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
    day = _parsed(text.str.slice(0, 10), "%Y-%m-%d")
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


def _parsed(text: pd.Series, form: str, *, zoned: bool = True) -> Moments:
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


def _refuse(bad: NDArray[np.bool_], raw: pd.Series, place_of: PlaceOf, findings: Findings) -> None:
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
