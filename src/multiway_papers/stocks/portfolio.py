"""An equal-weight long-short portfolio held from close to close: weights, trading, costs, and what came of it."""

import dataclasses
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.errors import ConfigError

Floats = NDArray[np.float64]
YEAR, CALENDAR_YEAR = 252, 365
"""Trading days in a year: of an exchange that closes at weekends, and of one that never does."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Track:
    """A portfolio day by day; axes after the days are portfolios side by side.

    gross: Return of each day before costs, `(days, ...)`.
    net: The same after costs.
    traded: Bought and sold for that day, as a share of the capital.
    """

    gross: Floats
    net: Floats
    traded: Floats

    @property
    def wealth(self) -> Floats:
        """What a capital of 1 has become by the end of each day."""
        return np.asarray(np.cumprod(1 + self.net, axis=0))


def long_short_weights(p_up: Floats, top: float | None = None, sectors: NDArray[np.int64] | None = None) -> Floats:
    """Half the capital bought in equal parts, half sold short; along the last axis, NaN is not tradable.

    `sectors`, a number for each ticker, part the capital by how many of their tickers are tradable, and each is traded
    alone. As much of a sector is bought as is sold short; one without both sides holds nothing.

    Without `top`, every ticker above one half is bought and every one below is sold short; a side without a ticker
    stays empty. With it, that share at either end of the ranking, at least one ticker each. Tickers with equal
    probabilities share the places that are left, so a model that ranks nothing holds nothing.
    """
    if top is not None and not 0 < top <= 0.5:
        raise ConfigError(f"backtest: the share at either end must be above 0 and at most 0.5. Got top={top:g}.")
    if sectors is not None:
        weights = np.zeros_like(p_up)
        for sector in np.unique(sectors):
            own = np.where(sectors == sector, p_up, np.nan)
            held = long_short_weights(own, top)
            is_neutral = (held > 0).any(axis=-1, keepdims=True) & (held < 0).any(axis=-1, keepdims=True)
            count, every = (np.isfinite(values).sum(axis=-1, keepdims=True) for values in (own, p_up))
            weights += np.where(is_neutral, count / np.maximum(every, 1), 0.0) * held
        return weights
    if top is None:
        long, short = (p_up > 0.5).astype(float), (p_up < 0.5).astype(float)
    else:
        known = np.isfinite(p_up).sum(axis=-1, keepdims=True)
        places = np.minimum(np.maximum(np.round(top * known), 1), known // 2)
        long, short = _highest(p_up, places), _highest(-p_up, places)
    return np.asarray(_half(long) - _half(short))


def _highest(values: Floats, places: Floats) -> Floats:
    """1 for the highest `places` along the last axis; those that tie for the last places get a part each."""
    filled = np.where(np.isfinite(values), values, -np.inf)
    last = np.maximum(places.astype(int) - 1, 0)
    border = np.take_along_axis(-np.sort(-filled, axis=-1), last, axis=-1)
    above, level = filled > border, (filled == border) & np.isfinite(filled)
    share = (places - above.sum(axis=-1, keepdims=True)) / np.maximum(level.sum(axis=-1, keepdims=True), 1)
    return np.asarray(np.where(places > 0, above + level * share, 0.0))


def _half(chosen: Floats) -> Floats:
    total = chosen.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(chosen, 2 * total, out=np.zeros_like(chosen), where=total > 0))


def trade(targets: Iterable[Floats], returns: Floats, cost: float, *, overnight: bool = True) -> Track:
    """Trade to each day's weights before it, and hold them for the day, through which they drift.

    targets: Weights of each day, `(..., tickers)`; `returns` are `(days, tickers)`, NaN where there is none.
    cost: Of a unit of capital bought or sold, as a share of it; what is held at the end is not sold.
    overnight: What is held goes over to the next day; else all is sold at the end of each day, the last too.
    """
    held: Floats | float = 0.0
    days = []
    for weights, moved in zip(targets, np.nan_to_num(returns), strict=True):
        gross = (weights * moved).sum(axis=-1)
        after = np.expand_dims(1 + gross, -1)
        drifted = np.divide(weights * (1 + moved), after, out=np.zeros_like(weights), where=after > 0)
        traded = np.abs(weights - held).sum(axis=-1)
        if overnight:
            held = drifted
        else:
            traded = traded + np.abs(drifted).sum(axis=-1)
        days.append((gross, (1 + gross) * (1 - cost * traded) - 1, traded))
    gross, net, traded = (np.stack(column) for column in zip(*days, strict=True))
    return Track(gross=gross, net=net, traded=traded)


def buy_and_hold(returns: Floats, *, cost: float) -> Track:
    """Buy every ticker in equal parts before the first day and never trade; a day without a return changes nothing."""
    growth = np.cumprod(1 + np.nan_to_num(returns), axis=0).mean(axis=1)
    gross = growth / np.concatenate([[1.0], growth[:-1]]) - 1
    traded = np.zeros(len(gross))
    traded[:1] = 1.0
    return Track(gross=gross, net=(1 + gross) * (1 - cost * traded) - 1, traded=traded)


def random_rankings(
    p_up: Floats,
    returns: Floats,
    *,
    top: float | None,
    cost: float,
    draws: int,
    seed: int,
    overnight: bool = True,
    sectors: NDArray[np.int64] | None = None,
) -> Track:
    """The same trading with the tickers' columns of probabilities exchanged at random, `(days, draws)`.

    A column stays whole, so a random portfolio trades as often as the one it is compared with. Where the borrowed
    probability is missing for a tradable ticker, that day's median stands for it.
    """
    chance = np.random.default_rng(seed)
    orders = np.stack([chance.permutation(p_up.shape[1]) for _ in range(draws)])

    def weights(values: Floats) -> Floats:
        tradable = np.isfinite(values)
        middle = np.median(values[tradable]) if tradable.any() else np.nan
        borrowed = np.where(tradable, values, middle)[orders]
        return long_short_weights(np.where(tradable, borrowed, np.nan), top, sectors)

    return trade(map(weights, p_up), returns, cost, overnight=overnight)


def rank_correlations(p_up: Floats, returns: Floats) -> Floats:
    """Spearman's correlation of probabilities and returns over the tickers of each day, the rank IC of the day.

    NaN on a day on which fewer than two tickers are known, or all have one probability or one return.
    """
    known = np.isfinite(p_up) & np.isfinite(returns)
    ranks = (pd.DataFrame(np.where(known, values, np.nan)).rank(axis=1).to_numpy() for values in (p_up, returns))
    first, second = (values - np.nanmean(values, axis=1, keepdims=True) for values in ranks)
    scale = np.sqrt(np.nansum(first**2, axis=1) * np.nansum(second**2, axis=1))
    found = np.nansum(first * second, axis=1)
    return np.asarray(np.divide(found, scale, out=np.full(len(scale), np.nan), where=scale > 0))


def sharpe(returns: Floats, days_per_year: int = YEAR) -> tuple[float | None, float | None]:
    """Annualised ratio of mean to standard deviation, and its standard error; None where nothing varies.

    The error is Lo's (2002, eq. 9) for returns that do not depend on one another: √((1 + s²/2) / days), s the daily
    ratio, times the root of the days in a year.
    """
    days = len(returns)
    spread = float(returns.std(ddof=1)) if days > 1 else 0.0
    if spread <= 1e-15:
        return None, None
    daily = float(returns.mean()) / spread
    year = float(np.sqrt(days_per_year))
    return daily * year, float(np.sqrt((1 + daily**2 / 2) / days)) * year


def max_drawdown(wealth: Floats) -> float:
    """Largest fall from the highest wealth so far, the capital of 1 at the start among it, as a share."""
    whole = np.concatenate([[1.0], wealth])
    return float((1 - whole / np.maximum.accumulate(whole)).max())
