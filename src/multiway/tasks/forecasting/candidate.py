"""The candidates of a forecast: what they are told of a panel, how they are built and fitted, cheapest first."""

import abc
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.findings import list_some
from multiway.errors import ConfigError, Fix
from multiway.lazy import load_extra
from multiway.models.recursions import NEVER, Recursion, SeriesRows
from multiway.models.series_units import Units
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.models.windows import History, fill_gaps
from multiway.tasks.candidate import Candidate, ModelT, discover
from multiway.tasks.declarations import Context, Fitted
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.ridge import ChosenRidge, choose_ridge, fit_under
from multiway.tasks.forecasting.windows import Windows, inputs_of
from multiway.tasks.options import AUTO

FITS, SECONDS, SEARCHES = 7, 10.0, 4.0
"""Fits of every classical model: before four stretches and validation, and for two uses; the seconds that all of them
may take, and those of searches of forms before each."""
SHORTEST = 1000
"""Training rows that a panel has more of where what needs many examples is fitted: on fewer it has not paid."""
MOST_CELLS = 20_000_000
"""Of a panel's windows, past which closed forms other than ridge are left out: they see each window by itself."""
MOST_FITTED = 50_000
"""Windows of single series that a closed form is fitted on which sees each by itself."""
MOST_WEIGHTS = 10_000_000
"""Of matrices for every series."""
Values = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """What candidates are built from."""

    lookback: int
    horizon: int
    season: int
    matrices: int
    units: Units
    known: tuple[int, ...] = ()
    """Features of each covariate that is known ahead, the calendar last."""
    seen: tuple[int, ...] = ()
    """Of each that is known up to the last value."""
    static: int = 0
    """Those of what series are, the first that are known ahead."""
    calendar: int = 0
    """Those of the calendar."""
    variates: int = 0
    """Series that are seen, those that are no targets among them."""
    config: ForecastConfig | None = None
    """Which networks are built."""
    others: tuple[str, ...] = ()
    """Models whose forecasts someone else made."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What decides which candidates a panel allows: counts of its training rows, and what stands in them."""

    rows: int
    windows: int
    series: int
    lookback: int
    horizon: int
    season: int
    known: int = 0
    """Features of what is known ahead."""
    has_clock: bool = False
    """Whether rows have numbers on a calendar."""
    explained: bool = False
    """Whether there are covariates, besides the clock."""
    issued: bool = False
    """Whether what is known of them depends on the window."""
    low: Values
    """The smallest training value of every target."""
    zeros: Values
    """The share of zeros among them."""
    network: bool = False
    """Whether a network is trained: series are then too many or too long to fit one by one."""
    is_partial: bool = False
    """Whether windows were drawn, or other processes hold some of the series."""
    others: tuple[str, ...] = ()
    """Models whose forecasts someone else made."""

    @classmethod
    def of(
        cls, training: Windows, season: int, low: Values, zeros: Values, *, network: bool = False, shared: bool = False
    ) -> Self:
        """Those of training windows of targets."""
        covariates = training.covariates
        return cls(
            rows=len(training.rows),
            windows=len(training),
            series=training.num_targets,
            lookback=training.lookback,
            horizon=training.horizon,
            season=season,
            known=0 if covariates is None else covariates.known.shape[-1],
            has_clock=covariates is not None,
            explained=training.is_explained,
            issued=covariates is not None and covariates.issued is not None,
            low=low,
            zeros=zeros,
            network=network,
            is_partial=shared or training.chosen is not None,
            others=() if training.others is None else training.others.names,
        )

    @property
    def is_long(self) -> bool:
        """Whether there are rows enough for what needs many examples."""
        return self.rows > SHORTEST

    @property
    def are_few(self) -> bool:
        """Whether windows have few enough cells for closed forms that see each by itself."""
        return self.windows * self.series * (self.lookback + self.horizon) <= MOST_CELLS


class Training(NamedTuple):
    """What a candidate needs that is trained by steps.

    windows: Of the splits, of all variates.
    mixture: All candidates of the run.
    refits: Windows of all refits of it over those of the training; 0 where there are none.
    epochs: For which a refit is trained: those that were best.
    """

    config: ForecastConfig
    context: Context
    windows: Mapping[str, Windows]
    mixture: WeighedForecasts
    refits: float = 0.0
    epochs: float = 0.0


class Rows(NamedTuple):
    """Windows to fit on.

    windows: Of the targets.
    ridge: As it was fitted on the training windows.
    whole: The same windows of all variates.
    others: Cheaper candidates, as they were fitted on these.
    training: How it is trained by steps.
    """

    windows: Windows
    ridge: ChosenRidge
    whole: Windows | None = None
    others: Mapping[str, nn.Module] = MappingProxyType({})
    training: Training | None = None


class ForecastCandidate(Candidate[Facts, Sizes, Rows, ModelT]):
    """A forecast of windows in scaled units, `(batch, lookback, series)` without gaps to `(batch, horizon, series)`.

    kind: Candidates of one kind are near copies of each other, and share the weight of one.
    effects: What says how covariates act in it; of candidates that share it the better one tells what each saves.
    is_plain: It has nothing to fit, and has weight only where it surely adds to the others.
    is_summed: Its fit is a sum over windows and series, so that some of them are enough.
    is_searched: A search chooses its form: on the rows of a use, and once for all stretches.
    is_classical: Its mean with others of its kind is hard to beat on few rows, so that it has weights in each series.
    is_stepped: It is trained by steps: on all variates, once, and in a refit only where the settings say so.
    """

    kind: ClassVar[str] = ""
    effects: ClassVar[str] = ""
    is_plain: ClassVar[bool] = False
    is_summed: ClassVar[bool] = False
    is_searched: ClassVar[bool] = False
    is_classical: ClassVar[bool] = False
    is_stepped: ClassVar[bool] = False

    def heeds(self, model: ModelT) -> bool:
        """Whether a model uses covariates."""
        return bool(self.effects)

    def notes(self, model: ModelT, names: Sequence[str]) -> Iterator[str]:
        """What a reader should know of a fitted model of these series, a line each."""
        yield from ()


AnyCandidate = ForecastCandidate[Any]
SeriesModel = TypeVar("SeriesModel", bound=nn.Module)
OfSeries = TypeVar("OfSeries", bound=Recursion)


class OneMatrix(ForecastCandidate[SeriesModel]):
    """Ridge of one matrix for all series, on windows as its model sees them."""

    @abc.abstractmethod
    def view(self, model: Any, windows: Windows) -> Windows:
        """Windows as the model sees them."""

    def fit(self, model: Any, training: Rows, validation: Rows) -> None:
        """Fit under the penalty that is best on several stretches."""
        views = [self.view(model, each.windows) for each in (training, validation)]
        chosen = choose_ridge(*views, own=False)
        model.penalty.fill_(chosen.penalty)
        model.set_weight(chosen.weight)

    def refit(self, model: Any, fitted: Any, data: Rows) -> None:
        """Fit under the penalty that it has."""
        model.penalty.copy_(fitted.penalty)
        windows = self.view(model, data.windows)
        count = data.ridge.windows + data.windows.horizon - windows.horizon
        model.set_weight(fit_under(float(model.penalty), None, windows, count))


class EachSeries(ForecastCandidate[OfSeries]):
    """A classical model of each series, which a library fits on all rows.

    pace: Seconds that a fit takes, those for each row of a series without a season and with one, and a search over a
        fit.
    most: Rows at most, the last ones, that a model is fitted on.
    start: What forecasts a series that no model is found for.
    """

    library = ("statsforecast", "arima")
    is_searched = is_classical = True
    pace: ClassVar[tuple[float, float, float, float]]
    most: ClassVar[int]
    start: ClassVar[str] = "smoothing of weight one half"

    def can_answer(self, facts: Facts) -> bool:
        """Where all fits of all series take few enough seconds."""
        return not facts.network and FITS * facts.series * self._seconds(facts.rows, facts.season) <= SECONDS

    def fit(self, model: Any, training: Rows, validation: Rows) -> None:
        """Fit each series, and choose its form."""
        self.refit(model, None, training)

    def refit(self, model: Any, fitted: Any, data: Rows) -> None:
        """Fit each series in the form that it has."""
        each = self.pace[-1] * self._seconds(len(data.windows.rows), model.season)
        forms = None if fitted is None else fitted.forms
        model.fit_series(series_in(data.windows, model.units), forms, max(1, int(SEARCHES / each)))

    def _seconds(self, rows: int, season: int) -> float:
        """Of one fit."""
        whole, each, seasonal, _ = self.pace
        return whole + min(rows, self.most) * (seasonal if season > 1 else each)

    def notes(self, model: Any, names: Sequence[str]) -> Iterator[str]:
        """Which series have no model, and what forecasts them in its place."""
        left = [each for series, each in enumerate(names) if series not in model.forms]
        if left:
            yield f"{self.name}: no model was found for {list_some(left)}; it forecasts them by {self.start}"


class Outside(nn.Module):
    """What someone else forecast from the end of a window, in scaled units; NaN where there is nothing.

    Shape:
        past `(batch, lookback, series)` in scaled units; forecast `(batch, horizon, series)`.
    """

    takes_history = may_lack = True

    def __init__(self, place: int, horizon: int, units: Units) -> None:
        super().__init__()
        self.place, self.horizon, self.units = place, horizon, units

    def forward(self, past: Tensor, history: History | None = None) -> Tensor:
        """Look it up."""
        if history is None or history.others is None:
            return past.new_full((len(past), self.horizon, past.shape[2]), torch.nan)
        found = history.others.at(history.ends, self.place)[:, : self.horizon]
        return torch.where(found.isfinite(), self.units.back(found), torch.nan)


class OfSomeoneElse(ForecastCandidate[Outside]):
    """A model that only its forecasts are known of, by the name of their column."""

    cost = 100.0

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]

    def build(self, sizes: Sizes) -> Outside:
        """Its place among the columns."""
        return Outside(sizes.others.index(self.name), sizes.horizon, sizes.units)


class Named(dict[str, AnyCandidate]):
    """Candidates by name; any other name is that of a column of someone else's forecasts."""

    def __missing__(self, name: str) -> AnyCandidate:
        return OfSomeoneElse(name)


def candidates() -> Mapping[str, AnyCandidate]:
    """All candidates by name, the cheapest first."""
    return Named(discover("multiway.tasks.forecasting.candidates", "forecast"))


def others_in(names: Iterable[str]) -> list[str]:
    """Those whose forecasts someone else made."""
    return [name for name in names if name not in candidates()]


def any_stepped(names: Iterable[str]) -> bool:
    """Whether one of these candidates is trained by steps."""
    return any(candidates()[name].is_stepped for name in names)


def choose_candidates(answer: str, facts: Facts) -> tuple[str, ...]:
    """Candidates that are fitted: all that a panel allows; or what a config names, with ridge and the network."""
    allowed = names_allowed(facts)
    if answer not in (AUTO, *allowed):
        needed = candidates()[answer].library
        if needed is not None:
            load_extra(needed[0], f"the forecast of {answer}", needed[1])
        raise ConfigError(
            f"answer: rows, season and look-back allow {', '.join(allowed)}. Got {answer}. Choose one, or auto (",
            Fix("answer", AUTO),
            ").",
        )
    always = {name for name, each in candidates().items() if name == "ridge" or each.is_plain or each.is_stepped}
    own = tuple(name for name in allowed if answer in (AUTO, name) or name in always)
    return (*own, *(facts.others if answer == AUTO else ()))


def names_allowed(facts: Facts) -> tuple[str, ...]:
    """Candidates that a panel allows, in the order of their cost."""
    return tuple(
        name
        for name, each in candidates().items()
        if each.can_answer(facts) and (each.is_summed or not facts.is_partial) and each.is_installed()
    )


def fit_candidates(model: WeighedForecasts, training: Rows, validation: Rows) -> Fitted:
    """Fit the candidates in the order of their cost; the history of those that are trained by steps."""
    fitted: Fitted = None
    for name, each in model.every.items():
        fitted = candidates()[name].fit(each, training, validation) or fitted
    return fitted


def refit_candidates(
    sizes: Sizes, names: Iterable[str], models: Mapping[str, nn.Module], data: Rows
) -> dict[str, nn.Module]:
    """Candidates fitted on other windows, in the form and under the penalties of those that are there."""
    every, fitted = candidates(), dict[str, nn.Module]()
    for name in names:
        fitted[name] = every[name].build(sizes)
        every[name].refit(fitted[name], models.get(name), data._replace(others=fitted))
    return fitted


@torch.no_grad()
def error_of(model: nn.Module, windows: Windows) -> float:
    """Mean square over the cells that were observed, in scaled units."""
    total, count = 0.0, 0
    for batch in windows.batches():
        past, observed, *covariates = inputs_of(batch)
        given = covariates if getattr(model, "takes_covariates", False) else ()
        missed = batch["future"] - model(past if observed is None else fill_gaps(past, observed), *given)
        keep = batch.get("future_observed", torch.ones_like(missed, dtype=torch.bool))
        total, count = total + float(missed[keep].double().square().sum()), count + int(keep.sum())
    return total / max(count, 1)


def pasts_and_futures(batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Pasts without gaps, and futures with NaN where nothing was observed."""
    past, seen = batch["past"], batch.get("past_observed")
    future, known = batch["future"], batch.get("future_observed")
    filled = past if seen is None else fill_gaps(past, seen)
    return filled, future if known is None else torch.where(known, future, torch.nan)


def sample_windows(windows: Windows) -> Tensor:
    """Every k-th window, so that those of single series are not too many."""
    return torch.arange(0, len(windows), max(len(windows) * windows.num_targets // MOST_FITTED, 1))


def rows_with_gaps(windows: Windows) -> Tensor:
    """Rows of windows with NaN where nothing was observed."""
    return windows.rows if windows.observed is None else torch.where(windows.observed, windows.rows, torch.nan)


def series_in(windows: Windows, units: Units) -> Iterator[SeriesRows]:
    """Every series in the rows of windows, in the units of the file."""
    clock = torch.arange(len(windows.rows)) if windows.covariates is None else windows.covariates.clock
    observed = torch.ones_like(windows.rows, dtype=torch.bool) if windows.observed is None else windows.observed
    values = units.into(fill_gaps(windows.rows[None], observed[None]))[0].T.numpy()
    for series, there in zip(values, observed.T, strict=True):
        rows = there.nonzero().flatten()
        own = slice(int(rows[0]), int(rows[-1]) + 1) if len(rows) else slice(0)
        yield SeriesRows(series[own], int(clock[own][-1]) if len(rows) else NEVER)
