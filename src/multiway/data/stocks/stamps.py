"""When a text was written, and the day of the exchange that it belongs to."""

import dataclasses
import datetime
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.cells import as_text
from multiway.data.findings import Findings, Place
from multiway.data.stocks.options import StockOptions

DAY = r"\d{4}-\d{2}-\d{2}"
COMPACT_DAY = r"(?:19|20)\d{6}"
ZONED = r".*\d(?:\.\d+)?\s*(?:[Zz]|UTC|GMT|[+-]\d{2}:?\d{2})"
TWITTER = r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d{2} \d{2}:\d{2}:\d{2} [+-]\d{4} \d{4}"
TWITTER_FORMAT = "%a %b %d %H:%M:%S %z %Y"
EPOCH = r"\d{9,14}"
MILLISECONDS = 10**11
WRITE = "Write times such as 2014-01-31T15:30:00-05:00."
PlaceOf = Callable[[int, str], Place]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Stamps:
    """Times of texts.

    utc: `(texts,)` datetime64[s]; a plain day at 00:00.
    is_day: `(texts,)`, where only a day is known.
    """

    utc: NDArray[np.datetime64]
    is_day: NDArray[np.bool_]


def parse_stamps(raw: pd.Series, options: StockOptions, place: PlaceOf, findings: Findings) -> Stamps:
    """Read stamps in ISO 8601, as Twitter writes them, as plain days or as seconds since 1970.

    Times without a zone are taken in `options.time_zone`; without that option they are an error, and so are times that
    a clock of that zone never shows, or shows twice.
    """
    if isinstance(raw.dtype, pd.DatetimeTZDtype):
        utc = raw.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy().astype("datetime64[s]")
        stamps = Stamps(utc=utc, is_day=np.zeros(len(raw), dtype=bool))
        _refuse(np.isnat(utc), raw, place, findings)
        return stamps
    if pd.api.types.is_datetime64_any_dtype(raw):
        local = raw.to_numpy().astype("datetime64[s]")
        _refuse(np.isnat(local), raw, place, findings)
        return _in_zone(local, ~np.isnat(local), local.copy(), np.zeros(len(raw), bool), raw, options, place, findings)
    return _from_text(as_text(raw), options, place, findings)


def says_zone(raw: pd.Series) -> bool:
    """Whether any stamp says its zone, or is one without needing it."""
    if isinstance(raw.dtype, pd.DatetimeTZDtype):
        return True
    if pd.api.types.is_datetime64_any_dtype(raw):
        return False
    text = as_text(raw)
    return bool(text.str.fullmatch(f"{ZONED}|{TWITTER}|{EPOCH}").any())


def plain_days(raw: pd.Series, place: PlaceOf, findings: Findings) -> NDArray[np.datetime64]:
    """A column of days; a day that cannot be read is an error."""
    if pd.api.types.is_datetime64_any_dtype(raw):
        raw = raw.dt.strftime("%Y-%m-%d")
    text = as_text(raw)
    day = _parsed(text.str.slice(0, 10), "%Y-%m-%d")
    _refuse(np.isnat(day), text, place, findings)
    return day.astype("datetime64[D]")


def exchange_days(stamps: Stamps, options: StockOptions) -> NDArray[np.datetime64]:
    """The exchange's calendar day of each text; the next one from the close on. A plain day is that day."""
    moments = pd.DatetimeIndex(stamps.utc).tz_localize("UTC").tz_convert(options.exchange_zone)
    local = moments.tz_localize(None).to_numpy().astype("datetime64[s]")
    day = local.astype("datetime64[D]")
    close = datetime.time.fromisoformat(options.close)
    after = (local - day) >= np.timedelta64(close.hour * 3600 + close.minute * 60, "s")
    return np.where(stamps.is_day, stamps.utc.astype("datetime64[D]"), day + after.astype("timedelta64[D]"))


def _from_text(text: pd.Series, options: StockOptions, place: PlaceOf, findings: Findings) -> Stamps:
    utc = np.full(len(text), np.datetime64("NaT"), dtype="datetime64[s]")
    local = utc.copy()
    left = np.ones(len(text), dtype=bool)

    def take(pattern: str) -> NDArray[np.bool_]:
        fits = left & text.str.fullmatch(pattern).to_numpy(bool, na_value=False)
        left[fits] = False
        return fits

    days = take(DAY)
    utc[days] = _parsed(text[days], "%Y-%m-%d")
    compact = take(COMPACT_DAY)
    utc[compact] = _parsed(text[compact], "%Y%m%d")
    is_day = days | compact
    twitter = take(TWITTER)
    utc[twitter] = _parsed(text[twitter], TWITTER_FORMAT)
    epoch = take(EPOCH)
    utc[epoch] = _from_epoch(text[epoch])
    zoned = take(ZONED)
    utc[zoned] = _parsed(text[zoned].str.replace(r"\s*(?:UTC|GMT|z)$", "Z", regex=True), "ISO8601")
    local[left] = _parsed(text[left], "ISO8601", zoned=False)
    _refuse(np.isnat(utc) & np.isnat(local), text, place, findings)
    return _in_zone(local, ~np.isnat(local), utc, is_day, text, options, place, findings)


def _parsed(text: pd.Series, form: str, *, zoned: bool = True) -> NDArray[np.datetime64]:
    """In UTC, or as the clock shows; NaT where a stamp does not fit."""
    try:
        times = pd.to_datetime(text, format=form, errors="coerce", utc=zoned)
    except (ValueError, OverflowError):
        return np.full(len(text), np.datetime64("NaT"), dtype="datetime64[s]")
    if zoned:
        times = times.dt.tz_localize(None)
    return times.to_numpy().astype("datetime64[s]")


def _from_epoch(text: pd.Series) -> NDArray[np.datetime64]:
    numbers = np.array([int(one) for one in text], dtype=np.int64)
    seconds = np.where(numbers >= MILLISECONDS, numbers // 1000, numbers)
    return seconds.astype("datetime64[s]")


def _refuse(bad: NDArray[np.bool_], raw: pd.Series, place: PlaceOf, findings: Findings) -> None:
    if bad.any():
        rows = np.flatnonzero(bad)
        places = [place(int(row), str(raw.iloc[row])) for row in rows[:20]]
        findings.add("stamp", "error", f"{len(rows)} times of texts cannot be understood", WRITE, places, len(rows))


def _in_zone(
    local: NDArray[np.datetime64], naive: NDArray[np.bool_], utc: NDArray[np.datetime64], is_day: NDArray[np.bool_],
    raw: pd.Series, options: StockOptions, place: PlaceOf, findings: Findings,
) -> Stamps:  # fmt: skip
    """Bring times without a zone to UTC; where all of them are midnights they are plain days."""
    if not naive.any():
        return Stamps(utc=utc, is_day=is_day)
    clock = local[naive]
    if (clock == clock.astype("datetime64[D]")).all():
        utc[naive] = clock
        return Stamps(utc=utc, is_day=is_day | naive)
    if options.time_zone is None:
        row = int(np.flatnonzero(naive)[0])
        rule = f"{naive.sum()} times of texts say no zone"
        fix = "Write their offsets from UTC, or name their zone (--time-zone UTC)."
        findings.add("zone", "error", rule, fix, [place(row, str(raw.iloc[row]))], int(naive.sum()))
        return Stamps(utc=np.where(naive, local, utc), is_day=is_day)
    zoned = pd.DatetimeIndex(clock).tz_localize(options.time_zone, ambiguous="NaT", nonexistent="NaT")
    wrong = np.flatnonzero(naive)[np.asarray(zoned.isna())]
    if len(wrong):
        places = [place(int(row), str(raw.iloc[row])) for row in wrong[:20]]
        rule = f"{len(wrong)} times of texts come twice or never in {options.time_zone}, as clocks change"
        findings.add("clock", "error", rule, "Write their offsets from UTC.", places, len(wrong))
    utc[naive] = zoned.tz_convert("UTC").tz_localize(None).to_numpy().astype("datetime64[s]")
    return Stamps(utc=utc, is_day=is_day)
