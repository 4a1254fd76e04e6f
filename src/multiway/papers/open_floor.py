"""The closed form of whole seasons on a task of an open benchmark: chosen, calibrated and refitted on rows before."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from multiway.models.aligned import PENALTIES, AlignedSeasons
from multiway.models.regression import Regressors
from multiway.papers.open_scores import QUANTILES
from multiway.papers.open_tasks import Floats, Item, OpenTask, windows_of

VALIDATION, STRETCHES = 0.2, 3
"""Share of the rows before the first window that forms are compared on, and stretches it is cut into."""
REFITS = 4
"""Fits of the form whose phases share one, over all windows."""
SEASONS, LONGEST = 14, 672
"""Of the look-back, half of them where it would be longer than so many steps."""
HALF, FLOOR = 2.0, 0.2
"""Seasons after which an error counts half in the size of recent ones, and the least of that beside their mean."""
POWERS = (0.0, 0.5, 0.75, 1.0)
MOST = 1_000
"""Training windows at most where phases share a fit."""


class AlignedForm(NamedTuple):
    """Of `AlignedSeasons`."""

    moved: bool
    penalty: float


FORMS = tuple(AlignedForm(moved, penalty) for moved in (False, True) for penalty in PENALTIES)


@dataclasses.dataclass(frozen=True)
class Rows:
    """Values `(rows, series)` and what is known ahead `(rows, 1, features)`, of an item."""

    values: Tensor
    known: Tensor
    task: OpenTask

    @classmethod
    def of(cls, task: OpenTask, item: Item) -> "Rows":
        """Read them; covariates in robust units of the rows before the first window."""
        values = torch.tensor(item.values)
        names = [name for name in item.frame.columns[1:] if name not in item.targets]
        known = torch.tensor(item.frame[names].to_numpy(np.float64))
        before = known[: next(iter(windows_of(task, item)))]
        scaled = (known - before.mean(0)) / before.std(0, correction=0).clamp_min(1e-9)
        return cls(values, scaled[:, None], task)

    @property
    def lookback(self) -> int:
        """Steps of the past that models see."""
        season = self.task.season
        return SEASONS * season if SEASONS * season <= LONGEST else SEASONS // 2 * season

    def windows(self, origins: Sequence[int]) -> tuple[Tensor, Regressors, Tensor, Tensor]:
        """Past, covariates, clock and future of some origins."""
        at = torch.tensor(origins)
        steps = at[:, None] + torch.arange(-self.lookback, self.task.horizon)
        values = self.values[steps]
        known = self.known[steps]
        return values[:, : self.lookback], Regressors(known, known[:, :, :, :0]), at, values[:, self.lookback :]

    def fitted(self, form: AlignedForm, stop: int) -> AlignedSeasons:
        """A form fitted on the rows before one; where phases have fits of their own, on windows of its phase alone."""
        series, features = self.values.shape[1], self.known.shape[2]
        sizes = (self.lookback, self.task.horizon, self.task.season, series, features)
        model = AlignedSeasons(*sizes, moved=form.moved)
        model.set_units(self.values[:stop])
        last, season = stop - self.task.horizon, self.task.season
        first = self.lookback + (stop - self.lookback) % season
        stride = max((last - first) * series // (MOST * 7), 1) if form.moved else season
        model.fit(*self.windows(range(first, last + 1, stride)), form.penalty)
        return model


Mix = tuple[AlignedForm, ...]
"""Forms whose mean forecasts."""


def aligned_forecast(task: OpenTask, item: Item) -> Floats:
    """Quantiles of every window, `(windows, horizon, targets, QUANTILES)`."""
    rows, starts = Rows.of(task, item), [*windows_of(task, item)]
    mix, errors = choose_mix(rows, starts[0])
    power = choose_power(errors, rows)
    out, fitted, last = [], list[AlignedSeasons](), starts[0] - task.horizon
    every = -(-len(starts) // REFITS) if any(form.moved for form in mix) else 1
    for place, start in enumerate(starts):
        passed = range(max(last + task.season, starts[0]), start - task.horizon + 1, task.season)
        if passed:
            errors, last = np.concatenate([errors, _errors(fitted, rows, passed)]), passed[-1]
        if place % every == 0:
            fitted = [rows.fitted(form, start) for form in mix]
        past, known, clock, _ = rows.windows([start])
        sizes = recent_sizes(errors, rows) ** power
        spread = np.nanquantile(errors / sizes[:-1, None], QUANTILES, axis=0) * sizes[-1]
        centre = _mean(fitted, past, known, clock)[:, :, None]
        out.append(fitted[0].back(centre + torch.from_numpy(spread).permute(1, 0, 2))[0].numpy())
    return np.stack(out).transpose(0, 1, 3, 2)


def recent_sizes(errors: Floats, rows: Rows) -> Floats:
    """Mean absolute errors of the windows that had ended before each, and before the next: `(windows + 1, targets)`.

    An earlier window counts the less the longer ago it began, by half for every `HALF` seasons.
    """
    size, delay = np.nanmean(np.abs(errors), 1), -(-rows.task.horizon // rows.task.season)
    total = np.nanmean(size, 0)
    level, out = total, []
    for place in range(len(size) + 1):
        if place >= delay:
            level = level + (1 - 0.5 ** (1 / HALF)) * (
                np.where(np.isnan(size[place - delay]), level, size[place - delay]) - level
            )
        out.append(level)
    return np.stack(out).clip(FLOOR * total)


def choose_power(errors: Floats, rows: Rows) -> float:
    """How much bands follow the size of recent errors: the power with the least pinball loss on the errors."""
    shares, losses = np.array(QUANTILES[1:-1]), dict[float, float]()
    for power in POWERS:
        sizes = recent_sizes(errors, rows)[:-1, None] ** power
        left = errors - np.nanquantile(errors / sizes, shares, axis=0)[:, None] * sizes
        losses[power] = float(
            np.nanmean(np.maximum(shares[:, None, None, None] * left, (shares[:, None, None, None] - 1) * left))
        )
    return min(losses, key=lambda power: losses[power])


def _errors(models: Sequence[AlignedSeasons], rows: Rows, origins: Sequence[int]) -> Floats:
    """In the units of the fit, `(windows, horizon, targets)`."""
    past, known, clock, future = rows.windows(origins)
    return (models[0].into(future) - _mean(models, past, known, clock)).numpy()


def _mean(models: Sequence[AlignedSeasons], past: Tensor, known: Regressors, clock: Tensor) -> Tensor:
    """Forecast in the units of a model's fit."""
    return torch.stack([model.into(model(past, known, clock)) for model in models]).mean(0)


def choose_mix(rows: Rows, stop: int) -> tuple[Mix, Floats]:
    """The forms that err least on stretches before a row, each after what was fitted; and those errors."""
    season = rows.task.season
    length = int(VALIDATION * stop) // STRETCHES // season * season
    borders = [stop - length * count for count in range(STRETCHES, -1, -1)]
    errors: dict[AlignedForm, list[Tensor]] = {form: [] for form in FORMS}
    for first in borders[:-1]:
        origins = range(first, min(first + length, stop - rows.task.horizon + 1), season)
        past, known, clock, future = rows.windows(origins)
        for form in FORMS:
            model = rows.fitted(form, first)
            errors[form].append(model.into(future) - model.into(model(past, known, clock)))
    whole = {form: torch.cat(parts) for form, parts in errors.items()}
    sizes = {form: float(part.abs().nanmean()) for form, part in whole.items()}
    best = [
        min((form for form in FORMS if form.moved == moved), key=lambda form: sizes[form]) for moved in (False, True)
    ]
    mixes: list[Mix] = [(best[0],), (best[1],), (best[0], best[1])]
    mean = {mix: torch.stack([whole[form] for form in mix]).mean(0) for mix in mixes}
    chosen = min(mixes, key=lambda mix: float(mean[mix].abs().nanmean()))
    return chosen, mean[chosen].numpy()
