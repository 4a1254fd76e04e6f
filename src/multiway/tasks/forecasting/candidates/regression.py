"""Fitting of what covariates explain: generalised least squares on rows, under errors that ridge forecasts."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway import ops
from multiway.models.regression import REACH, Regression, lag
from multiway.models.windows import fill_gaps
from multiway.tasks.forecasting.candidate import Facts, ForecastCandidate, Rows, Sizes
from multiway.tasks.forecasting.ridge import choose_ridge, fit_under
from multiway.tasks.forecasting.windows import Windows, inputs_of

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e6)
"""On β; the largest leaves nothing of it."""
RECENT_PENALTIES = (1e2, 1e3, 1e4, 1e5, 1e6)
"""On the map of recent steps."""
EARLIER = (0.0, 0.4, 0.6, 0.8, 1.0)
"""Where stretches of the training rows begin; a fit on those before each is tried on it."""
ROUNDS = 2
"""How often errors and effects are fitted in turn."""
MARGIN = 0.995
"""Part of the error that a wider form may leave at most."""
MOST_WORK = 5e8
"""Cells of all factorisations past which effects are shared by all series."""
CHUNK = 4_000_000
LAST_STEPS = 14
"""Last steps at most at which covariates of the past act."""
VIEWS = 4
"""Ways at most in which rows are cut into horizons, where what is known of a row depends on the window."""


class Innovations(NamedTuple):
    """Sums over the rows of a stretch, by series, of what one step ahead does not foresee: of y and of covariates.

    gram: `(series, columns, columns)`, cross: `(series, columns)`, square, cells: `(series,)`.
    """

    gram: Tensor
    cross: Tensor
    square: Tensor
    cells: Tensor

    def error(self, effect: Tensor) -> float:
        """Mean square of what effects `(series or 1, columns)` leave."""
        effect = effect.expand_as(self.cross)
        quadratic = (torch.einsum("sk,skl->sl", effect, self.gram) * effect).sum()
        rest = self.square.sum() - 2 * (effect * self.cross).sum() + quadratic
        return float(rest / self.cells.sum().clamp_min(1))

    def only(self, columns: Tensor) -> "Innovations":
        """Those of some columns."""
        return self._replace(gram=self.gram[:, columns][:, :, columns], cross=self.cross[:, columns])


class EffectForm(NamedTuple):
    """How effects are fitted: steps to each side at which they act, and penalties; `own` is infinite where shared."""

    reach: int
    calendar: bool
    products: bool
    penalty: float
    own: float


def fit_regression(model: Regression, training: Windows, validation: Windows) -> None:
    """Fit effects and errors in turn, then ridge on what effects leave, then what was seen recently.

    Stretches of the training rows, each after a fit on those before it, and validation choose form and penalties.
    """
    for _ in range(ROUNDS):
        step = choose_ridge(
            leave_effects(training, model).replace(horizon=1),
            leave_effects(validation, model).replace(horizon=1),
            own=False,
        )
        weight = step.weight[0]
        parts = [*innovations(training, model, weight, EARLIER), *innovations(validation, model, weight, (0.0, 1.0))]
        form = choose_form(parts, model)
        model.effect.copy_(effects_under(sum_of(parts[:-1]), form, model))
    own = model.floor.weight.shape[0] > 1
    ridge = choose_ridge(*(leave_effects_of_each(windows, model) for windows in (training, validation)), own=own)
    model.floor.set_weight(ridge.weight)
    recent = _fit_recent(model, training, validation)
    model.form.copy_(
        torch.tensor([*form, step.penalty, ridge.shared, ridge.penalty, ridge.shared_penalty, recent]).double()
    )


def refit_regression(made: Regression, model: Regression, windows: Windows, fitted: int) -> None:
    """Fit on other windows in the form and under the penalties of a model that was fitted on so many."""
    made.form.copy_(model.form)
    reach, calendar, products, penalty, own, step, shared, of_own, of_shared, recent = made.form.tolist()
    form = EffectForm(int(reach), bool(calendar), bool(products), penalty, own)
    for _ in range(ROUNDS):
        weight = fit_under(step, None, leave_effects(windows, made).replace(horizon=1), fitted + windows.horizon - 1)
        parts = innovations(windows, made, weight[0], (0.0, 1.0))
        made.effect.copy_(effects_under(sum_of(parts), form, made))
    left = leave_effects_of_each(windows, made)
    made.floor.set_weight(fit_under(of_shared, None if shared else of_own, left, fitted))
    if recent < float("inf"):
        gram, cross = _recent_moments(made, windows)
        [weight] = ops.ridge_path(gram, cross, [recent * len(windows) / fitted])
        made.recent.copy_(weight.view(made.recent.shape))


def leave_effects(windows: Windows, model: Regression) -> Windows:
    """The same windows of what effects leave of their rows."""
    assert windows.covariates is not None
    return windows.with_rows(windows.rows - model.effects(windows.covariates.known))


def leave_effects_of_each(windows: Windows, model: Regression) -> Windows:
    """The same windows of what effects leave of each, by what it knew."""
    assert windows.covariates is not None
    if windows.covariates.issued is None:
        return leave_effects(windows, model)
    parts = []
    for batch in windows.batches():
        left = torch.cat([batch["past"], batch["future"]], 1) - model.effects(batch["known"])
        if windows.observed is not None:
            left = torch.where(torch.cat([batch["past_observed"], batch["future_observed"]], 1), left, 0.0)
        parts.append(left)
    return windows.replace(left=torch.cat(parts))


def views(windows: Windows) -> Iterator[tuple[slice, Tensor]]:
    """Rows of windows with the covariates that are known of them.

    Where that depends on the window, rows are cut into horizons one after another, from several first rows: each has
    what was known before the horizon that it lies in.
    """
    assert windows.covariates is not None
    if windows.covariates.issued is None:
        yield slice(None), windows.covariates.known
        return
    lookback, horizon = windows.lookback, windows.horizon
    for first in range(0, min(horizon, len(windows)), -(-horizon // VIEWS)):
        starts = torch.arange(first, len(windows), horizon)
        size = max(CHUNK // ((lookback + horizon) * windows.covariates.known[0].numel()), 1)
        parts = [windows.covariates.of_windows(some, lookback, horizon).known for some in starts.split(size)]
        known = torch.cat([parts[0][0, :lookback], *(part[:, lookback:].flatten(0, 1) for part in parts)])
        yield slice(first, first + len(known)), known


def innovations(windows: Windows, model: Regression, step: Tensor, shares: Sequence[float]) -> list[Innovations]:
    """Sums over stretches of the rows of windows, under the weights of ridge one step ahead, `(1, lookback)`."""
    every = [[*_innovations_in(windows, own, model.columns(known), step, shares)] for own, known in views(windows)]
    return [Innovations(*(each / len(every) for each in sum_of(parts))) for parts in zip(*every, strict=True)]


def _innovations_in(
    windows: Windows, own: slice, known: Tensor, step: Tensor, shares: Sequence[float]
) -> Iterator[Innovations]:
    """Those of some rows of windows."""
    rows, seen = windows.rows[own], None if windows.observed is None else windows.observed[own]
    filled = rows if seen is None else fill_gaps(rows[None], seen[None])[0]
    surprise, surprises = _innovation(filled[..., None], step)[..., 0], _innovation(known, step)
    columns = lag(surprises).flatten(2)  # (rows, series or 1, lags * features)
    keep = None if seen is None else seen[len(seen) - len(surprise) :]
    borders = [round(share * len(surprise)) for share in shares]
    for start, stop in itertools.pairwise(borders):
        part = slice(start, stop)
        yield sum_of(list(_sums(surprise[part], columns[part], None if keep is None else keep[part])))


def _innovation(rows: Tensor, step: Tensor) -> Tensor:
    """Rows `(rows, series, features)` less their ridge forecast from the rows before them; the first have none."""
    weight = step[0].clone()
    weight[-1] += 1 - weight.sum()
    kernel = torch.cat([-weight, weight.new_ones(1)])[None, None]
    flat = rows.flatten(1).T[:, None]
    return F.conv1d(flat, kernel)[:, 0].T.unflatten(1, rows.shape[1:]) if flat.numel() else rows[step.shape[1] :]


def _sums(y: Tensor, x: Tensor, keep: Tensor | None) -> Iterator[Innovations]:
    """Of some rows at a time."""
    series = y.shape[1]
    size = max(CHUNK // max((1 if keep is None else series) * x[0].numel(), 1), 1) if len(x) else 1
    for rows, columns, kept in zip(
        y.split(size), x.split(size), [None] * -(-len(y) // size) if keep is None else keep.split(size), strict=True
    ):
        own, inputs = rows.double().T, columns.double().transpose(0, 1)  # (series, rows), (series or 1, rows, columns)
        if kept is not None:
            own, inputs = torch.where(kept.T, own, 0), inputs * kept.T[..., None]
        count = torch.full((series,), float(len(rows))) if kept is None else kept.sum(0)
        gram = (inputs.mT @ inputs).expand(series, -1, -1)
        cross = torch.einsum("st,stk->sk", own, inputs.expand(series, -1, -1))
        yield Innovations(gram, cross, own.square().sum(1), count.double())


def sum_of(parts: Sequence[Innovations]) -> Innovations:
    """Of several stretches."""
    return Innovations(*(torch.stack(each).sum(0) for each in zip(*parts, strict=True)))


def choose_form(parts: Sequence[Innovations], model: Regression) -> EffectForm:
    """The form with the least error on stretches after those that were fitted on; wider ones have to save more."""
    best, least = EffectForm(0, False, False, PENALTIES[-1], float("inf")), float("inf")
    reaches = range(REACH + 1) if model.varying else (0,)
    calendars, grouped = ((False, True) if count else (False,) for count in (model.calendar, model.products))
    for reach, calendar, products in itertools.product(reaches, calendars, grouped):
        some = [part.only(_columns(reach, calendar, products, model)) for part in parts]
        for form, error in _errors(some, reach, calendar, products):
            if error < MARGIN * least:
                best, least = form, error
    return best


def _columns(reach: int, calendar: bool, products: bool, model: Regression) -> Tensor:
    """Columns of the lags within reach, those of products and of the calendar at the step itself alone."""
    lags, count = model.effect.shape[1:]
    chosen = torch.zeros(lags, count, dtype=torch.bool)
    chosen[REACH - reach : REACH + reach + 1, : model.varying] = True
    chosen[REACH, model.varying : model.varying + model.products] = products
    chosen[REACH, count - model.calendar :] = calendar
    return torch.nonzero(chosen.flatten())[:, 0]


def _errors(
    parts: Sequence[Innovations], reach: int, calendar: bool, products: bool
) -> Iterator[tuple[EffectForm, float]]:
    """Forms of one kind: the best of those that all series share, then those with effects of their own."""
    shared = [[*_effect_path(sum_of(parts[:place]), PENALTIES)] for place in range(1, len(parts))]
    errors = [_relative(parts, [path[place] for path in shared]) for place in range(len(PENALTIES))]
    best = min(range(len(errors)), key=errors.__getitem__)
    form = EffectForm(reach, calendar, products, PENALTIES[best], float("inf"))
    yield form, errors[best]
    series, columns = parts[0].cross.shape
    if series == 1 or series * columns**3 > MOST_WORK:
        return
    own = [[*_effect_path(sum_of(parts[: place + 1]), PENALTIES, path[best])] for place, path in enumerate(shared)]
    errors = [_relative(parts, [path[place] for path in own]) for place in range(len(PENALTIES))]
    least = min(range(len(errors)), key=errors.__getitem__)
    yield form._replace(own=PENALTIES[least]), errors[least]


def _relative(parts: Sequence[Innovations], effects: Sequence[Tensor]) -> float:
    """Error on each stretch after the first as a share of that without covariates; validation counts one half."""
    shares = [
        part.error(effect) / max(float(part.square.sum() / part.cells.sum().clamp_min(1)), 1e-30)
        for part, effect in zip(parts[1:], effects, strict=True)
    ]
    return sum(shares[:-1]) / (2 * len(shares[:-1])) + shares[-1] / 2 if len(shares) > 1 else shares[0]


def _effect_path(sums: Innovations, penalties: Sequence[float], shared: Tensor | None = None) -> Iterator[Tensor]:
    """Effects `(series or 1, columns)` for each penalty: `shared` by all series, or of each and drawn towards those."""
    gram, cross = sums.gram, sums.cross[..., None]
    if shared is None:
        paths = ops.ridge_path(gram.sum(0, keepdim=True), cross.sum(0, keepdim=True), penalties)
    else:
        paths = ops.ridge_path(gram, cross, penalties, towards=shared[:, None])
    return (path[:, 0] for path in paths)


def effects_under(sums: Innovations, form: EffectForm, model: Regression) -> Tensor:
    """β of every series, lag and feature."""
    shape, columns = model.effect.shape, _columns(form.reach, form.calendar, form.products, model)
    part = sums.only(columns)
    [own] = _effect_path(part, [form.penalty])
    if form.own < float("inf"):
        [own] = _effect_path(part, [form.own], own)
    effects = torch.zeros(shape[0], shape[1] * shape[2], dtype=torch.float64)
    effects[:, columns] = own
    return effects.view(shape).float()


def _fit_recent(model: Regression, training: Windows, validation: Windows) -> float:
    """Fit the map of recent steps; its penalty, infinite where validation has nothing of it."""
    if not model.recent.numel():
        return float("inf")
    gram, cross = _recent_moments(model, training)
    chosen, best, penalty = torch.zeros_like(model.recent), float("inf"), float("inf")
    paths = zip(RECENT_PENALTIES, ops.ridge_path(gram, cross, RECENT_PENALTIES), strict=True)
    for tried, weight in itertools.chain([(penalty, chosen)], paths):
        model.recent.copy_(weight.view(model.recent.shape))
        error = sum(float(_find_misses(model, batch).square().sum()) for batch in validation.batches())
        if error < MARGIN * best:
            best, penalty, chosen = error, tried, model.recent.clone()
    model.recent.copy_(chosen)
    return penalty


def _recent_moments(model: Regression, windows: Windows) -> tuple[Tensor, Tensor]:
    """Sums over windows and series of recent steps by themselves, and by what the rest of the model misses."""
    model.recent.zero_()
    size, steps = model.recent[0].numel(), len(model.recent)
    gram, cross = (torch.zeros(size, width, dtype=torch.float64) for width in (size, steps))
    for batch in windows.batches():
        missed = _find_misses(model, batch).transpose(1, 2)  # (windows, series, horizon)
        seen = batch["seen"][:, -model.recent.shape[1] :].double().transpose(1, 2).flatten(2)
        x, y = seen.expand(*missed.shape[:2], -1).flatten(0, 1), missed.flatten(0, 1)
        gram, cross = gram + x.T @ x, cross + x.T @ y
    return gram, cross


def _find_misses(model: Regression, batch: dict[str, Tensor]) -> Tensor:
    """What the forecast misses, 0 where nothing was observed, `(windows, horizon, series)`."""
    past, observed, covariates = inputs_of(batch)
    missed = batch["future"] - model(past if observed is None else fill_gaps(past, observed), covariates)
    keep = batch.get("future_observed")
    return (missed if keep is None else torch.where(keep, missed, 0.0)).double()


def build_regression(sizes: Sizes) -> Regression:
    """A regression without effects."""
    return Regression(
        sizes.lookback,
        sizes.horizon,
        sizes.matrices,
        series=len(sizes.units.mean),
        known=sum(sizes.known),
        seen=sum(sizes.seen),
        static=sizes.static,
        calendar=sizes.calendar,
        recent=min(sizes.lookback, LAST_STEPS),
    )


class RegressionOnCovariates(ForecastCandidate[Regression]):
    """A regression whose errors ridge forecasts."""

    name, cost, effects = "regression", 3, "regression"

    def can_answer(self, facts: Facts) -> bool:
        """Where there are covariates."""
        return facts.explained and facts.are_few

    def build(self, sizes: Sizes) -> Regression:
        """Without effects."""
        return build_regression(sizes)

    def fit(self, model: Regression, training: Rows, validation: Rows) -> None:
        """Fit effects, and ridge on what they leave."""
        fit_regression(model, training.windows, validation.windows)

    def refit(self, model: Regression, fitted: Regression | None, data: Rows) -> None:
        """Fit in the form that it has."""
        assert fitted is not None
        refit_regression(model, fitted, data.windows, data.ridge.windows)


CANDIDATE = RegressionOnCovariates()
