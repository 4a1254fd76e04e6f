"""Models of single series whose state follows from the one before it and a value: run once over all rows of a panel."""

import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.lazy import load_extra
from multiway.models.series_units import ROUNDED, Units
from multiway.models.windows import History, fill_gaps

Values = NDArray[np.float64]
State = tuple[Tensor, ...]
"""Tensors whose last axis are the series."""
Forms = dict[int, dict[str, Any]]
"""What a search chose for a series, by its position: arguments with which the library refits the same."""
Model = dict[str, Any]
"""As statsforecast has it after a fit."""
NUMBERS = 9
"""That say what a form is, at most."""
RECENT = 30
"""Errors at least, the last ones, that say how far the next one goes; those of two seasons where these are more."""
NEVER = torch.iinfo(torch.int64).min
"""Number on the calendar of the last row of a series that was not fitted."""


class SeriesRows(NamedTuple):
    """A series in the units of the file, from its first value to its last one; gaps hold the value before them.

    end: Number of its last row on the calendar.
    """

    values: Values
    end: int


class Recursion(nn.Module, ABC):
    r"""A model of each series with a state, $x_t = f(x_{t-1}, y_t)$, whose forecast is a function of the state alone.

    A fit leaves the state after its last row. It is run on from there over the rows that came later, so a window is
    forecast from all rows before its future. Rows before those of the fit begin with their first value.

    end: The last row of the fit of each series, on the calendar; last: its value.
    form: What was chosen for each series, as numbers, `(series, NUMBERS)`; -1 where there is no model.
    error: The deviation of the last errors of one step, in the units of the file, `(series,)`: the root of their mean
        square, times that of values over values less parameters.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.

    Cost:
        One step for every row after the fit, whatever the number of windows.
    """

    takes_history = True
    parts: ClassVar[tuple[str, ...]]
    """Buffers that hold the state after the last row of the fit."""

    def __init__(self, horizon: int, season: int, units: Units) -> None:
        super().__init__()
        self.horizon, self.season, self.units = horizon, season, units
        self.form = nn.Buffer(torch.full((len(units.mean), NUMBERS), -1))
        self.end = nn.Buffer(torch.full((len(units.mean),), NEVER))
        self.last = nn.Buffer(torch.zeros(len(units.mean), dtype=torch.float64))
        self.error = nn.Buffer(torch.zeros(len(units.mean), dtype=torch.float64))

    @abstractmethod
    def begin(self, value: Tensor, shift: Tensor) -> State:
        """The state before a first value `(series,)`, so many steps after the fit, in whole seasons less."""

    @abstractmethod
    def after(self, state: State, value: Tensor) -> State:
        """The state after one more value, `(series,)`."""

    @abstractmethod
    def ahead(self, state: State) -> Tensor:
        """Forecast from states `(batch, ..., series)` in the units of the file, `(batch, horizon, series)`."""

    def forward(self, past: Tensor, history: History | None = None) -> Tensor:
        """Forecast, in scaled units; windows without a history end where the fit does."""
        if history is not None:
            first, states = self._run(history)
            return self.units.back(self.ahead(tuple(each[history.ends - first] for each in states)))
        end = self.end.max() if bool((self.end > NEVER).any()) else self.end.new_zeros(())
        steps, ends = end + torch.arange(1 - past.shape[1], 1), torch.tensor([past.shape[1]])
        return torch.cat([self(window, History(window, None, steps, ends)) for window in past])

    def _run(self, history: History) -> tuple[int, list[Tensor]]:
        """States before each row from some row on, which is the first of those; and after the last one."""
        filled = history.rows if history.observed is None else _without_gaps(history.rows, history.observed)
        places = self._places(history, filled)
        earliest = int(places.min())  # before any row where a series has no place
        first = earliest if 0 <= earliest <= int(history.ends.min()) else 0
        known = _RUNS.get(self)
        if known is not None and _are_one(known[0], history.rows) and known[1] <= first:
            return known[1:]
        values = self.units.raw(filled[first:])
        starts = torch.zeros_like(places) if history.observed is None else history.observed.int().argmax(0)
        stops, starts = {*(places - first).tolist()}, (starts - first).clamp_min(0)
        begins = {*starts.tolist()}
        states = [self.begin(values[0], history.clock[first] - 1 - self.end) if len(values) else self.after_fit()]
        for step, value in enumerate(values):
            state = states.pop()
            if step and step in begins:
                started = self.begin(value, history.clock[first + step] - 1 - self.end)
                state = _where(starts == step, started, state)
            if step in stops:
                state = _where(places - first == step, self.after_fit(), state)
            states += [state, self.after(state, value)]
        if len(values) in stops:
            states.append(_where(places - first == len(values), self.after_fit(), states.pop()))
        found = [torch.stack(each) for each in zip(*states, strict=True)]
        _RUNS[self] = history.rows, first, found
        return first, found

    def after_fit(self) -> State:
        """After the last row of the fit."""
        return tuple(getattr(self, name) for name in self.parts)

    def _places(self, history: History, filled: Tensor) -> Tensor:
        """The row after the last of the fit, `(series,)`; -1 where it is not there, or holds another value."""
        place = torch.searchsorted(history.clock, self.end).clamp_max(len(filled) - 1)
        value = self.units.raw(filled.gather(0, place[None]))[0]
        is_same = (history.clock[place] == self.end) & ((value - self.last).abs() <= ROUNDED * self.units.std)
        return torch.where(is_same, place + 1, -1)

    @torch.no_grad()
    def spread(self) -> Tensor:
        r"""Standard deviations of the errors of a forecast after the fit, `(horizon, series)` in scaled units.

        $$\sigma_h^2 = \sigma^2 + \sum_{j=1}^{h-1} \left(\hat y_{j}(y + \sigma) - \hat y_{j}(y)\right)^2$$

        An error of one step moves all forecasts after it, by what the model makes of it (Hyndman, Koehler, Ord and
        Snyder 2008, ch. 6, of models that add; of others to first order).
        """
        state = self.after_fit()
        first = self.ahead(tuple(each[None] for each in state))[0, 0]
        moved, usual = (
            self.ahead(tuple(each[None] for each in self.after(state, first + shock)))[0, :-1]
            for shock in (self.error, 0.0)
        )
        squares = torch.cat([self.error[None].square(), (moved - usual).square()])
        return squares.cumsum(0).sqrt().nan_to_num(0.0, 0.0) / self.units.std

    def fit_series(self, training: Iterable[SeriesRows], forms: Forms | None = None, searches: int = 1) -> None:
        """Fit each series in the form that is given, where it still serves, or in one that is chosen.

        A form is searched among all for so many series, evenly spread; the others have the best of those found there.
        """
        every, known = [values for values, _ in self._ends(training)], dict[int, dict[str, Any]]()
        for series, form in (forms or {}).items():
            if (still := self.still(form, every[series])) is not None:
                known[series] = still
        searched = [series for series in spread(len(every), searches) if series not in known]
        for series in [*searched, *(series for series in range(len(every)) if series not in searched)]:
            own = [known[series]] if series in known else [] if series in searched else distinct(self.forms)
            fits = [self.fit_form(every[series], form) for form in own]
            found = [fit for fit in fits if fit is not None]
            if not found:
                found = [fit for fit in [self.search(every[series])] if fit is not None]
            if found:
                best = min(found, key=self.loss)
                numbers = self.numbers(best)
                self.form[series, : len(numbers)] = torch.tensor(numbers)
                self.keep(series, best)
                errors, fitted = self.errors(best), self.count_fitted(best)
                last = np.square(errors[-max(RECENT, 2 * self.season) :]).mean()
                self.error[series] = float(np.sqrt(last * len(errors) / max(len(errors) - fitted, 1)))
            elif len(every[series]):
                self.start_at(series, every[series])
        _RUNS.pop(self, None)

    def _ends(self, training: Iterable[SeriesRows]) -> Iterator[SeriesRows]:
        """The same series, the last rows of which are noted."""
        for series, each in enumerate(training):
            if len(each.values):
                self.end[series], self.last[series] = each.end, each.values[-1]
            yield each

    @property
    def forms(self) -> Forms:
        """What was chosen for each series that has a model."""
        return {series: self.read(row) for series, row in enumerate(self.form.tolist()) if row[0] >= 0}

    @abstractmethod
    def read(self, numbers: list[int]) -> dict[str, Any]:
        """The form that some numbers mean."""

    @abstractmethod
    def numbers(self, model: Model) -> list[int]:
        """The form of a model of the library."""

    @abstractmethod
    def still(self, form: dict[str, Any], values: Values) -> dict[str, Any] | None:
        """A form as it serves for other values of its series; None where another has to be searched."""

    @abstractmethod
    def search(self, values: Values) -> Model | None:
        """The model of the best form; None where there is none."""

    @abstractmethod
    def fit_form(self, values: Values, form: dict[str, Any]) -> Model | None:
        """The model of one form; None where it cannot be fitted."""

    @abstractmethod
    def loss(self, model: Model) -> float:
        """What the best form of a series has least of."""

    def errors(self, model: Model) -> Values:
        """Of one step, in the units of the file."""
        return np.asarray(model["residuals"])

    @abstractmethod
    def count_fitted(self, model: Model) -> int:
        """How many numbers were fitted."""

    @abstractmethod
    def keep(self, series: int, model: Model) -> None:
        """Take over a model of the library."""

    @abstractmethod
    def start_at(self, series: int, values: Values) -> None:
        """Take what forecasts a series that no model is found for."""


def load_statsforecast() -> Any:
    """The models of statsforecast."""
    return load_extra("statsforecast.models", "the baseline arima", "arima")


def fit_by_library(name: str, values: Values, **form: Any) -> Model | None:
    """A model of statsforecast; None where it cannot be fitted.

    Raises:
        ConfigError: statsforecast is not installed.
    """
    model = getattr(load_statsforecast(), name)(**form)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            fitted: Model = model.fit(np.ascontiguousarray(values)).model_
        except Exception:  # whatever a search within the library meets: the series keeps its start
            return None
    return fitted


def season_in(values: Values, season: int) -> int:
    """The season of a fit on some values: 1 where they hold less than two and a few."""
    return season if len(values) > 2 * season + 5 else 1


def spread(count: int, most: int) -> list[int]:
    """At most so many of the first whole numbers, evenly spread."""
    return sorted({round(place) for place in np.linspace(0, count - 1, min(count, most))})


def distinct(forms: Forms) -> list[dict[str, Any]]:
    """Forms that differ, in the order in which they were found."""
    return [form for place, form in enumerate(forms.values()) if form not in list(forms.values())[:place]]


_RUNS = weakref.WeakKeyDictionary[Recursion, tuple[Tensor, int, list[Tensor]]]()
"""The states of each model over the rows that it was last asked for, which batch after batch has in common."""


def _are_one(rows: Tensor, other: Tensor) -> bool:
    """Whether two tensors are the same cells of memory; the first is alive, so none of them was given away."""
    return rows.data_ptr() == other.data_ptr() and rows.shape == other.shape and rows.stride() == other.stride()


def _where(chosen: Tensor, one: State, other: State) -> State:
    return tuple(torch.where(chosen, *pair) for pair in zip(one, other, strict=True))


def _without_gaps(rows: Tensor, observed: Tensor) -> Tensor:
    """The value before each gap; 0 before the first one."""
    return torch.where(observed.cumsum(0) > 0, fill_gaps(rows[None], observed[None])[0], 0.0)
