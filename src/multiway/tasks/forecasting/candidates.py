"""Candidates other than the network: which a panel allows, how they are built and fitted, cheapest first."""

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.findings import listed
from multiway.errors import ConfigError, Fix
from multiway.lazy import is_installed, load_extra
from multiway.models.aligned import DRIFTS, EXAMPLES, LATEST, PENALTIES, AlignedSeasons, DrawnIn, RobustRidge
from multiway.models.arima_forecaster import ArimaForecaster
from multiway.models.autoregression import Autoregression
from multiway.models.flair import Flair, Moments
from multiway.models.lagged_trees import EXAMPLES as STEPS_OF_TREES
from multiway.models.lagged_trees import LaggedTrees
from multiway.models.regression import Regression, Regressors
from multiway.models.series_units import Units
from multiway.models.smoothing import Intermittent, Smoothing, Theta
from multiway.models.transformed_ridge import TransformedRidge
from multiway.models.weighed_forecasts import naive_names
from multiway.models.windows import LinearFloor, fill_gaps
from multiway.tasks.forecasting.floor import Floor, fit_floor, fit_under, refit_floor
from multiway.tasks.forecasting.regression import fit_regression, refit_regression
from multiway.tasks.forecasting.windows import Windows, covariates_of, inputs_of

REGRESSIONS = ("regression", "regression_log")
CLOSED = (*REGRESSIONS, "ridge_log", "ridge_root", "flair", "intermittent")
ROBUST, ALIGNED = "robust", "aligned"
"""On values whose tails are drawn in, which trees and classical models have nothing of."""
SEASONS = 100
"""Training windows of every phase from which on its own process is fitted."""
MOST_WORK = 2e11
"""Multiplications of all their factors, some ten seconds."""
TREES = "trees"
"""Of scikit-learn, where it is installed."""
STEP = "autoregression"
CLASSICAL = ("theta", "ets", "arima")
"""Of statsforecast, where it is installed."""
SERIES = {STEP: 50, "theta": 50, "ets": 30, "arima": 2}
"""Series at most that each is fitted on: its part of the seconds that a small file takes."""
LONGEST = 1000
"""Training rows at most of a panel that has these candidates."""
SHORTEST = 1000
"""Training rows that a panel with trees has more of: on fewer they have not paid."""
MOST_CELLS = 20_000_000
"""Of a panel's windows, past which closed forms other than ridge are left out: they see each window by itself."""
MOST_STEPS = 200_000
"""Steps of all training windows and series up to which trees are fitted: each is a walk through all of them."""
RECENT = 14
"""Last steps at most at which covariates of the past act."""
MOST_WEIGHTS = 10_000_000
"""Of a closed form with matrices for every series."""
FITTED = 50_000
"""Windows of single series that FLAIR and intermittent series are fitted on."""
MOSTLY = 0.5
"""Share of zeros among the training values of an intermittent series."""
EARLIER = 2 / 3
"""Part of the training windows that a penalty is fitted on, to be tried on the rest."""


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


def candidates_of(
    answer: str,
    training: Windows,
    season: int,
    low: NDArray[np.float64],
    zeros: NDArray[np.float64],
    *,
    network: bool = False,
) -> tuple[str, ...]:
    """Candidates that are fitted: all that a panel allows, or ridge and what a config names."""
    allowed = allowed_names(training, season, low, zeros, network=network)
    naive = naive_names(season, training.lookback)
    if answer not in ("auto", "network", *naive, *allowed):
        if answer == TREES:
            load_extra("sklearn", "the forecast of boosted trees", "trees")
        listed = ", ".join((*naive, *allowed))
        raise ConfigError(
            f"answer: rows, season and look-back allow {listed}. Got {answer}. Choose one, or auto (",
            Fix("answer", "auto"),
            ").",
        )
    return allowed if answer == "auto" else tuple(name for name in allowed if name in ("ridge", answer))


def allowed_names(
    training: Windows, season: int, low: NDArray[np.float64], zeros: NDArray[np.float64], *, network: bool = False
) -> tuple[str, ...]:
    """Candidates that a panel allows besides the naive forecasts and the network, in the order of their cost.

    `low` has the smallest training value of every target, `zeros` the share of zeros among them. Where a `network` is
    trained, series are too many or too long to fit one by one.
    """
    if training.chosen is not None:
        return ("ridge",)
    rows, series = len(training.rows), training.num_targets
    cells = len(training) * series * (training.lookback + training.horizon)
    explained = training.is_explained
    allowed = {
        "regression": explained,
        "regression_log": explained and (low > 0).any(),
        "ridge_log": (low > 0).any(),
        "ridge_root": (low >= 0).any(),
        "flair": season > 1 and training.lookback >= 2 * season,
        "intermittent": ((low >= 0) & (zeros >= MOSTLY) & (zeros < 1)).any(),
    }
    closed = [name for name in CLOSED if allowed[name] and cells <= MOST_CELLS]
    is_plain = rows > SHORTEST and not network
    robust = [ROBUST] if is_plain and cells <= MOST_CELLS and _weights_of(training) <= MOST_WEIGHTS else []
    aligned = [ALIGNED] if (explained or not network) and _is_aligned(training, season) else []
    steps = len(training) * series * training.horizon
    trees = [TREES] if rows > SHORTEST and steps <= MOST_STEPS and is_installed("sklearn") else []
    few = [name for name, most in SERIES.items() if rows <= LONGEST and not network and series <= most]
    fitted = [name for name in few if name not in CLASSICAL or is_installed("statsforecast")]
    return ("ridge", *closed, *robust, *aligned, *trees, *fitted)


def _is_aligned(training: Windows, season: int) -> bool:
    """Whether every phase has enough windows for a process of its own, and all have not too many."""
    count, series = len(training) // season, training.num_targets
    if not 2 <= season <= training.lookback or count < SEASONS or training.covariates is None:
        return False
    weights = len(DRIFTS) * count * season * series * training.horizon
    return weights <= MOST_WEIGHTS and len(DRIFTS) * season * series * min(count, LATEST) ** 3 / 3 <= MOST_WORK


def _weights_of(windows: Windows) -> int:
    """Cells at most of a matrix for each series, from its past and what is known to its future."""
    known = 0 if windows.covariates is None else windows.covariates.known.shape[-1]
    steps = windows.lookback + known * (windows.lookback + windows.horizon)
    return windows.num_targets * windows.horizon * steps


def build(name: str, sizes: Sizes) -> nn.Module:
    """A candidate by its name."""
    lookback, horizon, units = sizes.lookback, sizes.horizon, sizes.units
    if name == "ridge":
        return LinearFloor(sizes.matrices, horizon, lookback, trained=False)
    if name == "regression":
        return _regression(sizes)
    if name == "regression_log":
        return TransformedRidge("log", lookback, horizon, 1, units, _regression(sizes))
    if name in ("ridge_log", "ridge_root"):
        return TransformedRidge("log" if name == "ridge_log" else "root", lookback, horizon, 1, units)
    if name == "flair":
        return Flair(lookback, horizon, sizes.season, units)
    if name == "intermittent":
        return Intermittent(horizon, units)
    if name == STEP:
        return Autoregression(lookback, horizon)
    if name in (ROBUST, ALIGNED):
        form = RobustRidge if name == ROBUST else AlignedSeasons
        return form(lookback, horizon, sizes.season, len(units.mean), sum(sizes.known) - sizes.calendar)
    if name == TREES:
        return LaggedTrees(lookback, horizon, sizes.season, sizes.matrices, sizes.calendar)
    if name == "arima":
        return ArimaForecaster(lookback, horizon, sizes.season, units)
    return (Theta if name == "theta" else Smoothing)(horizon, sizes.season, units)


def _regression(sizes: Sizes) -> Regression:
    return Regression(
        sizes.lookback, sizes.horizon, sizes.matrices, series=len(sizes.units.mean), known=sum(sizes.known),
        seen=sum(sizes.seen), static=sizes.static, calendar=sizes.calendar, recent=min(sizes.lookback, RECENT),
    )  # fmt: skip


def fit_candidate(model: nn.Module, training: Windows, validation: Windows, floor: Floor) -> None:
    """Fit a candidate on windows of the targets, under penalties that validation has a say in."""
    if isinstance(model, LinearFloor):
        model.set_weight(floor.weight)
    elif isinstance(model, Regression):
        fit_regression(model, training, validation)
    elif isinstance(model, TransformedRidge) and isinstance(model.floor, Regression):
        fit_regression(model.floor, _transformed(training, model), _transformed(validation, model))
    elif isinstance(model, TransformedRidge):
        own = fit_floor(_transformed(training, model), _transformed(validation, model), own=False)
        model.penalty.fill_(own.penalty)
        cast(LinearFloor, model.floor).set_weight(own.weight)
    elif isinstance(model, Autoregression):
        step = fit_floor(training.of_next(), validation.of_next(), own=False)
        model.penalty.fill_(step.penalty)
        model.set_step(step.weight)
    elif isinstance(model, Flair):
        _fit_flair(model, training)
    elif isinstance(model, Intermittent):
        model.fit(map(_examples, training.batches(_some(training))))
    elif isinstance(model, DrawnIn):
        if isinstance(model, RobustRidge):
            choose_penalty(model, training, validation)
        fit_drawn_in(model, training)
    elif isinstance(model, LaggedTrees):
        _fit_trees(model, training, floor.weight)
        if training.is_explained:
            _heed(model, training, validation, floor.weight)
    else:
        assert isinstance(model, Smoothing | Theta | ArimaForecaster)
        model.fit_series(series_of(training, model.units))


def _refit_model(made: nn.Module, model: nn.Module | None, windows: Windows, floor: Floor) -> None:
    """Fit what was `made` on other windows, in the form and under the penalties that a candidate has."""
    if isinstance(made, LinearFloor):
        made.set_weight(refit_floor(floor, windows))
    elif isinstance(made, Regression):
        refit_regression(made, cast(Regression, model), windows, floor.windows)
    elif isinstance(made, TransformedRidge):
        assert isinstance(model, TransformedRidge)
        if isinstance(made.floor, Regression):
            own = cast(Regression, model.floor)
            return refit_regression(made.floor, own, _transformed(windows, made), floor.windows)
        made.penalty.copy_(model.penalty)
        made.floor.set_weight(fit_under(float(made.penalty), None, _transformed(windows, made), floor.windows))
    elif isinstance(made, Autoregression):
        assert isinstance(model, Autoregression)
        made.penalty.copy_(model.penalty)
        made.set_step(fit_under(float(made.penalty), None, windows.of_next(), floor.windows + windows.horizon - 1))
    elif isinstance(made, Flair):
        _fit_flair(made, windows)
    elif isinstance(made, Intermittent):
        assert isinstance(model, Intermittent)
        made.decays.copy_(model.decays)
    elif isinstance(made, DrawnIn):
        made.penalty.copy_(cast(DrawnIn, model).penalty)
        fit_drawn_in(made, windows)
    elif isinstance(made, LaggedTrees):
        made.heeds.copy_(cast(LaggedTrees, model).heeds)
        _fit_trees(made, windows, refit_floor(floor, windows))
    else:
        assert isinstance(made, Smoothing | Theta | ArimaForecaster)
        forms = None if model is None else cast(Smoothing | Theta | ArimaForecaster, model).forms
        made.fit_series(series_of(windows, made.units), forms)


def _transformed(windows: Windows, model: TransformedRidge) -> Windows:
    """The same windows of transformed rows."""
    rows = model.into(windows.rows)
    return windows.with_rows(rows if windows.observed is None else torch.where(windows.observed, rows, 0.0))


def _fit_flair(model: Flair, training: Windows) -> None:
    index = _some(training)
    border = max(int(EARLIER * len(index)), 1)
    earlier = list(_moments(model, training, index[:border]))
    later = list(_moments(model, training, index[border:])) or earlier
    model.fit(earlier, later)


def _some(training: Windows) -> Tensor:
    """Every k-th window, so that those of single series are not too many."""
    return torch.arange(0, len(training), max(len(training) * training.num_targets // FITTED, 1))


def _moments(model: Flair, windows: Windows, index: Tensor) -> Iterator[Moments]:
    for batch in windows.batches(index) if len(index) else ():
        yield model.moments(*_examples(batch))


def choose_penalty(model: RobustRidge, training: Windows, validation: Windows) -> None:
    """Take the penalty under which a fit on training errs least on validation, in the units of its fit."""
    past, known, future = _robust_examples(validation)
    losses = dict[float, float]()
    for penalty in PENALTIES:
        model.penalty.fill_(penalty)
        fit_drawn_in(model, training)
        losses[penalty] = float((model.into(model(past, known)) - model.into(future)).abs().nanmean())
    model.penalty.fill_(min(losses, key=lambda penalty: losses[penalty]))


def fit_drawn_in(model: DrawnIn, windows: Windows, phases: Sequence[int] | None = None) -> None:
    """Fit robust ridge on windows under its penalty, or processes on their rows, of some phases alone where given."""
    rows = windows.rows if windows.observed is None else torch.where(windows.observed, windows.rows, torch.nan)
    if isinstance(model, AlignedSeasons):
        assert windows.covariates is not None
        model.fit(rows, windows.covariates.known, windows.covariates.clock, phases)
    else:
        model.set_units(rows)
        cast(RobustRidge, model).fit(*_robust_examples(windows))


def _robust_examples(windows: Windows) -> tuple[Tensor, Regressors | None, Tensor]:
    """Pasts, covariates and futures of windows, evenly spread; the features of all are held at once."""
    batch = windows.spread(max(EXAMPLES // windows.num_targets, 1))
    past, future = _examples(batch)
    return past, covariates_of(batch), future


def _fit_trees(model: LaggedTrees, windows: Windows, weight: Tensor) -> None:
    """On all windows; where covariates are heeded, on as many, evenly spread, as examples can be drawn from."""
    count = max(STEPS_OF_TREES // windows.num_targets, 1) if model.heeds else len(windows)
    batch = windows.spread(count)
    model.fit(*_examples(batch), weight, covariates_of(batch))


def _heed(model: LaggedTrees, training: Windows, validation: Windows, weight: Tensor) -> None:
    """Let covariates in where trees that see them err less on validation."""
    error, trees = error_of(model, validation), copy.deepcopy(model.trees.state_dict())
    model.heeds.fill_(True)
    _fit_trees(model, training, weight)
    if error_of(model, validation) >= error:
        model.heeds.fill_(False)
        model.trees.load_state_dict(trees)


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


def _examples(batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Pasts without gaps, and futures with NaN where nothing was observed."""
    past, seen = batch["past"], batch.get("past_observed")
    future, known = batch["future"], batch.get("future_observed")
    filled = past if seen is None else fill_gaps(past, seen)
    return filled, future if known is None else torch.where(known, future, torch.nan)


def about_unfitted(models: Mapping[str, nn.Module], names: Sequence[str]) -> Iterator[str]:
    """Which series a classical model was not fitted to, and what forecasts them in its place."""
    for name, model in models.items():
        if isinstance(model, Smoothing | Theta | ArimaForecaster):
            left = [each for series, each in enumerate(names) if series not in model.forms]
            start = "the last value" if name == "arima" else "smoothing of weight one half"
            if left:
                yield f"{name}: no model was found for {listed(left)}; it forecasts them by {start}"


def series_of(windows: Windows, units: Units) -> Iterator[NDArray[np.float64]]:
    """Values of every series in the rows of windows, in the units of the file; gaps hold the value before them."""
    rows = windows.rows[None]
    filled = rows if windows.observed is None else fill_gaps(rows, windows.observed[None])
    yield from units.into(filled)[0].T.numpy()


def fit_all(
    sizes: Sizes, names: Sequence[str], windows: Windows, models: Mapping[str, nn.Module], floor: Floor
) -> dict[str, nn.Module]:
    """Candidates fitted on other windows, in the form and under the penalties of those that are there."""
    made = {name: build(name, sizes) for name in names}
    for name, model in made.items():
        _refit_model(model, models.get(name), windows, floor)
    return made
