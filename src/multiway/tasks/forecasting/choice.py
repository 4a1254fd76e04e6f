"""What validation decides: the weights of all candidates in the answer, and the intervals around it."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway import ops
from multiway.errors import DataError
from multiway.metrics.quantiles import TENTHS, pinball_errors
from multiway.models.weighed_forecasts import WeighedForecasts, has_quantiles
from multiway.ops.simplex import few_weights
from multiway.tasks.choice import BLEND, Candidate, Choice
from multiway.tasks.forecasting.bands import Bands
from multiway.tasks.forecasting.candidate import Sizes, any_stepped, candidates, others_in
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.held_out import (
    Products,
    Stretch,
    errors_of,
    half_life_of,
    products_of,
    stretch_of,
    stretches,
    weights_by_age,
)
from multiway.tasks.forecasting.intervals import fit_bands, no_narrower
from multiway.tasks.forecasting.windows import where_others
from multiway.tasks.options import AUTO
from multiway.tasks.protocol import OURS, Row

Floats = NDArray[np.float64]
SKILL, NONE = 0.25, 1e-6
"""What ridge saves of the last value's error where a network is trusted as any candidate, and the least it counts."""
MAX_CELLS = 20_000_000
"""Of errors of all candidates that are compared."""
SHOWN = 0.005
"""Weight from which on a sentence names a candidate."""
LEAST = 0.01
"""Weight that ours have at least beside others' forecasts, and answer with where these are not there."""
RULE = (
    "Each window is later than the rows that its forecast was fitted on. The weights are positive, sum to one and have "
    "the least squared error. They are drawn towards equal ones, the more so the fewer windows there are."
)
OF_ONE, OF_EACH = (
    " Where ridge alone has a lower error on these windows, it has all the weight.",
    (
        " Each series has its own, drawn towards those of all. Where little is known, classical models have more. "
        "Later windows count more than earlier ones."
    ),
)
"""How the weights of the answer come to be, for whoever reads a report: of all series in common, or of each."""
UNKNOWN = 2.0
"""Times the doubt in a classical model that there is in another candidate: of few rows their mean is hard to beat."""
FAR = 0.25
"""Part of the answer's squared error on rows that it was fitted on below which a plain forecast takes its place."""
ROUNDS = 10
SMALLEST = 1e-2
"""Part of the mean absolute error that an error counts as at least, where squares are weighed by its inverse."""


def decide(
    model: WeighedForecasts,
    prepared: PreparedPanel,
    config: ForecastConfig,
    sizes: Sizes,
    scale: Floats,
) -> tuple["Weighing", dict[str, Bands], Row]:
    """Set the weights of the answer; these, bands of it and of all candidates, and what was chosen and on how much.

    scale: That of MASE, where it decides.
    """
    parts = stretches(model, prepared, sizes, refit=config.answer == AUTO or bool(config.levels))
    # bands of steps have weights of their own where validation is long enough to have trained a network
    stops = ops.horizon_bands(model.horizon) if any_stepped(model.names) else (model.horizon,)
    outside = others_in(model.names)
    ours = tuple(name for name in model.names if name not in outside)
    apart = any(candidates()[name].is_classical for name in ours) and config.answer == AUTO
    products = products_of(parts, ours, stops, half_life_of(prepared.windows["train"]) if apart else None)
    chosen = choose_weights(products, config.answer, scale)
    if config.metric != "mse" and config.answer == AUTO:
        weights, errors = weights_by(config.metric, parts, chosen.names, stops, chosen.weights, scale)
        alone = bool((weights[chosen.names.index("ridge")] == 1).all())
        chosen = dataclasses.replace(
            chosen,
            weights=weights,
            own=None,
            errors=errors,
            reason=": no other candidate adds to it" if alone else "",
            metric="pinball loss" if config.metric == "pinball" else config.metric.upper(),
        )
    if outside:
        _set_weights(model, chosen)
        held = _at_cutoffs(parts, prepared)
        chosen = _weigh_others(model, chosen, outside, held)
        parts = [part for part in held if len(part.windows)] if others_in(chosen.means) else parts
    if products.series is not None and chosen.own is not None:
        model.products[:, : len(ours), : len(ours)] = torch.from_numpy(products.series)
        model.cells.copy_(torch.from_numpy(products.cells))
    _set_weights(model, chosen)
    spread = model.spread if "network" in model.used() and has_quantiles(model.network) else None
    bands = fit_bands([_with_answer(model, part, spread) for part in parts], config.levels, len(model.names) + 1)
    bands = {name: no_narrower(each, prepared.few) for name, each in bands.items()} if prepared.young else bands
    training = prepared.windows["train"].of_targets()
    learnt, causes = (~training.never_observed).numpy(), bands[OURS].causes
    few = torch.tensor(bands[OURS].by_student(config.levels, learnt)) * int(learnt.sum())
    following = (torch.tensor(int((series & learnt).sum())) for series in causes.values())
    few, series, *counts = training.total(few, torch.tensor(int(learnt.sum())), *following)
    intervals = {
        "windows": sum(len(part.windows) for part in parts),
        "by_student": (few / series).tolist(),
        **dict(zip(causes, map(int, counts), strict=True)),
        "first": str(prepared.panel.times[prepared.borders.test[0]]),
    }
    return chosen, bands, {"selection": {**chosen.facts(), "ridge": prepared.ridge.facts()}, "intervals": intervals}


def _set_weights(model: WeighedForecasts, chosen: "Weighing") -> None:
    """Of the answer; candidates that were not weighed have none."""
    places = [model.names.index(name) for name in chosen.names]
    model.weight.zero_()
    model.weight[places] = torch.from_numpy(chosen.steps)
    model.own.zero_()
    if chosen.own is not None:
        model.own[places] = torch.from_numpy(chosen.own)


def _at_cutoffs(parts: Sequence[Stretch], prepared: PreparedPanel) -> list[Stretch]:
    """Stretches with the windows alone at whose start all others have a whole forecast; validation is the last."""
    held = [part._replace(windows=where_others(part.windows)) for part in parts]
    test, times = prepared.windows["test"], prepared.panel.times
    for name, windows, count in (
        ("validation", parts[-1].windows, sum(len(part.windows) for part in held)),
        ("test", test, len(where_others(test))),
    ):
        if not count:
            rows = windows.start_rows() + windows.lookback - 1
            raise DataError(
                f"candidates: others' forecasts are judged by those from cutoffs of {name}, {times[rows[0]]} to "
                f"{times[rows[-1]]}, and from none of them is there a forecast of all {windows.horizon} steps of every "
                "series. Add some."
            )
    return [part for part in held[:-1] if len(part.windows)] + held[-1:]


def _weigh_others(
    model: WeighedForecasts, ours: "Weighing", others: Sequence[str], parts: Sequence[Stretch]
) -> "Weighing":
    """The answer of ours beside others' forecasts, on windows at whose start these have one.

    Ours keep their weights among themselves, and are the floor: others have weight where the blend errs less.
    """
    names, parts = (OURS, *model.names), [_with_answer(model, part, None) for part in parts]
    validation, parts = len(parts[-1].windows), [part for part in parts if len(part.windows)]
    products = products_of(parts, names, (model.horizon,)).values[:, 0]
    blocks, end = 0, -1
    for start in np.concatenate([part.windows.start_rows() for part in parts]).tolist():
        if start >= end:
            blocks, end = blocks + 1, start + model.horizon
    places = [names.index(name) for name in (OURS, *others)]
    compared = products[:, places][:, :, places]
    found = ops.blend_weights(compared, 0, -(-len(compared) // blocks), validation)
    own = max(float(found[0]), LEAST)
    mix = np.array([own, *(found[1:] * (1 - own) / max(1 - found[0], LEAST))])
    outside = mix[1:, None]
    errors = dict(zip(names, np.diagonal(products.mean(0)).tolist(), strict=True))
    return dataclasses.replace(
        ours,
        names=(*ours.names, *others),
        weights=np.vstack([own * ours.weights, outside.repeat(len(ours.stops), 1)]),
        own=None if ours.own is None else np.vstack([own * ours.own, outside.repeat(ours.own.shape[1], 1)]),
        errors={**errors, OURS: float(mix @ compared.mean(0) @ mix)},
        blocks=(blocks,) * len(ours.stops),
        windows=len(compared),
        validation=validation,
        reason="",
        metric="MSE",
    )


def _with_answer(model: WeighedForecasts, part: Stretch, spread: Callable[..., Tensor] | None) -> Stretch:
    """A stretch whose forecasts have the answer among them."""

    def forecast(*inputs: Any) -> Mapping[str, Tensor]:
        forecasts = part.forecast(*inputs)
        return {OURS: model.mix(forecasts), **forecasts}

    return Stretch(part.windows, forecast, spread)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weighing:
    """Weights of candidates by band of steps, and what they rest on.

    weights: `(candidates, bands)`.
    errors: Mean squared errors on the windows compared, by candidate and of the answer; or losses by another metric.
    own: Weights of each series, `(candidates, series)`, which those of the band are the mean of.
    metric: What decides, as a sentence has it.
    """

    names: tuple[str, ...]
    stops: tuple[int, ...]
    weights: Floats
    errors: dict[str, float]
    blocks: tuple[int, ...]
    windows: int
    validation: int
    reason: str
    own: Floats | None = None
    metric: str = "MSE"

    @property
    def steps(self) -> Floats:
        """Weights of every step, `(candidates, horizon)`."""
        return np.repeat(self.weights, np.diff([0, *self.stops]), axis=1)

    @property
    def means(self) -> dict[str, float]:
        """Weights that are not zero, averaged over steps."""
        means = dict(zip(self.names, self.steps.mean(1).tolist(), strict=True))
        return {name: means[name] for name in sorted(means, key=lambda name: -means[name]) if means[name] > 0}

    def facts(self) -> Row:
        """For JSON."""
        shares = [
            {"stop": stop, "blocks": blocks, "weights": dict(zip(self.names, column.tolist(), strict=True))}
            for stop, blocks, column in zip(self.stops, self.blocks, self.weights.T, strict=True)
        ]
        return {
            "sentence": self.sentence(),
            "answer": self.name,
            "weight": self.means.get("network", 0.0),
            "metric": self.metric,
            "weights": self.means,
            "shares": shares,
            "errors": self.errors,
            "windows": self.windows,
            "validation": self.validation,
        }

    def choice(self) -> Choice:
        """What answers and why, as every task says it."""
        words = self.sentence().removesuffix(".")
        lowest = min(self.errors[name] for name in self.names)
        rows = [
            Candidate(
                name=name, loss=self.errors[name], difference=self.errors[name] - lowest, error=None, cases=self.windows
            )
            for name in sorted(self.names, key=lambda name: self.errors[name])
        ]
        return Choice(
            name=self.name,
            reason=words[len(words.split(" (", 1)[0].split(",", 1)[0].split(":", 1)[0]) :],
            weights=self.means if self.name == BLEND else {},
            candidates=tuple(rows),
            loss=self.metric,
            cases=min(self.blocks),
            unit="blocks",
        )

    @property
    def name(self) -> str:
        """The one candidate that answers, or a blend."""
        return next(iter(self.means)) if len(self.means) == 1 else BLEND

    def sentence(self) -> str:
        """Which forecast answers and why, in one sentence."""
        where = f"{self.windows:,} window{'s' if self.windows != 1 else ''} of validation"
        where = where if self.windows == self.validation else f"{where} and training"
        if self.name == "ridge":
            return f"ridge{self.reason} ({self.metric} {self.errors['ridge']:.4f} on {where})."
        answer, ridge = self.errors[OURS], self.errors["ridge"]
        if self.name == BLEND:
            shares = [f"{name} {weight:.0%}" for name, weight in self.means.items() if weight >= SHOWN]
            what = f"a blend ({', '.join(shares)})"
        else:
            what = f"the {self.name}" if any_stepped([self.name]) else self.name
        gain = 100 * (1 - answer / ridge) if ridge > 0 else 0.0
        side = f"{abs(gain):.1f} % {'below' if gain > 0 else 'above'}" if abs(gain) >= 0.05 else "level with"
        figures = f"{self.metric} {answer:.4f} against {ridge:.4f}"
        return f"{what}, {side} ridge on {where} ({figures}){self.reason}."


def choose_weights(products: Products, answer: str, scale: Floats | None = None) -> Weighing:
    """Convex weights by band, or of each series where products are of each; or all weight for what the config names.

    scale: Errors of the seasonal naive forecast, in whose units series are alike.
    """
    if products.series is not None and scale is not None:
        return _weigh_series(products, products.series, scale)
    names, ridge = products.names, products.names.index("ridge")
    blocks = tuple(max(1, len(products.values) // stop) for stop in products.stops)
    if answer == AUTO:
        rows = zip(products.values.swapaxes(0, 1), products.stops, strict=True)
        plain = [place for place, name in enumerate(names) if candidates()[name].is_plain]
        columns = [
            ops.blend_weights(band, ridge, stop, products.validation, _doubts(names, band), plain)
            for band, stop in rows
        ]
        weights = np.stack(columns, 1)
    else:
        weights = np.repeat(np.eye(len(names))[:, names.index(answer), None], len(blocks), 1)
    alone = bool((weights[ridge] == 1).all())
    return Weighing(
        names=names,
        stops=products.stops,
        weights=weights,
        errors=_errors(products, weights),
        blocks=blocks,
        windows=len(products.values),
        validation=products.validation,
        reason=", as the settings say" if answer != "auto" else ": no other candidate adds to it" if alone else "",
    )


def _weigh_series(products: Products, series: Floats, scale: Floats) -> Weighing:
    """Weights of each series."""
    names, cells = products.names, products.cells
    assert cells is not None
    own = _own_weights(names, series, cells, products.stops[-1], scale)
    whole = np.average(np.einsum("ks,skl,ls->s", own, series, own), weights=cells)
    alone = dict(zip(names, np.average(np.diagonal(series, axis1=1, axis2=2), 0, cells).tolist(), strict=True))
    return Weighing(
        names=names,
        stops=products.stops,
        weights=own.mean(1)[:, None],
        own=own,
        errors={OURS: float(whole), **alone},
        blocks=(max(1, len(products.values) // products.stops[0]),),
        windows=len(products.values),
        validation=products.validation,
        reason="",
    )


def _own_weights(names: Sequence[str], series: Floats, cells: Floats, horizon: int, scale: Floats) -> Floats:
    """By products of errors of each series, `(candidates, series)`; candidates that have nothing to fit have none."""
    fitted = [place for place, name in enumerate(names) if not candidates()[name].is_plain]
    chosen = [candidates()[names[place]] for place in fitted]
    kinds = [each.kind or each.name for each in chosen]
    doubts = [
        kinds.count(kind) * (1.0 if each.is_classical else UNKNOWN) for each, kind in zip(chosen, kinds, strict=True)
    ]
    alike = series / np.square(np.where(scale > 0, scale, 1.0))[:, None, None]
    own = np.zeros((len(names), len(series)))
    own[fitted] = ops.weights_of_series(alike[:, fitted][:, :, fitted], cells / horizon**2, doubts)
    return own


def follow_test_rows(model: WeighedForecasts, prepared: PreparedPanel, scale: Floats) -> dict[str, float]:
    """Set the weights that each series has in the future: by the errors on the test rows, too, the later the heavier.

    Candidates are those that were fitted on the rows before these. Their mean weights, the largest first; none where
    series have no weights of their own, and nothing is set.
    """
    if not bool(model.own.any()):
        return {}
    test, horizon = prepared.windows["test"], model.horizon
    ours = model.names[: len(model.names) - len(others_in(model.names))]
    half_life = half_life_of(prepared.windows["train"])
    found = products_of([stretch_of(test, model.fitted_for("test"))], ours, (horizon,), half_life)
    assert found.series is not None and found.cells is not None
    gap = int(test.start_rows()[-1] - prepared.windows["validation"].start_rows()[-1])
    before = float(weights_by_age(torch.tensor(gap), half_life)) * model.cells.numpy()
    cells = found.cells + before
    sums = (
        found.series * found.cells[:, None, None]
        + model.products[:, : len(ours), : len(ours)].numpy() * before[:, None, None]
    )
    series = np.divide(sums, cells[:, None, None], where=cells[:, None, None] > 0, out=np.zeros_like(sums))
    later = model.own.numpy().copy()  # others, the last, keep their share
    share = later[: len(ours)].sum(0) if len(ours) < len(later) else 1.0
    weights = _weigh_searched(ours, _own_weights(ours, series, cells, horizon, scale), prepared)
    first, stop = prepared.borders.test
    last = prepared.before(stop, "future").between(max(first, test.lookback), stop)
    seen = products_of([stretch_of(last, model.fitted_for("future"))], ours, (horizon,), half_life)
    assert seen.series is not None
    later[: len(ours)] = share * _unless_plain(ours, weights, seen.series)
    model.later.copy_(torch.from_numpy(later))
    means = dict(zip(model.names, later.mean(1).tolist(), strict=True))
    return {name: means[name] for name in sorted(means, key=lambda name: -means[name]) if means[name] > 0}


def _weigh_searched(names: Sequence[str], weights: Floats, prepared: PreparedPanel) -> Floats:
    """Weights of each series; those searched anew have all where its training rows, one value, chose other forms."""
    rows = prepared.panel.values[slice(*prepared.borders.train), -weights.shape[1] :]
    still = np.nanmax(rows, 0, initial=-np.inf) == np.nanmin(rows, 0, initial=np.inf)
    searched = np.array([candidates()[name].is_searched for name in names])[:, None] * weights
    sums = searched.sum(0)
    return np.where(still & (sums > 0), np.divide(searched, sums, where=sums > 0, out=weights.copy()), weights)


def _unless_plain(names: Sequence[str], weights: Floats, products: Floats) -> Floats:
    """Weights of each series; a plain forecast has all where its squared error is less than `FAR` of the answer's."""
    answer, chosen = np.einsum("ks,skl,ls->s", weights, products, weights), weights.copy()
    plain = np.array([candidates()[name].is_plain for name in names])
    errors = np.where(plain, np.diagonal(products, axis1=1, axis2=2), np.inf)
    far = errors.min(1) < FAR * answer
    chosen[:, far] = np.eye(len(names))[errors[far].argmin(1)].T
    return chosen


def _doubts(names: Sequence[str], products: Floats) -> list[float]:
    """One of every kind of candidate; that of the network is larger the less ridge saves of the last value's error.

    Where not even ridge beats the last value, the series wanders and what a network adds is noise. The forms of ridge
    are one kind and share its weight: three near copies are no three witnesses. With a network each counts for one.
    """
    if not any_stepped(names):
        kinds = [candidates()[name].kind or name for name in names]
        return [float(kinds.count(kind)) for kind in kinds]
    ridge, last = (float(products[:, place, place].mean()) for place in map(names.index, ("ridge", "naive")))
    skill = (1 - ridge / last) / SKILL if last > 0 else 0.0
    return [1 / min(max(skill, NONE), 1.0) if any_stepped([name]) else 1.0 for name in names]


def _errors(products: Products, weights: Floats) -> dict[str, float]:
    """Mean squared errors over all steps, by candidate and of the answer."""
    sizes = np.diff([0, *products.stops]) / products.stops[-1]
    squares = products.values.mean(0)
    alone = dict(zip(products.names, (sizes @ np.diagonal(squares, axis1=1, axis2=2)).tolist(), strict=True))
    return {OURS: float(sizes @ np.einsum("kb,bkl,lb->b", weights, squares, weights)), **alone}


def weights_by(
    metric: str, parts: Sequence[Stretch], names: Sequence[str], stops: Sequence[int], squared: Floats, scale: Floats
) -> tuple[Floats, dict[str, float]]:
    """Weights `(candidates, bands)` whose forecast loses least by a metric, and the loss of it and of every candidate.

    Candidates alone, the blend of least `squared` error and one of least absolute error are compared on the windows of
    all stretches; ridge answers where none loses less than it.

    Args:
        metric: `mae`; `mase`, whose errors are over `scale` `(targets,)`; or `pinball`, of the tenths of errors.
        parts: Stretches that none of the forecasts was fitted on.
        names: Of the candidates.
        stops: Where bands of steps with weights of their own end.
        squared: Weights by squared error.
        scale: Errors of the seasonal naive forecast.
    """
    cells = sum(len(part.windows) for part in parts) * parts[-1].windows.horizon * parts[-1].windows.num_targets
    every = errors_of(parts, math.ceil(cells * len(names) / MAX_CELLS))
    errors = np.stack([every[name] for name in names])
    unit = np.where(scale > 0, scale, np.inf) if metric == "mase" else np.ones_like(scale)
    loss = partial(_pinball if metric == "pinball" else _absolute, unit=unit)
    absolute = np.stack([_absolute_weights(band, unit) for band in np.split(errors, stops[:-1], axis=1)], 1)
    alone = {name: np.repeat(np.eye(len(names))[:, [place]], len(stops), 1) for place, name in enumerate(names)}
    options = [alone["ridge"], *alone.values(), squared, absolute]
    losses = []
    for weights in options:  # errors of a blend, as weights sum to one
        steps = np.repeat(weights, np.diff([0, *stops]), axis=1)
        used = steps.any(1)
        losses.append(loss(np.asarray(np.einsum("kh,khvw->hvw", steps[used], errors[used]))))
    best = int(np.argmin(losses))
    return options[best], {OURS: losses[best], **dict(zip(alone, losses[1:], strict=False))}


def _absolute_weights(errors: NDArray[np.float32], unit: Floats) -> Floats:
    """Convex weights of least absolute error: those of squares that are weighed by the inverse of the last error."""
    flat = np.nan_to_num(errors / unit[:, None]).reshape(len(errors), -1).astype(np.float64)
    smallest = SMALLEST * max(float(np.abs(flat).mean()), np.finfo(np.float64).tiny)
    weights = np.full(len(flat), 1 / len(flat))
    for _ in range(ROUNDS):
        weights = few_weights(flat / np.maximum(np.abs(weights @ flat), smallest) @ flat.T)
    return weights


def _absolute(errors: Floats, unit: Floats) -> float:
    """Mean over series of the mean absolute error over its unit."""
    return float(np.nanmean(np.abs(errors) / unit[:, None]))


def _pinball(errors: Floats, unit: Floats) -> float:
    """Mean pinball loss of the tenths of the errors of each step and series."""
    known = np.isfinite(errors).any(-1)
    levels = np.nanquantile(errors[known], TENTHS, axis=-1)
    losses = [
        pinball_errors(errors[known], level[:, None, None], [share])
        for level, share in zip(levels, TENTHS, strict=True)
    ]
    return float(np.mean([np.nanmean(each) for each in losses]))
