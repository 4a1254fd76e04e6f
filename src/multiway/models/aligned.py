"""Forecasts from whole seasons: the values and covariates of the same phases, by robust ridge and a kernel."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from multiway.models.regression import Regressors
from multiway.ops.robust_ridge import Affine, gaussian_features, robust_ridge, whitening

LAGS = (1, 2, 3, 7)
"""Seasons back whose values are seen, where every phase has a fit of its own."""
KNOWN_LAGS = (1, 7)
"""Those whose covariates are seen, besides the seasons ahead."""
PASTS = (1, 2, 4)
"""Parts of the look-back that ridge sees, where all phases share a fit: all, a half and a quarter."""
OWN = 1 / 3
"""Weight of a series' own fit beside the one that all series share."""
LANDMARKS = 256
WIDTH, LINEAR = 0.1, 3.0
"""Of the kernel, and what its linear part counts beside it."""
NOISE, SHRINKAGE = 0.03, 0.01
"""Penalties of the kernel, and of ridge for each row."""
EXAMPLES = 12_000
"""Rows at most of a fit, evenly drawn."""
DEVIATION, LEAST = 1.4826, 0.1
"""Deviations of a normal variable for each median absolute one; and what share of the deviation that is at least."""


PENALTIES = (1.0, 4.0, 16.0)
"""Times these that are tried."""


class AlignedSeasons(nn.Module):
    r"""$\operatorname{arsinh}((\hat y - m) / s) = b + B z + A\,k(z, C)$, robust ridge and kernel ridge by their mean.

    z holds the seasons of the window that lie 1, 2, 3 and 7 back, the covariates ahead and 1 and 7 seasons back, and
    which season of seven it is; m and s are median and median absolute deviation of the training values. Ridge is
    fitted on all rows and on the later half, the kernel $e^{-w \lVert z - c \rVert^2 / p} + \ell z^\top c$ on all, by
    landmarks C. The matrices of a window are those of the phase of its first step ahead. Where the last value is
    subtracted, they are those of its series, z is the whole window, and there is no kernel: ridge on parts of the
    look-back, fitted to all series, and on all of it to each alone.

    Args:
        known: Features that are known ahead, the first of those that there are.
        moved: Subtract the last value, and let all phases share a fit.

    Shape:
        past `(batch, lookback, series)` without gaps;
        clock `(batch,)`, the number of the first step ahead, unless `moved`; forecast `(batch, horizon, series)`.
    """

    takes_covariates = True
    centre: Tensor
    spread: Tensor
    middle: Tensor
    scale: Tensor
    bias: Tensor
    weight: Tensor
    landmarks: Tensor
    bumps: Tensor
    penalty: Tensor
    """Times those of the kernel and of ridge."""

    def __init__(
        self, lookback: int, horizon: int, season: int, num_series: int, known: int = 0, *, moved: bool
    ) -> None:
        super().__init__()
        self.lookback, self.horizon, self.season, self.known, self.moved = lookback, horizon, season, known, moved
        features, groups = self._size(), num_series if moved else season
        marks = 0 if moved else LANDMARKS
        for name, sizes in {
            "centre": (num_series,), "spread": (num_series,), "middle": (features,), "scale": (features,),
            "bias": (groups, horizon), "weight": (groups, features, horizon),
            "landmarks": (groups, marks, features), "bumps": (groups, marks, horizon), "penalty": (),
        }.items():  # fmt: skip
            self.register_buffer(name, torch.zeros(sizes, dtype=torch.float64))

    def _size(self) -> int:
        ahead = self.horizon + len(self._known_steps)
        return len(self.steps) + self.known * ahead + (0 if self.moved else 7)

    @property
    def steps(self) -> list[int]:
        """Steps of a window whose values are seen: whole seasons, or all of them where phases share a fit."""
        return [*range(self.lookback)] if self.moved else self._seasons(LAGS)

    @property
    def _known_steps(self) -> list[int]:
        return self._seasons(KNOWN_LAGS)

    def _seasons(self, lags: Sequence[int]) -> list[int]:
        starts = [self.lookback - lag * self.season for lag in sorted(lags, reverse=True)]
        return [step for start in starts if start >= 0 for step in range(start, start + self.season)]

    def into(self, values: Tensor) -> Tensor:
        """arsinh of values in robust units."""
        return torch.asinh((values.double() - self.centre) / self.spread)

    def back(self, values: Tensor) -> Tensor:
        """The inverse of `into`."""
        return torch.sinh(values) * self.spread + self.centre

    def features(
        self, past: Tensor, covariates: Regressors | None = None, clock: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """z of every window and series, `(batch, series, features)`, and what was subtracted, `(batch, series, 1)`."""
        values = self.into(past).mT
        last = values[..., -1:] if self.moved else torch.zeros_like(values[..., -1:])
        parts = [values[..., self.steps] - last]
        if covariates is not None and self.known:
            seen = [*self._known_steps, *range(self.lookback, self.lookback + self.horizon)]
            own = covariates.known[:, seen, :, : self.known].double().permute(0, 2, 1, 3).flatten(2)
            parts.append(own.expand(-1, past.shape[2], -1))
        if not self.moved and clock is not None:
            day = nn.functional.one_hot(clock // self.season % 7, 7).double()
            parts.append(day[:, None].expand(-1, past.shape[2], -1))
        return torch.cat(parts, -1), last

    def forward(self, past: Tensor, covariates: Regressors | None = None, clock: Tensor | None = None) -> Tensor:
        """Forecast, in the units of the past."""
        z, last = self.features(past, covariates, clock)
        z = (z - self.middle) / self.scale
        out = torch.empty(*z.shape[:2], self.horizon, dtype=torch.float64)
        for group, rows in self._groups(clock, z):
            near = gaussian_features(z[rows], self.landmarks[group], WIDTH)
            out[rows] = self.bias[group] + z[rows] @ self.weight[group] + near @ self.bumps[group]
        return self.back((out + last).mT).to(past.dtype)

    def _groups(self, clock: Tensor | None, z: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Every fit, and which windows and series are its own, `(batch, series)`."""
        own = torch.arange(z.shape[1]) if clock is None or self.moved else (clock % self.season)[:, None]
        places = own.expand(z.shape[:2])
        for group in places.unique().tolist():
            yield group, places == group

    def set_units(self, rows: Tensor) -> None:
        """Take median and deviation from training rows, `(rows, series)`, NaN where missing."""
        values = rows.double()
        self.centre.copy_(values.nanmedian(0).values)
        moved = values - self.centre
        robust, deviation = DEVIATION * moved.abs().nanmedian(0).values, moved.square().nanmean(0).sqrt()
        spread = torch.where(robust > LEAST * deviation, robust, deviation)
        self.spread.copy_(torch.where(spread > 0, spread, 1.0))

    def fit(
        self, past: Tensor, covariates: Regressors | None, clock: Tensor | None, future: Tensor, penalty: float
    ) -> None:
        """Fit on windows in the order of time, NaN where a step of the future is not known."""
        z, last = self.features(past, covariates, clock)
        y = self.into(future).mT - last
        deviation, mean = torch.std_mean(z, (0, 1), correction=0)
        self.middle.copy_(mean)
        self.scale.copy_(torch.where(deviation > 1e-9, deviation, 1.0))
        z = (z - self.middle) / self.scale
        self.penalty.fill_(penalty)
        usable = y.isfinite().all(-1)
        if self.moved:
            shared = self._of_pasts(*_drawn(z[usable], y[usable]))
        for group, rows in self._groups(clock, z):
            x, target = _drawn(z[rows & usable], y[rows & usable])
            if not self.moved:
                self._fit_phase(group, x, target)
            elif z.shape[1] > 1 and len(x):
                self._set(group, [shared, self._ridge(x, target)], [1 - OWN, OWN])
            else:
                self._set(group, [shared], [1.0])

    def _of_pasts(self, x: Tensor, y: Tensor) -> Affine:
        """The mean of ridges that see parts of the look-back, as one that sees all of it; covariates are in each."""
        lines = []
        for part in PASTS:
            first = self.lookback - self.lookback // part
            line, unseen = self._ridge(x[:, first:], y), y.new_zeros(first, y.shape[1])
            lines.append(Affine(torch.cat([unseen, line.weight]), line.bias))
        return Affine(*(torch.stack(parts).mean(0) for parts in zip(*lines, strict=True)))

    def _set(self, group: int, lines: Sequence[Affine], weights: Sequence[float]) -> None:
        for part, values in (("weight", [line.weight for line in lines]), ("bias", [line.bias for line in lines])):
            mixed = sum(weight * value for weight, value in zip(weights, values, strict=True))
            getattr(self, part)[group] = mixed

    def _fit_phase(self, phase: int, x: Tensor, y: Tensor) -> None:
        """Half of kernel ridge, and half of ridge on all rows and on the later ones."""
        marks = x[_spread(len(x), LANDMARKS)]
        white, linear = whitening(marks, WIDTH), (LINEAR / x.shape[1]) ** 0.5
        both = torch.cat([linear * x, gaussian_features(x, marks, WIDTH) @ white], 1)
        kernel, size = robust_ridge(both, y, NOISE * float(self.penalty)), x.shape[1]
        straight = Affine(linear * kernel.weight[:size], kernel.bias)
        later = self._ridge(x[len(x) // 2 :], y[len(y) // 2 :])
        self._set(phase, [straight, self._ridge(x, y), later], [0.5, 0.25, 0.25])
        self.landmarks[phase] = marks
        self.bumps[phase] = white @ kernel.weight[size:] / 2

    def _ridge(self, x: Tensor, y: Tensor) -> Affine:
        return robust_ridge(x, y, SHRINKAGE * float(self.penalty) * len(x))


def _drawn(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    rows = _spread(len(x), min(len(x), EXAMPLES))
    return x[rows], y[rows]


def _spread(rows: int, count: int) -> Tensor:
    """Positions from the first to the last row, evenly spread."""
    return torch.linspace(0, rows - 1, count).long()
