"""Audit of windows over series, whoever split them; whether the calendar explains a series, or it is an average."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.agreement import check_statistics
from multiway.auditing.duplicates import MANY, check_duplicates, window_digests
from multiway.auditing.look_ahead import check_exact, check_interpolated, check_look_ahead, is_interpolated
from multiway.auditing.near_series import check_near_stretches
from multiway.auditing.report import AuditReport, Verdict, finding, verdict_on
from multiway.auditing.spans import Spans, check_order, check_overlap
from multiway.data.findings import quote

USUAL = 4.0
"""Copies across splits may be this much more frequent than within training, of which they see twice as much."""

EXPLAINED = 0.9
"""Share of the variance above which a series is called a matter of the calendar."""
DAY = 24 * 60
"""Minutes."""
LOOK_AHEAD = 48
"""Rows of the past in which one series is looked for in another."""

Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From rows `(rows, variates)` to `(variates,)`; NaN is a missing cell."""
NOTCHED = 0.02
"""Power at the frequencies that an average of so many rows removes, over that between them; real series keep 0.19."""
SHORTEST, LONGEST = 5, 31
"""Rows of a window."""
FEWEST_ROWS, MOST_ROWS, MOST_SERIES = 200, 6000, 128
LOOKS_BACK = 0.997
"""Share of a series' changes that another one's past gives where it is a feature that looks back."""
SUMS, DIGITS = 8, 5
"""Sums of cells by which fields are judged, and digits of their range that rounding of single precision leaves."""
Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class WindowSplit:
    """Windows over a series as a protocol splits them.

    values: `(rows, variates)` in the units of the file; NaN where missing.
    times: Of the rows, or any index.
    names: Of the variates.
    lookback, horizon: Steps of past and target.
    starts: For each split, the row at which each window's past begins; `train` first.
    used: What scaling learnt, by name, `(variates,)` each; empty if nothing was scaled.
    statistics: How each of those is computed from rows.
    reports_choice: Without a test split, the scores of the windows that choose the epoch are those that are reported.
    """

    values: NDArray[np.float64]
    times: pd.Index
    names: tuple[str, ...]
    lookback: int
    horizon: int
    starts: dict[str, NDArray[np.int64]]
    used: dict[str, NDArray[np.float64]] = dataclasses.field(default_factory=dict)
    statistics: dict[str, Statistic] = dataclasses.field(default_factory=dict)
    reports_choice: bool = False

    def whole(self, split: str) -> Spans:
        """Rows of each window."""
        return Spans.of(self.starts[split], self.lookback + self.horizon)

    def targets(self, split: str) -> Spans:
        """Target rows of each window."""
        return Spans.of(self.starts[split] + self.lookback, self.horizon)

    @property
    def rest(self) -> tuple[str, ...]:
        """Splits that a model is scored on."""
        return tuple(split for split in self.starts if split != "train")

    @functools.cached_property
    def training(self) -> NDArray[np.bool_]:
        """Rows of training windows."""
        return self.whole("train").mark_rows(len(self.values))

    @functools.cached_property
    def apart(self) -> NDArray[np.bool_]:
        """Rows of training windows that are no target of another split."""
        targets = (self.targets(name).mark_rows(len(self.values)) for name in self.rest)
        return functools.reduce(lambda rows, covered: rows & ~covered, targets, self.training)

    @property
    def is_mixed(self) -> bool:
        """Whether most of the training rows are targets of another split."""
        return bool(self.apart.sum() < self.training.sum() / 2)

    def row(self, position: int) -> str:
        """A row and its time, in words."""
        return f"row {position} ({self.times[position]})" if position < len(self.times) else f"row {position}"


def audit_windows(split: WindowSplit, source: str) -> AuditReport:
    """Every check of windows over series."""
    return AuditReport.of(source, verdicts_on_windows(split))


def verdicts_on_windows(split: WindowSplit) -> list[Verdict | None]:
    """Overlap, order, statistics, copies, look-ahead, calendar, and whether a split is left to test on."""
    checks = itertools.product(split.rest, (check_overlap, check_order))
    return [
        *(check(split.whole("train"), split.targets(name), name, split.row) for name, check in checks),
        _statistics(split),
        _copies(split),
        None if split.is_mixed else _near(split),
        check_look_ahead(split.values, split.names, LOOK_AHEAD),
        check_exact(split.values, split.names),
        check_smoothed(split.values, split.names),
        check_interpolated(split.values, split.names),
        _calendar(split),
        None if "test" in split.starts else _warn_of_selection(split),
    ]


def _statistics(split: WindowSplit) -> Verdict | None:
    if not split.used:
        return None
    if not split.apart.any():
        return finding(
            "statistics", "error", "every training row is a target of another split, so scaling saw them all"
        )
    rows = split.values[split.apart]
    honest = {name: split.statistics[name](rows) for name in split.used}
    everything = {name: split.statistics[name](split.values) for name in split.used}
    rest = "" if (split.apart == split.training).all() else " that are no target of another split"
    return check_statistics(split.used, honest, everything, split.names, rows=f"{len(rows):,} training rows{rest}")


def _copies(split: WindowSplit) -> Verdict:
    """Windows in two splits; a series that repeats itself within training does so beyond it, too."""
    length = split.lookback + split.horizon
    digests = {name: window_digests(split.values, starts, length) for name, starts in split.starts.items()}
    names = {name: [f"window at row {start}" for start in starts.tolist()] for name, starts in split.starts.items()}
    training = [digest for digest in digests["train"] if digest is not None]
    usual = 1 - len(set(training)) / max(len(training), 1)
    tolerated = max(MANY, USUAL * usual)
    return check_duplicates(digests, names, f"windows of {length} rows that vary", tolerated=tolerated)


def _near(split: WindowSplit) -> Verdict | None:
    """Stretches that are nearly those of training."""
    tested = {name: split.targets(name).mark_rows(len(split.values)) for name in split.rest}
    length = split.lookback + split.horizon
    return check_near_stretches(split.values, split.names, split.apart, tested, length, split.lookback)


def _calendar(split: WindowSplit) -> Verdict | None:
    if split.is_mixed or not split.rest:
        return None  # the targets lie among the training rows, and that is said already
    tested = split.targets(split.rest[-1]).mark_rows(len(split.values))
    return check_calendar(split.values, split.times, split.apart, tested, split.names)


def _warn_of_selection(split: WindowSplit) -> Verdict:
    return finding(
        "selection",
        "error" if split.reports_choice else "warning",
        f"there is no test split: the best epoch is chosen on the {split.rest[-1]} windows that are scored",
        "Keep a test split, and read it once.",
    )


def check_calendar(
    values: NDArray[np.float64],
    times: pd.Index,
    training: NDArray[np.bool_],
    tested: NDArray[np.bool_],
    names: Sequence[str],
) -> Verdict | None:
    """Whether the calendar alone explains a series: no leak, as a forecast may know the date, but no skill either.

    That is how much of the tested rows the mean of training rows of the same month, weekday and time of day explains.

    Args:
        values: `(rows, variates)`, NaN where missing.
        times: Of the rows.
        training: `(rows,)`, which are learnt from.
        tested: `(rows,)`, which are explained.
        names: Of the variates.
    """
    if not isinstance(times, pd.DatetimeIndex) or not training.any() or not tested.any():
        return None
    parts = times.hour * 60 + times.minute, times.day_of_week, times.month
    time, weekday, month = (np.asarray(part, np.int64) for part in parts)
    keys = [time + days * DAY for days in (0, weekday, month * 7, weekday + month * 7)]
    explained = np.max(np.stack([_r2_of_variates(values, key, training, tested) for key in keys]), axis=0)
    if np.isnan(explained).all():
        return None
    best = int(np.nanargmax(explained))
    high = np.flatnonzero(explained > EXPLAINED)
    if not len(high):
        return (
            f"month, weekday and time of day explain at most {max(explained[best], 0):.0%} of a variate "
            f"({names[best]}) in the tested rows"
        )
    return finding(
        "calendar",
        "warning",
        f"month, weekday and time of day alone explain {explained[best]:.1%} of {names[best]} in the tested rows "
        f"({len(high)} of {len(names)} variates above {EXPLAINED:.0%})",
        "This is no leak, but a low error is no skill: compare it with seasonal_naive.",
        count=len(high),
    )


def _r2_of_variates(
    values: NDArray[np.float64], key: NDArray[np.int64], training: NDArray[np.bool_], tested: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """R² against the training mean, per variate; NaN where it is undefined."""
    frame = pd.DataFrame(values)
    usual = frame[training].mean()
    table = frame[training].groupby(key[training]).mean()
    looked_up = table.reindex(key[tested]).set_axis(frame.index[tested]).fillna(usual)
    error = np.square(frame[tested] - looked_up).sum()
    spread = np.square(frame[tested] - usual).sum()
    return np.asarray((1 - error / spread.where(spread > 0)).to_numpy(np.float64))


def check_smoothed(values: Floats, names: Sequence[str]) -> Verdict | None:
    """Whether a series `(rows, variates)` is an average over neighbouring rows, and not of another one's past."""
    changes = np.diff(pd.DataFrame(values[-MOST_ROWS:]).ffill().bfill().fillna(0.0).to_numpy(), axis=0)
    if len(changes) < FEWEST_ROWS:
        return None
    windows = {place: window_of(column) for place, column in enumerate(changes.T[:MOST_SERIES])}
    examples = [
        f"{quote(names[place])} over {rows} rows"
        for place, rows in windows.items()
        if rows and not any(_looks_back(changes[:, place], other, rows) for other in np.delete(changes, place, 1).T)
    ]
    return verdict_on(
        examples,
        "no series is a moving average",
        "smoothed",
        f"{len(examples)} series are moving averages, of which the rows before a target hold a part "
        "where the window is centred",
        "Forecast what was measured.",
    )


def check_fields(values: Floats) -> Iterator[Verdict | None]:
    """Whether fields `(times, cells)` were averaged over times, or filled in between those that were measured.

    Any weighted sum of cells keeps both, so a few sums of all cells, drawn alone, are looked at.
    """
    known = np.nan_to_num(values - np.nanmean(values, axis=0))
    sums = known @ np.random.default_rng(0).normal(size=(known.shape[1], SUMS))
    sums = np.round(sums / np.where(np.ptp(sums, axis=0) > 0, np.ptp(sums, axis=0), 1), DIGITS)
    windows = [window_of(changes) for changes in np.diff(sums, axis=0).T] if len(sums) > FEWEST_ROWS else []
    averaged = [f"over {rows} times" for rows in set(windows) if rows and windows.count(rows) > SUMS / 2]
    sound, rule = (
        "no field is an average over times",
        "fields are moving averages, so that each holds a part of later ones",
    )
    yield verdict_on(averaged, sound, "smoothed", rule, "Forecast what was measured.")
    is_drawn = sum(map(is_interpolated, sums.T)) > SUMS / 2
    sound, rule = "no field lies on a line between others", "fields lie on straight lines between fewer ones"
    yield verdict_on(
        ["all cells alike"] * is_drawn, sound, "interpolated", rule, "Forecast the times that were measured."
    )


def window_of(changes: Floats) -> int:
    """Rows of the window by which changes were averaged; 0 where they were not.

    An average of w rows removes all of the frequencies k / w, which chance leaves in no series.
    """
    if not np.ptp(changes) > 0:
        return 0
    power = np.abs(np.fft.rfft((changes - changes.mean()) * np.hanning(len(changes)))) ** 2
    shares, last = {}, len(power) - 1
    for rows in range(SHORTEST, LONGEST + 1):  # the mean power about multiples of 1 / rows, over the median between
        multiples = np.arange(1, rows // 2 + 1)
        at, between = (np.rint(places * len(changes) / rows).astype(int) for places in (multiples, multiples - 0.5))
        removed = power[np.minimum(at[:, None] + np.arange(-1, 2), last)].mean()
        kept = np.median(power[np.minimum(between[:, None] + np.arange(-3, 4), last)])
        shares[rows] = float(removed / kept) if kept > 0 else 1.0
    best = min(shares, key=lambda rows: shares[rows])
    return best if shares[best] < NOTCHED else 0


def _looks_back(series: Floats, other: Floats, rows: int) -> bool:
    """Whether the changes of a series are a weighted sum of another one's in the rows before."""
    past = np.lib.stride_tricks.sliding_window_view(other[:-1], rows + 2)
    following = series[rows + 2 :]
    left = following - past @ np.linalg.lstsq(past, following, rcond=1e-9)[0]
    return bool(np.square(left).sum() < (1 - LOOKS_BACK) * np.square(following).sum())
