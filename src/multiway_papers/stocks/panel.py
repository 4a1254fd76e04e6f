"""A market: prices of tickers x trading days, with nothing where nothing was traded, and the texts about them."""

import dataclasses
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, Severity, list_some
from multiway.data.samples import Rows
from multiway.data.sources.bytes import free_memory
from multiway.errors import Fix
from multiway_papers.stocks.config import StockOptions
from multiway_papers.stocks.options import session_after

FIELDS = ("open", "high", "low", "close", "adj_close", "volume")
MAX_TICKERS = 100_000
OPEN, CLOSE, ADJUSTED = (FIELDS.index(name) for name in ("open", "close", "adj_close"))
WHOLE_SPLITS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100)
WHOLE_TOLERANCE, HALF_TOLERANCE = 0.05, 0.015
APART = 0.25
"""Share by which adjusted close and close may move apart in a day; the largest dividends are paid below it."""
DISAGREES = 1e-4
"""Difference of movements beyond their digits."""
DIGITS = 6
"""StockNet's movements have six."""
DAILY = 0.9
"""Share of the Saturdays and Sundays with prices from which on a market has no weekends."""
STALE = 20
"""Trading days after which a ticker's last price no longer counts as known."""
SPAN = 4_000_000
"""Days that a day's number is kept within; datetime64 reaches further than any calendar."""
Days = NDArray[np.datetime64]
Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PriceRows:
    """Rows of prices, in the order of their files.

    frame: Columns ticker, day, those of `FIELDS`, and movement, NaN where the file does not say it.
    read: Columns of prices that were there to be read, in every file.
    """

    frame: pd.DataFrame
    read: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockPanel:
    """Daily prices of some stocks on the days of their exchange.

    tickers: Names, sorted.
    days: `(days,)` datetime64[D], every day on which a ticker has a row: the trading calendar, as far as is seen.
    prices: `(tickers, days, fields)` in the order of `FIELDS`, NaN where there is no row and never 0.
    traded: `(tickers, days)`, where there is a row.
    movement: `(tickers, days)`, change of the adjusted close since the ticker's row before, as a share of it and
        rounded to 6 digits; as the file says it where it has a column `movement`. NaN without a row or an earlier one.
    source: Name of the file or folder.
    read: Columns of prices that were there to be read, in every file; the close stands in for others.
    exchange: Code of the calendar of the exchange; None where it is not known.
    """

    tickers: tuple[str, ...]
    days: Days
    prices: Floats
    traded: NDArray[np.bool_]
    movement: Floats
    source: str
    read: tuple[str, ...] = FIELDS
    exchange: str | None = None

    @property
    def trades_daily(self) -> bool:
        """Whether the market has no weekends, as that of coins: nearly all of theirs have prices."""
        every = np.arange(self.days[0], self.days[-1] + np.timedelta64(1, "D"))
        closed = (~np.is_busday(every)).sum()
        return bool(closed > 1 and (~np.is_busday(self.days)).sum() >= DAILY * closed)

    @property
    def next_session(self) -> np.datetime64:
        """The first trading day of the exchange after the last day; the next day where it has no weekends."""
        if self.trades_daily:
            return np.datetime64(self.days[-1] + np.timedelta64(1, "D"))
        return session_after(self.days[-1], self.exchange)

    @property
    def is_listed(self) -> Marks:
        """`(tickers,)`, whether there is a row in the last trading days; others have ended."""
        return np.asarray(self.traded[:, -STALE:].any(axis=1))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class StockTexts:
    """Texts about stocks, or their vectors, one entry each, sorted by ticker, day and stamp.

    ticker: `(texts,)` positions in the panel's tickers.
    day: `(texts,)` datetime64[D], the exchange's calendar day, the next one after its close. A text says something
        about later days only: it is put on the first trading day strictly after this one.
    stamp: `(texts,)` datetime64[s] in UTC, as stamped; the day at 00:00 where only a day is known.
    text: The texts; None where vectors are given.
    vectors: `(texts, features)` float32; None where texts are given.
    dropped: Why texts were left out, and how many.
    source: Name of the file or folder.
    """

    ticker: Rows
    day: Days
    stamp: Days
    text: tuple[str, ...] | None
    vectors: NDArray[np.float32] | None
    dropped: dict[str, int]
    source: str

    @property
    def count(self) -> int:
        """Number of texts."""
        return len(self.ticker)


def build_panel(rows: PriceRows, options: StockOptions, findings: Findings) -> StockPanel:
    """Put every row in its place; movements and jumps are judged on all rows, before days are left out."""
    frame = rows.frame.sort_values(["ticker", "day"], ignore_index=True)
    tickers, num_days = frame["ticker"].nunique(), frame["day"].nunique()
    needed, free = tickers * num_days * (len(FIELDS) + 2) * 8 * 2, free_memory()
    if tickers > MAX_TICKERS or needed > free:
        rule = (
            f"{tickers:,} tickers x {num_days:,} days would take {needed / 1e9:.2g} GB; at most {MAX_TICKERS:,} "
            f"tickers are read, and {free / 1e9:.2g} GB are free"
        )
        raise findings.fatal("memory", rule, "Keep fewer tickers or days.")
    frame["movement"] = _movements(frame, options, findings)
    _check_jumps(frame, options, findings)
    first, last = (np.datetime64(day or "NaT") for day in (options.start, options.end))
    days = frame["day"].to_numpy()
    kept = frame[~((days < first) | (days > last))]
    if not len(kept):
        rule = f"no row lies between {options.start or 'the start'} and {options.end or 'the end'}"
        raise findings.fatal("days", rule, f"The rows run from {_day(days.min())} to {_day(days.max())}.")
    gone = sorted(set(frame["ticker"]) - set(kept["ticker"]))
    if gone:
        findings.add("tickers", "note", f"{len(gone)} tickers have no row in the days kept: {list_some(gone)}")
    return dataclasses.replace(_placed(kept), read=rows.read, exchange=options.calendar)


def _placed(frame: pd.DataFrame) -> StockPanel:
    code, tickers = pd.factorize(frame["ticker"].to_numpy(object), sort=True)
    days, column = np.unique(frame["day"].to_numpy().astype("datetime64[D]"), return_inverse=True)
    prices = np.full((len(tickers), len(days), len(FIELDS)), np.nan)
    movement = np.full(prices.shape[:2], np.nan)
    traded = np.zeros(prices.shape[:2], dtype=bool)
    prices[code, column], movement[code, column], traded[code, column] = frame[[*FIELDS]], frame["movement"], True
    return StockPanel(
        tickers=tuple(map(str, tickers)), days=days, prices=prices, traded=traded, movement=movement, source=""
    )


def _follows(frame: pd.DataFrame) -> Marks:
    """`(rows - 1,)`, whether the row after each is of the same ticker."""
    ticker = frame["ticker"].to_numpy(object)
    return np.asarray(ticker[1:] == ticker[:-1], dtype=bool)


def _movements(frame: pd.DataFrame, options: StockOptions, findings: Findings) -> Floats:
    """The file's own where it has them, else changes of the adjusted close."""
    close, given = frame["adj_close"].to_numpy(np.float64), frame["movement"].to_numpy(np.float64)
    moved = np.full(len(close), np.nan)
    moved[1:] = np.where(_follows(frame), np.round(close[1:] / close[:-1] - 1, DIGITS), np.nan)
    volume = frame["volume"].to_numpy(np.float64)
    is_idle = np.append(False, (volume[1:] == 0) & (close[1:] == close[:-1]) & _follows(frame)) & (volume > 0).any()
    if np.isnan(given).all():
        if is_idle.any():
            rule = f"{is_idle.sum():,} rows are without trade, at the price of the day before, and have no label"
            findings.add("idle", "note", rule)
        return np.where(is_idle, np.nan, moved)
    findings.add("movement", "note", "movements are those of the file")
    with np.errstate(invalid="ignore"):
        apart = np.flatnonzero(np.abs(given - moved) > DISAGREES)
    words = {row: f"{given[row]:.6f}, by the prices {moved[row]:.6f}" for row in apart[:20]}
    rule = f"{len(apart)} movements of the file disagree with its adjusted close"
    _complain("disagrees", rule, frame, words, len(apart), options, findings)
    return np.round(given, DIGITS)


def _check_jumps(frame: pd.DataFrame, options: StockOptions, findings: Findings) -> None:
    """Splits that the adjusted close does not take out, and jumps that it makes on its own.

    A split changes a price by nearly a whole factor, or by 3:2, in either direction.
    """
    prices = frame[["close", "adj_close"]].to_numpy(np.float64)
    close, adjusted = (prices[1:] / prices[:-1]).T
    apart = np.abs(np.log(adjusted / close)) > np.log1p(APART)
    larger = np.abs(np.log(adjusted)) > np.abs(np.log(close)) + np.log1p(APART)
    size = np.maximum(adjusted, 1 / adjusted)
    is_split = np.abs(size[:, None] / np.array(WHOLE_SPLITS) - 1).min(1) < WHOLE_TOLERANCE
    is_split |= np.abs(size / 1.5 - 1) < HALF_TOLERANCE
    for kind, rule, marks in (
        ("split", "an adjusted close jumps like a split that was not taken out", is_split & ~apart),
        ("adjusted", "an adjusted close jumps where the close does not", larger),
    ):
        after = np.flatnonzero(marks & _follows(frame)) + 1
        steps = {row: (*prices[row - 1], *prices[row]) for row in after[:20]}
        words = {row: f"close {a:g} to {c:g}, adjusted {b:g} to {d:g}" for row, (a, b, c, d) in steps.items()}
        _complain(kind, rule, frame, words, len(after), options, findings)


def _complain(
    kind: str,
    rule: str,
    frame: pd.DataFrame,
    words: dict[int, str],
    count: int,
    options: StockOptions,
    findings: Findings,
) -> None:
    if words and options.jumps != "ignore":
        severity: Severity = "error" if options.jumps == "error" else "warning"
        fix = ("Adjust the prices, or take them as they are (", Fix("read.jumps", "warn"), ").")
        days = frame["day"].to_numpy()
        names = {row: f"{frame['ticker'][row]} {_day(days[row])}" for row in words}
        findings.add(kind, severity, rule, fix, [Place(detail=f"{names[row]}: {words[row]}") for row in words], count)


def _day(moment: np.datetime64) -> str:
    return str(moment.astype("datetime64[D]"))


def day_numbers(days: Days) -> Rows:
    """Days since 1970."""
    return days.astype("datetime64[D]").astype(np.int64)


def weekdays(days: Days) -> Rows:
    """0 on Mondays to 6 on Sundays; day 0 was a Thursday."""
    return (day_numbers(days) + 3) % 7


def months(days: Days) -> Rows:
    """0 in January to 11 in December."""
    return days.astype("datetime64[M]").astype(np.int64) % 12


def years_of(days: Days) -> Rows:
    """Calendar years."""
    return days.astype("datetime64[Y]").astype(np.int64) + 1970


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Texts that share a slot, as rows of one table: the same texts are the same row wherever they are used.

    Those of row r are `items[starts[r] : starts[r + 1]]`. Row 0 has none.
    """

    starts: Rows
    items: Rows

    @classmethod
    def empty(cls) -> Self:
        """The table without texts: row 0 alone."""
        return cls(starts=np.zeros(2, np.int64), items=np.empty(0, np.int64))

    @classmethod
    def of_ranges(cls, first: Rows, last: Rows) -> Self:
        """Row 0 and one row for each half-open range of texts."""
        sizes = last - first
        starts = np.concatenate([[0, 0], np.cumsum(sizes)])
        items = np.arange(starts[-1]) + np.repeat(first - starts[1:-1], sizes)
        return cls(starts=starts, items=items)

    @property
    def num_rows(self) -> int:
        """Rows, the empty one included."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> Rows:
        """Texts in each row."""
        return np.diff(self.starts)

    def of(self, row: int) -> Rows:
        """Positions of the texts of one row."""
        return self.items[self.starts[row] : self.starts[row + 1]]


def group_texts(texts: StockTexts, after: Rows, before: Rows, valid: Marks) -> tuple[NDArray[np.int32], Groups]:
    """Find the texts of each valid `(sample, ticker, slot)`: those of its ticker with `after` <= day < `before`.

    Texts are sorted by ticker and day, so each such group is a range of them.

    Rows of the table, 0 where no text falls, and the table.
    """
    keys = texts.ticker * SPAN + _clipped(day_numbers(texts.day))
    places = np.flatnonzero(valid & np.isin(np.arange(valid.shape[1]), texts.ticker)[:, None])
    offset = np.unravel_index(places, valid.shape)[1] * SPAN
    first, last = (
        np.searchsorted(keys, offset + _clipped(np.broadcast_to(edge, valid.shape).reshape(-1)[places]))
        for edge in (after, before)
    )
    used = last > first
    pairs, inverse = np.unique(first[used] * (len(keys) + 1) + last[used], return_inverse=True)
    rows = np.zeros(valid.size, np.int32)
    rows[places[used]] = inverse + 1
    return rows.reshape(valid.shape), Groups.of_ranges(*np.divmod(pairs, len(keys) + 1))


def _clipped(numbers: Rows) -> Rows:
    return np.clip(numbers + SPAN // 2, 0, SPAN - 1)
