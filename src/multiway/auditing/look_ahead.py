"""Whether one series knows another's future: shifted copies, means that reach ahead, lines drawn to later values.

Also cells that hold later values to the last digit, and covariates that are the target in disguise.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.parts import decimals_of
from multiway.auditing.probes import is_cut, r2_of_sum
from multiway.auditing.report import Verdict, finding, verdict_on
from multiway.data.findings import list_some, quote
from multiway.data.scaling import evenly
from multiway.errors import Message

FORESEEN = 0.997
"""Share of the squared error of a series' own past that another series must remove; honest leads remove less."""
MOSTLY_ONE = 0.8
"""Share of the weights on one row of the past from which on a series is a copy of that row."""
MOST_ROWS = 6000
MOST_SERIES = 128
MOST_LAGS = 48
LAGS = 24
"""Of a table whose rows have no step."""
MOST_COLUMNS = 1600
SETTLED = 1e-6
"""Share of the variance below which a series' own past leaves nothing to tell."""
STRAIGHT, EVENLY = 0.8, 0.45
"""Share of rows on straight lines from which on a series is called interpolated; and where lines have one length."""
STEEP = 4
"""Units of the last digit that a step on a line has at least, as rounding bends it by two."""
FEWEST_LINES = 6
FEWEST_ROWS = 40

Floats = NDArray[np.float64]
TELLING = 0.95
"""Correlation with a target, in what the past of neither foretells, from which on a covariate is one in disguise."""
HOLDING = 0.99
"""The same from which on it holds the target, as a good forecast does not."""
IN_STEP, MANY = 0.975, 100
"""Share of the steps in which a rank of the target goes its way, and steps at which both change."""
MADE = 0.98
"""Share of what the past of both leaves of a covariate's change, from which on it is made of the target's values."""
RESET = 10.0
"""A change that is so many times the ninth tenth of all is where a total begins anew."""
SHIFTS = range(-3, 4)
FEWEST = 30
"""Steps at which both change."""

LEADS = 7
"""Rows ahead that are looked at."""
OFTEN, MORE = 0.05, 4.0
"""Share of the rows that hold a later value exactly, and how much more often than before it, or by chance."""
FEWEST_PERIODS, SHORTEST = 10, 3
"""Periods of one value, and rows of each on average."""
SAME = 0.9999
"""Correlation of a period's value with the mean of its rows; R² of a formula of several covariates."""
MOST_PAIRED = 64


def check_look_ahead(values: Floats, names: Sequence[str], lags: int) -> Verdict | None:
    """Whether the next change of a series is told by the last rows of another."""
    chosen = evenly(len(names), MOST_SERIES)
    if len(chosen) < 2 or len(values) < FEWEST_ROWS:
        return None
    removed = foreseen(values[:, chosen], lags)
    examples = [
        f"{quote(names[chosen[other]])} knows {quote(names[chosen[series]])} ({removed[series, other]:.1%})"
        for series, other in np.argwhere(removed > FORESEEN).tolist()
    ]
    return verdict_on(
        examples,
        f"no series knows the next value of another ({len(chosen):,} looked at)",
        "shifted",
        "series know the future of others: given a series' own past, another one's removes nearly "
        "all error of its next value, as a copy that is shifted, or a mean that reaches ahead, does",
        "Leave out what is made from later values.",
    )


def foreseen(values: Floats, lags: int) -> Floats:
    """`(series, others)` share of the squared error of own past that another's past removes from the next change.

    Least squares on changes, learnt on the first half of the rows and judged on the second.
    """
    changes = _changes(values[-MOST_ROWS:])
    count = changes.shape[1]
    lags = int(np.clip(MOST_COLUMNS // count, 2, min(lags, MOST_LAGS, max(len(changes) // 20, 2))))
    past = np.lib.stride_tricks.sliding_window_view(changes[:-1], lags, axis=0)  # (rows, series, lags)
    past, following = past.reshape(len(past), -1), changes[lags:]
    half = len(past) // 2
    learnt, judged = _Moments(past[:half], following[:half]), _Moments(past[half:], following[half:])
    own = np.arange(count * lags).reshape(count, lags)
    shares = [_share_removed(learnt, judged, own, series) for series in range(count)]
    return np.stack(shares)


def check_later(
    numbers: Mapping[str, Floats], target: Floats, order: NDArray[np.int64], fix: Message = ()
) -> Iterator[Verdict]:
    """Whether a column holds the target of a later row, in the order of time."""
    values = np.column_stack([target, *numbers.values()])[order]
    removed = foreseen(values, LAGS)[0, 1:]
    examples = [name for name, share in zip(numbers, removed, strict=True) if share > FORESEEN]
    for name in examples:
        share = removed[list(numbers).index(name)]
        rule = f"column {quote(name)} knows the target of later rows: it removes {share:.1%} of what their past leaves"
        yield finding("shifted", "error", rule, fix)
    if not examples:
        yield "no column knows the target of later rows"


def _changes(values: Floats) -> Floats:
    """Changes from row to row in deviations; a missing cell repeats the one before."""
    filled = pd.DataFrame(values).ffill().bfill().fillna(0.0).to_numpy()
    changes = np.diff(filled, axis=0)
    spread = changes.std(0)
    return np.asarray((changes - changes.mean(0)) / np.where(spread > 0, spread, 1))


class _Moments:
    """Products of columns and targets, from which every fit and its error follow."""

    def __init__(self, past: Floats, following: Floats) -> None:
        self.square = past.T @ past
        self.cross = past.T @ following
        self.total = np.square(following).sum(0)

    def weights(self, columns: NDArray[np.int64], series: int) -> Floats:
        """Least squares of one target on sets of columns, `(sets, columns)`."""
        square = self.square[columns[:, :, None], columns[:, None, :]]
        square = square + 1e-8 * max(float(self.total[series]), 1e-300) * np.eye(columns.shape[1])
        return np.asarray(np.linalg.solve(square, self.cross[columns, series][:, :, None])[:, :, 0])

    def error(self, weights: Floats, columns: NDArray[np.int64], series: int) -> Floats:
        """Squared error of each set of weights."""
        square = self.square[columns[:, :, None], columns[:, None, :]]
        fitted = np.einsum("si,sij,sj->s", weights, square, weights)
        return np.asarray(self.total[series] - 2 * (weights * self.cross[columns, series]).sum(1) + fitted)


def _share_removed(learnt: _Moments, judged: _Moments, own: NDArray[np.int64], series: int) -> Floats:
    """Share of the error of own past that each other series removes; 0 for itself."""
    others = np.array([row for row in range(len(own)) if row != series], np.int64)
    alone = own[series][None]
    both = np.hstack([np.repeat(alone, len(others), 0), own[others]])
    before = judged.error(learnt.weights(alone, series), alone, series)[0]
    shares = np.zeros(len(own))
    if before > SETTLED * judged.total[series]:
        shares[others] = 1 - judged.error(learnt.weights(both, series), both, series) / before
        for other in np.flatnonzero(shares > FORESEEN).tolist():
            shares[other] *= not _is_window(learnt, judged, own[other][None], series)
    return shares


def _is_window(learnt: _Moments, judged: _Moments, columns: NDArray[np.int64], series: int) -> bool:
    """Whether a series is a weighted mean of several rows of another one's past, as a feature that looks back is.

    One row of the past alone may as well be a copy that is shifted.
    """
    weights = learnt.weights(columns, series)
    is_made = judged.error(weights, columns, series)[0] < (1 - FORESEEN) * judged.total[series]
    return bool(is_made and np.abs(weights).max() < MOSTLY_ONE * np.abs(weights).sum())


def check_interpolated(values: Floats, names: Sequence[str]) -> Verdict | None:
    """Whether a series runs in straight lines from one value to a later one, which each row between then holds."""
    drawn = [quote(name) for name, column in zip(names, values.T, strict=True) if is_interpolated(column)]
    return verdict_on(
        drawn,
        "no series is drawn in straight lines between fewer values",
        "interpolated",
        f"{len(drawn)} of {len(names)} series run in straight lines between fewer values, so "
        "that rows between know the value that comes",
        "Forecast the values that were measured.",
    )


def is_interpolated(column: Floats) -> bool:
    """Whether most rows lie on the line through their neighbours, on several lines that are not level."""
    if len(column) < FEWEST_ROWS or np.isnan(column).all():
        return False
    steps, size = np.diff(column), np.nanstd(column)
    sloped = np.abs(steps[1:]) > 1e-9 * size
    straight = (np.abs(np.diff(steps)) <= 1e-7 * size) & sloped
    turns = np.isfinite(steps[1:]) & ~straight & sloped
    if size > 0 and straight.mean() > STRAIGHT and turns.sum() >= FEWEST_LINES:
        return True
    return _has_even_lines(column, steps)


def _has_even_lines(column: Floats, steps: Floats) -> bool:
    """Whether a series, as it is rounded, turns at every so many rows alone."""
    unit = 10.0 ** -int(decimals_of(column[np.isfinite(column)]).max())
    sloped = np.abs(steps[1:]) > STEEP * unit
    bends = np.abs(np.diff(steps)) > 2.01 * unit
    turns = np.flatnonzero(bends)
    if len(turns) < FEWEST_LINES or (sloped & ~bends).mean() < EVENLY:
        return False
    length = int(np.diff(turns).min())
    return length > 1 and len(np.unique(turns % length)) == 1


def check_known_ahead(targets: Floats, names: Sequence[str], covariates: Mapping[str, Floats], season: int) -> Verdict:
    """Compare the surprises of each covariate with those of its series, at the same step and a few around it.

    A surprise is the change of a step less the change a season before: prices and plans have some, and explain part of
    those of their series. One that explains nearly all holds the target itself, its later value, or a number made of
    it. One may also be a weighted mean of several values of the target, as a centred mean is.

    Args:
        targets: `(rows, series)`.
        names: Of the series.
        covariates: `(rows, series or 1)` by name; those of few different values, such as holidays, tell no target.
        season: Steps in a season.
    """
    own, looked = _surprises(targets, season), set(evenly(len(names), MOST_PAIRED).tolist())
    places: dict[bool, list[str]] = {True: [], False: []}
    for name, rows in covariates.items():
        known, total = _surprises(rows, season), _surprises(np.cumsum(targets, axis=0), season)
        for series, label in enumerate(names):
            column, target = rows[:, min(series, rows.shape[1] - 1)], targets[:, series]
            at, strength = _strongest(own[:, series], known[:, min(series, known.shape[1] - 1)])
            if abs(strength) >= TELLING:
                away = f"{abs(at)} step{'s' * (abs(at) > 1)} {'later' if at > 0 else 'before'}"
                said = f"{name}: {abs(strength):.1%} of {label} {away if at else 'at its step'}"
                places[abs(strength) >= HOLDING].append(said)
            elif series in looked:
                places[True] += [
                    f"{name} {said} {label}" for said in _disguises(column, target, total[:, series], season)
                ]
    for series in looked if len(covariates) > 1 else ():
        columns = {name: rows[:, min(series, rows.shape[1] - 1)] for name, rows in covariates.items()}
        if (formula := formula_of(columns, targets[:, series])) is not None:
            places[True].append(f"{formula} of {list_some([*columns])} gives {names[series]}")
    rule = "covariates that are said to be known ahead {} the target beyond what its past does"
    if places[True]:
        fix = "Such values are known only after it: name them as past, or leave them out."
        return finding("known", "error", rule.format("hold"), fix, places[True])
    if places[False]:
        fix = "A good forecast may; if they are measured with the target, name them as past, or leave them out."
        return finding("known", "note", rule.format("tell much of"), fix, places[False])
    return f"no covariate that is said to be known ahead holds its target in disguise ({len(covariates)} looked at)"


def _disguises(column: Floats, target: Floats, total: Floats, season: int) -> Iterator[str]:
    """In what way a covariate is made of its target, if in any."""
    share = share_made_of(column, target)
    both = np.diff(column), np.diff(target)
    moved = np.isfinite(both).all(0) & (both[0] != 0) & (both[1] != 0)
    agree = float((np.sign(both[0]) == np.sign(both[1]))[moved].mean()) if moved.sum() >= MANY else 0.0
    summed, strength = _surprises(column[:, None], season)[:, 0], 0.0
    if len(np.unique(column[~np.isnan(column)])) >= FEWEST:
        _, strength = _strongest(total, summed, (0,))
    if share > MADE:
        yield f"has {share:.1%} that is made, at its step and after it, of"
    elif max(agree, 1 - agree if agree else 0.0) > IN_STEP:
        yield f"is a rank at the same step: in {max(agree, 1 - agree):.1%} of the steps it rises as does"
    elif abs(strength) > HOLDING:
        yield "is the running total, of this step too, of"
    elif is_total(column, target):
        yield "is the mean, total or extreme over a period, in each of its rows, of"
    elif is_cut(column, target):
        yield "is set where a threshold is passed by"


def formula_of(columns: Mapping[str, Floats], target: Floats) -> str | None:
    """What of columns gives a target: a weighted sum at its step and the next one, or a product of powers at its step.

    Stock of two mornings and what was delivered give what was sold, takings and a mean price how much.
    """
    every = np.column_stack([*columns.values()])
    both, truth = np.hstack([every[:-1], every[1:]]), target[:-1]
    kinds = {"a weighted sum": (both, truth)}
    if (every > 0).all() and np.nanmin(target) > 0:
        kinds["a product of powers"] = (np.log(every[:-1]), np.log(truth))
    for said, (design, wanted) in kinds.items():
        known = np.flatnonzero(np.isfinite(design).all(1) & np.isfinite(wanted))
        learnt, judged = known[: len(known) // 2], known[len(known) // 2 :]
        if len(learnt) > FEWEST_ROWS + design.shape[1] and r2_of_sum(design, wanted, learnt, judged) > SAME:
            return said
    return None


def share_made_of(covariate: Floats, target: Floats) -> float:
    """Share of the error of a covariate's changes, by the past of both, that the target from its step on removes.

    Squared errors of least squares, learnt on the first half of the rows and judged on the second; 0 for few rows.
    """
    lags = min(LAGS, len(target) // 20)
    change, own = (np.diff(rows[-MOST_ROWS:], axis=0) for rows in (covariate, target))
    if lags < 2 or len(np.unique(covariate[~np.isnan(covariate)])) < FEWEST:
        return 0.0
    windows = np.lib.stride_tricks.sliding_window_view
    before, after = windows(change[: -1 - lags], lags), windows(own[lags:], lags + 1)
    columns = np.column_stack([change[lags:-lags], before, windows(own[: -1 - lags], lags), after])
    columns = columns[np.isfinite(columns).all(1)]
    away = np.abs(columns[:, : 1 + lags] - np.median(columns[:, 0]))
    columns = columns[(away <= RESET * np.quantile(away[:, 0], 0.9)).all(1)]  # without the step of a new year's total
    half = len(columns) // 2
    if half < 2 * columns.shape[1]:
        return 0.0
    past, whole = (_error_after(columns[:half], columns[half:], count) for count in (2 * lags, 3 * lags + 1))
    return 1 - whole / past if past > SETTLED * np.square(columns[half:, 0]).sum() else 0.0


def _error_after(learnt: Floats, judged: Floats, count: int) -> float:
    """Squared error of the first column by so many after it."""
    weights = np.linalg.lstsq(learnt[:, 1 : count + 1], learnt[:, 0], rcond=None)[0]
    return float(np.square(judged[:, 0] - judged[:, 1 : count + 1] @ weights).sum())


def _surprises(rows: Floats, season: int) -> Floats:
    steps = np.diff(rows, axis=0)
    return steps[season:] - steps[:-season] if 1 < season < len(steps) // 2 else steps


def _strongest(own: Floats, other: Floats, shifts: Iterable[int] = SHIFTS) -> tuple[int, float]:
    """The shift of the target at which the correlation is strongest, and that correlation."""
    strongest = (0, 0.0)
    for shift in shifts:
        x, y = (other[max(0, -shift) : len(other) - max(0, shift)], own[max(0, shift) : len(own) + min(0, shift)])
        both = ~np.isnan(x) & ~np.isnan(y)
        changes = both & (x != 0) & (y != 0)
        if changes.sum() < FEWEST or len(np.unique(x[both])) < FEWEST:
            continue
        strength = float(np.corrcoef(x[both], y[both])[0, 1])
        if abs(strength) > abs(strongest[1]):
            strongest = (shift, strength)
    return strongest


def check_exact(values: Floats, names: Sequence[str]) -> Verdict | None:
    """Whether cells of a series are those of another one in later rows, or the mean or total of a period to come."""
    count = min(len(names), MOST_PAIRED)
    examples = [
        said
        for one, other in itertools.permutations(range(count), 2)
        for said in _sentences(values[:, one], values[:, other], quote(names[one]), quote(names[other]))
    ]
    if count < 2:
        return None
    sound = "no series holds later values of another, or totals of periods that they lie in"
    rule = f"{len(examples)} series hold later values of others exactly"
    return verdict_on(examples, sound, "shifted", rule, "Leave out what is made from later values.")


def _sentences(one: Floats, other: Floats, name: str, of: str) -> Iterator[str]:
    leads = {rows: _share_repeated(one, other, rows) for rows in range(1, LEADS + 1)}
    lead, (share, by_chance) = max(leads.items(), key=lambda each: each[1][0])
    if share > max(OFTEN, MORE * by_chance, MORE * _share_repeated(one, other, -lead)[0]):
        yield f"{name} holds {of} of {lead} rows later in {share:.0%} of the rows"
    if is_total(one, other):
        yield f"{name} is the mean, total or extreme of {of} over a period, in each of its rows"


def _share_repeated(one: Floats, other: Floats, lead: int) -> tuple[float, float]:
    """Share of rows whose value is another's so many rows later, and that row's alone; and the share by chance."""
    later = pd.Series(other).shift(-lead)
    fresh = (later != other) & (later.diff() != 0)
    often = later.map(pd.Series(one).value_counts(normalize=True)).fillna(0.0)
    return float(((later == one) & fresh).mean()), float((often * fresh).mean())


def is_total(one: Floats, other: Floats) -> bool:
    """Whether a series that is constant over periods is the mean or an extreme of another over the same periods."""
    if not np.isfinite(one).all():
        return False
    period = np.concatenate([[0], (one[1:] != one[:-1]).cumsum()])
    count = int(period[-1]) + 1
    if count < FEWEST_PERIODS or len(one) / count < SHORTEST:
        return False
    rows = pd.DataFrame({"one": one, "other": other}).groupby(period)
    size, known, values = rows.size(), rows["other"].count(), rows["one"].first()
    whole = ((size == size.median()) & (known == size)).to_numpy()
    if whole.sum() < FEWEST_PERIODS or values[whole].std() == 0:
        return False
    made = (rows["other"].agg(way)[whole] for way in ("mean", "max", "min"))
    return any(each.std() > 0 and abs(values[whole].corr(each)) > SAME for each in made)
