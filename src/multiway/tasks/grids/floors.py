"""Floors of a grid's next fields, as plain functions: values `(times, cells)`, NaN where missing, weights of cells.

Values are taken by blocks of times, so that they need not lie in memory.
"""

from typing import NamedTuple

import numpy as np

from multiway.ops.simplex import few_weights
from multiway.tasks.grids.fields import Fields, Floats, Values, Whole, at_hand, in_blocks, many

FLOORS = ("climatology", "persistence", "season", "damped", "eof_ridge")
"""Names of the floors, the simplest first."""
FEW_PHASES = 24
"""Phases of a season that are averaged each for itself; of more, each with its neighbours."""
PRIOR = 4.0
"""Pairs of times that the damping of all cells counts for, beside those of a cell."""
PENALTIES = 10.0 ** np.arange(-3, 1.5, 0.5)
"""Of a regression, in mean squares of what it sees; the best by generalised cross-validation is taken."""
SPARE = 2
"""How many times the patterns that are looked for are kept from block to block."""


class Fitted(NamedTuple):
    """What the floors know of some times.

    climatology: Mean by phase and cell, `(phases, cells)`.
    damping: Share of an anomaly that is left, `(leads, cells)`.
    patterns: Leading patterns of anomalies, `(modes, cells)`, orthonormal in weighted cells.
    maps: From their amounts now to those later, `(leads, modes, modes)`.
    """

    climatology: Floats
    damping: Floats
    patterns: Floats
    maps: Floats


class History(NamedTuple):
    """Past values as forecasts see them.

    last: The last known value of each cell at each time, `(times, cells)`; NaN where none is within the context.
    phases: Of these times, and of those that are forecast.
    weights: Of the cells, with sum 1.
    """

    last: Values
    phases: Whole
    weights: Floats


def carry_later(values: Values, context: int) -> Fields:
    """What `carry` gives, of the times that are looked at."""

    def read(rows: Whole) -> Floats:
        parts = [np.empty((0, values.shape[1]))]
        for own in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else ():
            first = max(int(own[0]) - context + 1, 0)
            parts.append(carry(values[first : own[-1] + 1], context)[own[0] - first :])
        return np.concatenate(parts)

    return Fields(read, values.shape)


def carry(values: Floats, context: int) -> Floats:
    """The last value of each cell that is known at each time, no older than the context."""
    rows = np.arange(len(values))[:, None]
    seen = np.maximum.accumulate(np.where(np.isfinite(values), rows, -context), axis=0)
    return np.where(rows - seen < context, np.take_along_axis(values, np.maximum(seen, 0), axis=0), np.nan)


def climatology(values: Values, phases: Whole, period: int) -> Floats:
    """Mean of each phase and cell, of a long season over neighbouring phases; else the mean of the cell."""
    sums, counts = np.zeros((2, period, values.shape[1]))
    for start, _, block in in_blocks(values):
        known, places = np.isfinite(block), phases[start : start + len(block)]
        filled = np.where(known, block, 0.0)
        for phase in np.unique(places):
            sums[phase] += filled[places == phase].sum(0)
            counts[phase] += known[places == phase].sum(0)
    overall = sums.sum(0) / np.maximum(counts.sum(0), 1)
    reach = period // FEW_PHASES if period > FEW_PHASES else 0
    near = np.arange(period)[:, None] + np.arange(-reach, reach + 1)
    sums, counts = (each[near % period].sum(1) for each in (sums, counts))
    usual: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
    return usual


def fit_damping(anomalies: Values, leads: int, weights: Floats) -> Floats:
    r"""Share of its anomaly that each cell keeps over each lead, from 0 to 1, `(leads, cells)`.

    $\rho_c = \sum_t a_{t+h} a_t / \sum_t a_t^2$, shrunk towards that of all cells together as if these had been seen
    `PRIOR` times more.
    """
    products, squares, counts = np.zeros((3, leads, anomalies.shape[1]))
    for _, size, block in in_blocks(anomalies, leads):
        known = np.isfinite(block).astype(np.float64)
        filled = np.nan_to_num(block)
        for place in range(leads):
            later = slice(place + 1, place + 1 + size)
            now = slice(len(filled[later]))
            for sums, one, other in (
                (products, filled[now], filled[later]),
                (squares, filled[now] ** 2, known[later]),
                (counts, known[now], known[later]),
            ):
                sums[place] += np.einsum("tc,tc->c", one, other)
    prior = squares * PRIOR / np.maximum(counts, 1)
    common = (products @ weights / np.maximum(squares @ weights, 1e-300))[:, None]
    kept: Floats = (products + prior * common) / np.maximum(squares + prior, 1e-300)
    return kept.clip(0.0, 1.0)


def leading_patterns(anomalies: Values, weights: Floats, count: int) -> Floats:
    """The patterns (EOFs) that explain most of the weighted anomalies; a missing one is none.

    Of several blocks, the strongest of one are carried on into the next, each as long as it is strong.
    """
    if len(anomalies) <= many(anomalies):
        scaled = np.nan_to_num(anomalies[:]) * np.sqrt(weights)
        return np.asarray(np.linalg.svd(scaled, full_matrices=False)[2][:count])
    carried = np.zeros((0, anomalies.shape[1]))
    for _, _, block in in_blocks(anomalies):
        seen = np.concatenate([carried, np.nan_to_num(block) * np.sqrt(weights)])
        mixing = np.linalg.eigh(seen @ seen.T)[1][:, ::-1]
        carried = mixing[:, : SPARE * count].T @ seen
    patterns: Floats = carried[:count] / np.maximum(np.linalg.norm(carried[:count], axis=1), 1e-300)[:, None]
    return patterns


def amounts(anomalies: Floats, weights: Floats, patterns: Floats) -> Floats:
    """How much of each pattern is in some anomalies, `(times, modes)`."""
    return (np.nan_to_num(anomalies) * np.sqrt(weights)) @ patterns.T


def fit_ridge(now: Floats, later: Floats) -> Floats:
    """The linear map from amounts to later ones, `(modes, modes)`, its penalty by generalised cross-validation."""
    left, sizes, right = np.linalg.svd(now, full_matrices=False)
    onto, count = left.T @ later, len(now)
    scale, best = max(float((sizes**2).mean()), 1e-300), (np.inf, np.zeros((now.shape[1], later.shape[1])))
    for penalty in PENALTIES * scale:
        share = sizes**2 / (sizes**2 + penalty)
        rest = float((later**2).sum() - ((2 * share - share**2)[:, None] * onto**2).sum())
        score = rest / (count - share.sum()) ** 2
        if score < best[0]:
            best = score, right.T @ ((sizes / (sizes**2 + penalty))[:, None] * onto)
    return best[1]


def fit_floors(values: Values, phases: Whole, weights: Floats, *, period: int, horizon: int, modes: int) -> Fitted:
    """Everything that the floors know of some times, which follow each other."""
    usual = climatology(values, phases, period)
    anomalies = at_hand(Fields(lambda rows: values[rows] - usual[phases[rows]], values.shape))
    patterns = leading_patterns(anomalies, weights, modes)
    seen = np.concatenate([amounts(block, weights, patterns) for _, _, block in in_blocks(anomalies)])
    return Fitted(
        climatology=usual,
        damping=fit_damping(anomalies, horizon, weights),
        patterns=patterns,
        maps=np.stack([fit_ridge(seen[:-lead], seen[lead:]) for lead in range(1, horizon + 1)]),
    )


def forecast_floors(fitted: Fitted, past: History, origins: Whole, lead: int) -> dict[str, Floats]:
    """What every floor says of the fields so many steps after some times, `(origins, cells)`.

    The season repeats its last one that is known; a cell without a known value has that of its climatology.
    """
    usual, period = fitted.climatology[past.phases[origins + lead]], len(fitted.climatology)
    last = past.last[origins]
    anomalies = np.nan_to_num(last - fitted.climatology[past.phases[origins]])
    later = amounts(anomalies, past.weights, fitted.patterns) @ fitted.maps[lead - 1]
    found = {
        "climatology": usual,
        "persistence": np.where(np.isfinite(last), last, usual),
        "damped": usual + fitted.damping[lead - 1] * anomalies,
        "eof_ridge": usual + later @ fitted.patterns / np.sqrt(np.maximum(past.weights, 1e-300)),
    }
    if period > 1:
        before = origins + lead - period * -(-lead // period)
        seen = np.where((before >= 0)[:, None], past.last[np.maximum(before, 0)], np.nan)
        found["season"] = np.where(np.isfinite(seen), seen, usual)
    return found


def blend_weights(products: Floats, folds: int = 5) -> Floats:
    """Weights of floors with sum 1: of a blend, or of the best floor where that is clearly better on other times.

    A blend is fitted without each stretch of times in turn, and measured there. Clearly is by one standard error.

    Args:
        products: Inner products of the floors' errors at each time, `(times, floors, floors)`.
        folds: Stretches of times.
    """
    losses = np.diagonal(products, axis1=1, axis2=2)
    best = int(losses.mean(0).argmin())
    alone: Floats = np.eye(losses.shape[1])[best]
    above = np.empty(len(products))
    if len(products) < 3:
        return alone
    for held in np.array_split(np.arange(len(products)), min(folds, len(products))):
        weights = few_weights(np.delete(products, held, axis=0).mean(0))
        above[held] = np.einsum("i,nij,j->n", weights, products[held], weights) - losses[held, best]
    error = above.std(ddof=1) / np.sqrt(len(above))
    return few_weights(products.mean(0)) if above.mean() <= error else alone
