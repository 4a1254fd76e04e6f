"""Covariates of a panel: what is known ahead, what is known up to the last value, what a series is; and as numbers."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from multiway.config import Config
from multiway.data.findings import Findings, list_some
from multiway.data.matching import Far, far_columns
from multiway.data.scaling import Floats, Scaler
from multiway.data.sources.cells import TRUTHS, with_truths
from multiway.data.sources.columns import RawTable
from multiway.data.sources.values import parse_numbers
from multiway.errors import Fix, Message
from multiway.tasks.forecasting.calendar import NONE, calendar_features, clock_of, holiday_features, holiday_names
from multiway.tasks.forecasting.config import Role, Roles

if TYPE_CHECKING:  # a check of columns does without torch
    from torch import Tensor

    from multiway.models.regression import Issued, Regressors

AHEAD = re.compile(
    r"holiday|promo|event|price|discount|campaign|weekend|open|closed|school|forecast|plan", re.IGNORECASE
)
"""Names that columns have which are known ahead."""
FIRST_ROWS = 1000
"""Rows that show of most columns that they change within a series, at little cost."""
MOST_WORDS = 60
"""Different words of a covariate at most: each has a coefficient of its own."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Vintages:
    """Values of covariates as they were issued, in the order of row, series, and when each was known.

    row, series: `(vintages,)`, the cell that each is for.
    since: `(vintages,)`, the first row that is not before its issue: a forecast from after it, or later, knows it.
    values: `(vintages, columns)`, NaN where nothing had been issued of a column by then.
    """

    row: NDArray[np.int64]
    series: NDArray[np.int64]
    since: NDArray[np.int64]
    values: NDArray[np.float64]

    def take(self, kept: NDArray[np.bool_] | NDArray[np.intp], start: int = 0) -> Self:
        """Some of them, by rows that are counted from another one on."""
        since = np.maximum(self.since[kept] - start, 0)
        values = self.values[kept]
        return type(self)(row=self.row[kept] - start, series=self.series[kept], since=since, values=values)

    def fill(self) -> Self:
        """The last of each cell and row of issue, with what an earlier one says where it says nothing."""
        cell = np.column_stack([self.row, self.series])
        begins = np.append(True, (cell[1:] != cell[:-1]).any(1))[: len(cell)]
        ends = np.append(begins[1:] | (np.diff(self.since) > 0), True)[: len(cell)]
        values = pd.DataFrame(self.values).groupby(begins.cumsum()).ffill().to_numpy()
        return dataclasses.replace(self, values=values).take(ends)

    def at(self, cutoffs: NDArray[np.int64], series: int) -> NDArray[np.float64]:
        """The last values of every row that were known at a row of its own, `(rows, series, columns)`; NaN if none."""
        values = np.full((len(cutoffs), series, self.values.shape[1]), np.nan)
        own = self.take(self.row < len(cutoffs))
        known = own.since <= cutoffs[own.row]
        values[own.row[known], own.series[known]] = own.values[known]  # of several the last one stays
        return values


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Covariates:
    """Columns of a panel other than its values.

    values: `(rows + ahead, series or 1, columns)`, NaN where missing; words as their positions in `words`. Rows after
        those of the panel are known ahead. What was issued several times is as it was known at each row itself, and
        ahead at the last.
    names: Of the columns.
    roles: Of each.
    words: Levels of the columns that hold words.
    vintages: Of all columns that change; None where each row says once what it is.
    """

    values: NDArray[np.float64]
    names: tuple[str, ...]
    roles: tuple[Role, ...]
    words: Mapping[str, tuple[str, ...]]
    vintages: Vintages | None = None

    def of(self, order: Sequence[int]) -> Self:
        """Those of some series, in this order; -1 for one that is not there."""
        if self.values.shape[1] == 1:
            return self
        values, places, vintages = self.values[:, order], np.full(self.values.shape[1], -1), self.vintages
        values[:, np.asarray(order) < 0] = np.nan
        if vintages is not None:
            there = np.flatnonzero(np.asarray(order) >= 0)
            places[np.asarray(order)[there]] = there
            moved = dataclasses.replace(vintages, series=places[vintages.series])
            sorting = np.lexsort((moved.since, moved.series, moved.row))  # stable: of one row the last issue stays last
            vintages = moved.take(sorting[moved.series[sorting] >= 0])
        return dataclasses.replace(self, values=values, vintages=vintages)

    def at(self, row: int | NDArray[np.int64]) -> NDArray[np.float64]:
        """Values as they were known at a row, or each at one of its own."""
        if self.vintages is None:
            return self.values
        count, series = self.values.shape[:2]
        fixed = np.array([role == "static" for role in self.roles])
        return np.where(fixed, self.values, self.vintages.at(np.broadcast_to(row, count), series))

    def columns_of(self, role: Role) -> tuple[str, ...]:
        """Columns of a role."""
        return tuple(name for name, own in zip(self.names, self.roles, strict=True) if own == role)

    def since(self, start: int) -> Self:
        """Rows from one on."""
        vintages = None if self.vintages is None else self.vintages.take(self.vintages.row >= start, start)
        return dataclasses.replace(self, values=self.values[start:], vintages=vintages)

    def first_known(self, name: str, rows: int) -> NDArray[np.int64]:
        """The row from which on something is known of each of the first rows, `(rows, series)`; `rows` where none is.

        Where each row says once what it is, all is known from the first row on.
        """
        known = np.zeros((rows, self.values.shape[1]), np.int64)
        if self.vintages is not None:
            there = ~np.isnan(self.vintages.values[:, self.names.index(name)]) & (self.vintages.row < rows)
            own = self.vintages.take(there)
            known[:] = rows
            np.minimum.at(known, (own.row, own.series), own.since)
        return known

    def ahead(self, row: int, horizon: int) -> Self:
        """Rows from one on that a forecast from before it knows; what it does not know is missing."""
        values = np.full((horizon, *self.values.shape[1:]), np.nan)
        there = self.at(row - 1)[row : row + horizon]
        values[: len(there)] = there
        return dataclasses.replace(self, values=values, vintages=None)

    def append(self, plan: Self, row: int) -> Self:
        """Rows before one, and those of a plan after them, which is known from the first row on."""
        words, ahead = dict(self.words), np.full((len(plan.values), *self.values.shape[1:]), np.nan)
        for place, name in enumerate(plan.names):
            codes = plan.values[..., place]
            if name in plan.words:
                words[name] = tuple(dict.fromkeys((*self.words.get(name, ()), *plan.words[name])))
                positions = np.array([*map(words[name].index, plan.words[name]), np.nan])
                codes = positions[np.where(np.isnan(codes), -1, codes).astype(int)]
            ahead[..., self.names.index(name)] = codes
        values, vintages = np.concatenate([self.values[:row], ahead]), self.vintages
        if vintages is not None:
            step, series = np.nonzero(~np.isnan(ahead).all(-1))
            before = vintages.take(vintages.row < row)
            added = {"row": row + step, "series": series, "since": np.zeros_like(step), "values": ahead[step, series]}
            vintages = Vintages(**{name: np.concatenate([getattr(before, name), added[name]]) for name in added})
        return dataclasses.replace(self, values=values, words=words, vintages=vintages)


def read_covariates(table: RawTable, roles: Roles, origin: NDArray[np.int64], findings: Findings) -> Covariates | None:
    """Cells of the columns at the rows of a table that panel cells come from; -1 where there is none."""
    if roles.is_empty:
        return None
    if not roles.columns:
        return Covariates(values=np.empty((len(origin), 1, 0)), names=(), roles=(), words={})
    read = [_column(table, name, roles.words, findings) for name in roles.columns]
    cells = np.column_stack([np.append(values, np.nan) for values, _ in read])
    return Covariates(
        values=cells[origin],
        names=roles.columns,
        roles=tuple(map(roles.of, roles.columns)),
        words={name: levels for name, (_, levels) in zip(roles.columns, read, strict=True) if levels},
    )


def _column(
    table: RawTable, name: str, worded: Sequence[str] | None, findings: Findings
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Numbers, truth values as 0 and 1, or positions of words among their levels."""
    column = table.columns[name]
    if pd.api.types.is_bool_dtype(column.cells):
        return np.asarray(column.cells.to_numpy(np.float64, na_value=np.nan), np.float64), ()
    is_word = name in worded if worded is not None else not column.holds_numbers
    if not is_word and (column.is_numeric or not set(with_truths(column.words)) <= {*TRUTHS.values(), ""}):
        return parse_numbers(table, [name], findings)[:, 0], ()
    text = with_truths(column.words)
    levels = tuple(sorted(set(text) - {""}))
    if not is_word or (worded is None and set(levels) <= set(TRUTHS.values())):
        return np.asarray(text.map({"True": 1.0, "False": 0.0}), np.float64), ()
    if len(levels) > MOST_WORDS:
        rule = f"the covariate '{name}' holds {len(levels)} different words, {MOST_WORDS} at most"
        raise findings.fatal("covariates", rule, "Leave it out, or join words that mean the same.")
    codes = pd.Categorical(text, categories=list(levels)).codes.astype(np.float64)
    return np.where(codes < 0, np.nan, codes), levels


def propose_roles(table: RawTable, names: Sequence[str], ids: Sequence[str]) -> Message:
    """How columns that are left out could be named: what one series says once is static, what is planned is known."""
    fixes: dict[Role, list[str]] = {"future": [], "past": [], "static": []}
    frame = table.frame
    for name in names:
        parts = (rows.groupby(list(ids), sort=False)[name] for rows in (frame.head(FIRST_ROWS), frame) if ids)
        if ids and all(int(part.nunique(dropna=False).max()) == 1 for part in parts):
            fixes["static"].append(name)
        else:
            fixes["future" if AHEAD.search(name) or table.columns[name].is_truth else "past"].append(name)
    roles = [part for role, some in fixes.items() if some for part in (Fix(role, like=",".join(some)), " ")]
    return ("If they explain the values, name them (", *roles[:-1], ").")


class LearntCovariates(Config):
    """What training learnt of covariates: enough to read later ones as numbers of the same meaning."""

    roles: Roles
    words: dict[str, tuple[str, ...]]
    """Levels of the training rows, in the order of their features."""
    mean: Floats
    """Of every column; 0 for words and for what is 0 or 1."""
    std: Floats
    static: Floats
    """`(series, static columns)`, numbers, and positions in `words`; -1 for a word that the training rows lack."""
    frequency: str | None = None
    days: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Names of the public holidays among the training rows, by country."""
    calendar: int = 0
    """Features of the calendar."""
    season: int = 1
    """Steps after which a row stands in for one of which nothing had been issued."""

    @classmethod
    def of(cls, covariates: Covariates, roles: Roles, times: pd.Index, frequency: str | None, season: int) -> Self:
        """Learn from the training rows, which are the first, at these times."""
        training = covariates.at(len(times) - 1)[: len(times)]
        levels = {
            name: tuple(words[int(code)] for code in _present(training[..., place]))
            for place, name in enumerate(covariates.names)
            if (words := covariates.words.get(name))
        }
        scales = [_scale(training[..., place], name in levels) for place, name in enumerate(covariates.names)]
        mean, std = np.array(scales).reshape(-1, 2).T
        learnt = cls(
            roles=roles.replace(words=tuple(levels)),
            words=levels,
            mean=mean,
            std=std,
            static=np.empty((0, 0)),
            days={name: tuple(sorted({*holiday_names(name, times)} - {NONE})) for name in roles.holidays},
            frequency=frequency,
            calendar=calendar_features(times, frequency).shape[1] if roles.calendar else 0,
            season=season,
        )
        static = [place for place, role in enumerate(covariates.roles) if role == "static"]
        if not static:
            return learnt.replace(static=np.empty((training.shape[1], 0)))
        same = _recode(covariates.values, covariates, levels)[..., static]
        first = np.argmax(~np.isnan(same), axis=0)  # the first value of every series, 0 where there is none
        return learnt.replace(static=np.nan_to_num(np.take_along_axis(same, first[None], axis=0)[0], nan=0.0))

    @property
    def known(self) -> dict[str, int]:
        """Features of all that is known ahead: what series are, columns, holidays of countries, the calendar."""
        columns = {name: len(self.words.get(name, ("",))) for name in (*self.roles.static, *self.roles.future)}
        days = {f"holidays of {name}": 1 + len(levels) for name, levels in self.days.items()}
        return {**columns, **days, **({"calendar": self.calendar} if self.calendar else {})}

    @property
    def num_static(self) -> int:
        """Features of what series are, the first of those that are known ahead."""
        return sum(self.known[name] for name in self.roles.static)

    @property
    def seen(self) -> dict[str, int]:
        """Features of what is known up to the last value."""
        return {name: len(self.words.get(name, ("",))) for name in self.roles.past}

    def encode(self, covariates: Covariates, times: pd.Index) -> "Regressors":
        """Features of every row in float32, scaled by the training rows; 0 where missing, and where a word is new.

        times: Of the rows; rows after them are left out.
        """
        import torch

        from multiway.models.regression import Regressors

        values = _recode(covariates.values[: len(times)], covariates, self.words)
        own = {name: values[..., place] for place, name in enumerate(covariates.names)}
        known: list[NDArray[np.float32]] = []
        seen = [self._encode(name, own[name]) for name in self.roles.past if name in own]
        rows, series = values.shape[:2]
        for place, name in enumerate(self.roles.static):
            column = np.broadcast_to(self.static[:, place], (rows, len(self.static)))
            known.append(self._encode(name, column))
        known += [self._encode(name, own[name]) for name in self.roles.future]
        days = [holiday_features(holiday_names(name, times), levels) for name, levels in self.days.items()]
        known += [each[:, None] for each in days]
        if self.calendar:
            known.append(calendar_features(times, self.frequency)[:, None])
        ahead, before = (_join(each, (rows, series)) for each in (known, seen))
        clock, issued = torch.from_numpy(clock_of(times, self.frequency)), self._encode_vintages(covariates, rows)
        return Regressors(ahead, before, clock, issued=issued)

    def _encode_vintages(self, covariates: Covariates, rows: int) -> "Issued | None":
        """Features of what was issued for some rows, NaN where nothing had been."""
        import torch

        from multiway.models.regression import Issued

        if (vintages := covariates.vintages) is None:
            return None
        values, series, span = _recode(vintages.values, covariates, self.words), covariates.values.shape[1], rows + 1
        columns = {
            name: self._encode(name, values[:, place], np.nan)
            for place, name in enumerate(covariates.names)
            if name not in self.roles.static
        }
        ahead, seen = (
            torch.from_numpy(np.concatenate([np.empty((len(values), 0), np.float32), *map(columns.get, names)], axis=1))
            for names in (self.roles.future, [name for name in self.roles.past if name in columns])
        )
        keys = (vintages.row * series + vintages.series) * span + np.minimum(vintages.since, rows)
        return Issued(torch.from_numpy(keys), ahead, seen, self.num_static, range(series), span, self.season)

    def far(self, covariates: Covariates, word: str) -> list[Far]:
        """Columns of numbers that lie far from the training rows; `word` is what the rows are called."""
        numbers = [place for place, name in enumerate(covariates.names) if name not in self.words]
        names = [covariates.names[place] for place in numbers]
        own = np.array([self.roles.columns.index(name) for name in names], int)
        never = np.flatnonzero((self.std[own] == 1.0) & (self.mean[own] != 0.0))  # constant: they explain nothing
        values = covariates.values[..., numbers]
        rows = values.reshape(values.shape[0] * values.shape[1], len(numbers))
        return far_columns(rows, names, Scaler(self.mean[own], self.std[own], tuple(never.tolist())), word)

    def _encode(self, name: str, column: NDArray[np.float64], missing: float = 0.0) -> NDArray[np.float32]:
        """`(…, features)` of a column `(…)`; a number where it is missing."""
        if name in self.words:
            levels = np.arange(len(self.words[name]))
            return np.where(np.isnan(column)[..., None], missing, column[..., None] == levels).astype(np.float32)
        place = self.roles.columns.index(name)
        scaled = (column - self.mean[place]) / self.std[place]
        return np.asarray(np.nan_to_num(scaled, nan=missing)[..., None], np.float32)


def _join(parts: Sequence[NDArray[np.float32]], shape: tuple[int, int]) -> "Tensor":
    """Features side by side, those that are common to all series and those that are not."""
    import torch

    series = max([part.shape[1] for part in parts], default=1)
    wide = [np.broadcast_to(part, (shape[0], series, part.shape[2])) for part in parts]
    features = np.concatenate([np.empty((shape[0], series, 0), np.float32), *wide], axis=2)
    return torch.from_numpy(np.ascontiguousarray(features))


def _present(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.unique(codes[~np.isnan(codes)])


def _recode(
    values: NDArray[np.float64], covariates: Covariates, levels: Mapping[str, tuple[str, ...]]
) -> NDArray[np.float64]:
    """Values `(…, columns)` whose words are positions among the levels of the training; -1 for a word that is new."""
    values = values.copy()
    for place, name in enumerate(covariates.names):
        if name in levels:
            known = {word: code for code, word in enumerate(levels[name])}
            codes = np.array([*(known.get(word, -1) for word in covariates.words.get(name, ())), np.nan])
            column = values[..., place]
            values[..., place] = codes[np.where(np.isnan(column), -1, column).astype(int)]
    return values


def _scale(column: NDArray[np.float64], is_word: bool) -> tuple[float, float]:
    """Mean and deviation; 0 and 1 for words, for what is 0 or 1, and where nothing is there."""
    present = column[~np.isnan(column)]
    if is_word or not len(present) or bool(np.isin(present, (0.0, 1.0)).all()):
        return 0.0, 1.0
    deviation = float(present.std())
    return float(present.mean()), deviation if deviation > 0 else 1.0


def new_words(covariates: Covariates, learnt: LearntCovariates) -> list[str]:
    """One line for each column with words that the training rows lack."""
    own = {name: covariates.values[..., place] for place, name in enumerate(covariates.names)}
    there = {name: [words[int(code)] for code in _present(own[name])] for name, words in covariates.words.items()}
    return [
        f"{list_some(new)} of '{name}' {'is' if len(new) == 1 else 'are'} new to the run and "
        f"{'counts' if len(new) == 1 else 'count'} as none"
        for name, levels in learnt.words.items()
        if (new := sorted(set(there.get(name, ())) - set(levels)))
    ]
