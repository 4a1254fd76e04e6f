"""Forecasts on values whose tails are drawn in: from whole seasons of one phase, and from the last steps of all."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from multiway.models.open_buffers import OpenBuffers
from multiway.models.regression import Regressors
from multiway.models.windows import fill_gaps
from multiway.ops.robust_ridge import Affine, clipped_process, gaussian_features, robust_ridge

LAGS = (1, 2, 3, 7)
"""Seasons back whose values are seen."""
KNOWN_LAGS = (1, 7)
"""Those whose covariates are seen, besides the steps ahead."""
FAR, FAR_KNOWN, DAY = 0.3, 0.4, 2.5
"""What values before the last season, covariates of seasons back, and the season's place among seven count."""
WIDTH = 0.3
"""Of the kernel, for squared distances of features whose mean square is one."""
DRIFTS, REACH = (0.0, 0.6), 180.0
"""Shares of the kernel that fade over time, by 1/e in so many seasons, of the processes whose mean forecasts."""
NOISES = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Variances of the noise that are tried, in units of the process."""
LATEST = 2_500
"""Windows at most that a phase is fitted on, the last ones."""
CELLS = 4_000_000
"""Of kernels that are factorised at once."""
PASTS = (1, 2, 4)
"""Parts of the look-back that ridge sees: all, a half and a quarter."""
OWN = 1 / 3
"""Weight of a series' own fit relative to the one that all series share."""
SHRINKAGE = 0.01
"""Penalty of ridge for each row."""
EXAMPLES = 6_000
"""Rows at most of a fit of ridge, evenly drawn."""
DEVIATION, LEAST = 1.4826, 0.1
"""Deviations of a normal variable for each median absolute one; and what share of the deviation that is at least."""
PENALTIES = (1.0, 4.0, 16.0)
"""Times these that are tried."""


class DrawnIn(OpenBuffers):
    r"""Values as $\operatorname{arsinh}((y - m) / s)$, m and s median and median absolute deviation in training."""

    takes_covariates = True
    """Of the fit; 0 until it is chosen."""

    def __init__(self, num_series: int) -> None:
        super().__init__()
        self.penalty = nn.Buffer(torch.zeros((), dtype=torch.float64))
        self.centre = nn.Buffer(torch.zeros(num_series, dtype=torch.float64))
        self.spread = nn.Buffer(torch.ones(num_series, dtype=torch.float64))

    def into(self, values: Tensor) -> Tensor:
        """arsinh of values in robust units."""
        return torch.asinh((values.double() - self.centre) / self.spread)

    def back(self, values: Tensor) -> Tensor:
        """The inverse of `into`."""
        return torch.sinh(values) * self.spread + self.centre

    def set_units(self, rows: Tensor) -> None:
        """Take median and deviation from training rows, `(rows, series)`, NaN where missing."""
        values = rows.double()
        self.centre.copy_(values.nanmedian(0).values)
        moved = values - self.centre
        robust, deviation = DEVIATION * moved.abs().nanmedian(0).values, moved.square().nanmean(0).sqrt()
        spread = torch.where(robust > LEAST * deviation, robust, deviation)
        self.spread.copy_(torch.where(spread > 0, spread, 1.0))


class AlignedSeasons(DrawnIn):
    r"""Gaussian processes over the windows of one phase, by the mean of two that forget at different rates.

    $$k(z, z') = 1 + z^\top z' + (1 - d + d e^{-|t - t'| / 180}) e^{-w \lVert z - z' \rVert^2}$$

    t counts seasons, and z holds the seasons that lie 1, 2, 3 and 7 back, the covariates ahead and 1 and 7 seasons
    back, and which season of seven it is. Its windows are all those of the training rows whose first step ahead has the
    phase of the one that is forecast; errors are clipped in their order of time (see `clipped_process`). Training rows
    are kept, and the kernel is computed from them.

    Args:
        known: Features that are known ahead, the first of those that there are.

    Shape:
        past `(batch, lookback, series)` without gaps, covariates with their clock; forecast `(batch, horizon, series)`.
    """

    open_buffers = ("rows", "given", "phases", "weight")
    """Whose sizes are those of the training rows."""
    rows: Tensor
    """Values of the training, `(rows, series)`, as `into` has them."""
    given: Tensor
    """Covariates of the same rows, `(rows, series or 1, known)`."""
    first: Tensor
    """The number of the first row."""
    phases: Tensor
    """Those that were fitted."""
    weight: Tensor
    """Of every window, `(phases, processes, series, windows, horizon)`."""

    def __init__(self, lookback: int, horizon: int, season: int, num_series: int, known: int = 0) -> None:
        super().__init__(num_series)
        self.lookback, self.horizon, self.season, self.known = lookback, horizon, season, known
        for name, tensor in {
            "rows": torch.zeros(0, num_series, dtype=torch.float64),
            "given": torch.zeros(0, 1, known),
            "first": torch.zeros((), dtype=torch.long),
            "phases": torch.zeros(0, dtype=torch.long),
            "weight": torch.zeros(0, len(DRIFTS), num_series, 0, horizon, dtype=torch.float64),
        }.items():
            self.register_buffer(name, tensor)

    def forward(self, past: Tensor, covariates: Regressors) -> Tensor:
        """Forecast, in the units of the past."""
        clock, values = covariates.clock, self.into(past)
        known = covariates.known[..., : self.known].double()
        z = self._features(values[:, self._past], known[:, self._ahead], clock)
        out = torch.full((len(past), past.shape[2], self.horizon), torch.nan, dtype=torch.float64)
        for place, phase in enumerate(self.phases.tolist()):
            mine = clock % self.season == phase
            if mine.any():
                starts = self._starts(phase, self.weight.shape[3])
                near = _kernels(z[:, mine], self._examples(starts), self._gap(clock[mine], self._ahead_of(starts)))
                out[mine] = (near @ self.weight[place]).mean(0).transpose(0, 1)
        return self.back(out.mT).to(past.dtype)

    @property
    def _past(self) -> Tensor:
        """Steps of a look-back whose values are seen, the last season first."""
        return self.lookback + self._seasons(LAGS)

    @property
    def _ahead(self) -> Tensor:
        """Steps of a look-back and horizon whose covariates are seen, those ahead first."""
        return self.lookback + torch.cat([torch.arange(self.horizon), self._seasons(KNOWN_LAGS)])

    def _seasons(self, lags: Sequence[int]) -> Tensor:
        """Steps of seasons back, counted from the first step ahead."""
        starts = [-lag * self.season for lag in lags if lag * self.season <= self.lookback]
        return torch.cat([torch.arange(start, start + self.season) for start in starts])

    def _starts(self, phase: int, count: int, every: int = 1) -> Tensor:
        """Rows at which the last windows of a phase begin to look back, or every k-th of them."""
        last = len(self.rows) - self.lookback - self.horizon
        last -= (int(self.first) + last + self.lookback - phase) % self.season
        return (last + self.season * torch.arange(1 - count, 1))[(count - 1) % every :: every]

    def _examples(self, starts: Tensor) -> Tensor:
        """z of windows of the training rows, `(series, windows, features)`."""
        past, known = self.rows[starts[:, None] + self._past], self.given[starts[:, None] + self._ahead]
        return self._features(past, known.double(), self._ahead_of(starts))

    def _ahead_of(self, starts: Tensor) -> Tensor:
        """Numbers of the first steps ahead of training windows."""
        return self.first + starts + self.lookback

    def _gap(self, clock: Tensor, other: Tensor) -> Tensor:
        """Seasons between windows."""
        return (clock[:, None] - other).abs().double() / self.season

    def _features(self, past: Tensor, known: Tensor, clock: Tensor) -> Tensor:
        """z of windows, `(series, windows, features)`: what each counts, of a mean square of one in units of `into`.

        past `(windows, steps, series)`, known `(windows, steps, series or 1, features)`, the nearest season first.
        """
        own, covariates = past.permute(2, 0, 1), known.permute(2, 0, 1, 3).flatten(2)
        day = nn.functional.one_hot(clock // self.season % 7, 7).double()
        shape = (past.shape[2], len(past), -1)
        counts = torch.ones(own.shape[2] + covariates.shape[2] + 7, dtype=torch.float64)
        counts[self.season : own.shape[2]] = FAR
        counts[own.shape[2] + self.horizon * self.known : -7] = FAR_KNOWN
        counts[-7:] = DAY
        z = torch.cat([own, covariates.expand(shape), day.expand(shape)], -1)
        return z * counts / (counts[:-7].square().sum() + DAY**2).sqrt()

    def fit(self, rows: Tensor, known: Tensor, clock: Tensor, phases: Sequence[int] | None = None) -> None:
        """Fit phases, all if not given, to rows `(rows, series)`, NaN where missing, their covariates and numbers.

        The penalty is the variance of the noise, chosen by errors one window ahead in the later half of the last phase.
        """
        self.set_units(rows)
        values = self.into(rows)
        self.rows, self.given, self.first = _fill(values), known[..., : self.known], clock[0].clone()
        self.phases = torch.tensor(range(self.season) if phases is None else phases)
        count = min((len(rows) - self.lookback - self.horizon + 1) // self.season, LATEST)
        if not float(self.penalty):
            # That with the least absolute error ahead of the later half of windows that share no step
            starts = self._starts(int(self.phases[-1]), count, self._apart)
            losses = {noise: self._fit_windows(values, starts, noise)[0][:, len(starts) // 2 :] for noise in NOISES}
            self.penalty.fill_(min(losses, key=lambda noise: float(losses[noise].abs().nanmean())))
        each = (self._starts(phase, count) for phase in self.phases.tolist())
        fits = [self._fit_windows(values, starts, float(self.penalty)) for starts in each]
        self.weight = torch.stack([weight for _, weight in fits])

    def foreseen(self, rows: Tensor, phase: int) -> Tensor:
        """Forecasts of the windows of a phase of the rows that were fitted, each by those before it, in their order.

        `(windows, horizon, series)`; of a horizon of several seasons every k-th window, as these share no step.
        """
        values, starts = self.into(rows), self._starts(phase, self.weight.shape[3], self._apart)
        errors, _ = self._fit_windows(values, starts, float(self.penalty))
        ahead = starts[:, None] + self.lookback + torch.arange(self.horizon)
        return self.back(values[ahead] - errors.permute(1, 2, 0))

    @property
    def _apart(self) -> int:
        """Windows of a phase from one to the next that begins after it."""
        return -(-self.horizon // self.season)

    def _fit_windows(self, values: Tensor, starts: Tensor, noise: float) -> tuple[Tensor, Tensor]:
        """Errors one window ahead and weights of windows, some series at a time."""
        z = self._examples(starts)
        ahead = starts[:, None] + self.lookback + torch.arange(self.horizon)
        y = values[ahead].permute(2, 0, 1)
        gap, size = self._gap(self._ahead_of(starts), self._ahead_of(starts)), max(CELLS // max(len(starts), 1) ** 2, 1)
        parts = [
            clipped_process(_kernels(x, x, gap), own.expand(len(DRIFTS), -1, -1, -1), noise)
            for x, own in zip(z.split(size), y.split(size), strict=True)
        ]
        errors, weight = (torch.cat(each, 1) for each in zip(*parts, strict=True))
        return errors.mean(0), weight


def _kernels(x: Tensor, y: Tensor, gap: Tensor) -> Tensor:
    """`(processes, series, rows of x, rows of y)`."""
    straight, near, past = 1 + x @ y.mT, gaussian_features(x, y, WIDTH), torch.exp(-gap / REACH)
    return torch.stack([straight + near * (1 - drift + drift * past) for drift in DRIFTS])


def _fill(values: Tensor) -> Tensor:
    """Rows whose gaps hold the value before them."""
    return fill_gaps(values[None], values.isfinite()[None])[0]


class RobustRidge(DrawnIn):
    r"""$\operatorname{arsinh}((\hat y - m) / s) = v + b + W^\top z$, robust ridge on what moved since the last value v.

    z holds the window less its last value, the covariates ahead and 1 and 7 seasons back. W is the mean of fits on
    parts of the look-back, to all series, and of one on all of it to each alone.

    Args:
        known: Features that are known ahead, the first of those that there are.

    Shape:
        past `(batch, lookback, series)` without gaps; forecast `(batch, horizon, series)`.
    """

    middle: Tensor
    scale: Tensor
    bias: Tensor
    weight: Tensor

    def __init__(self, lookback: int, horizon: int, season: int, num_series: int, known: int = 0) -> None:
        super().__init__(num_series)
        self.lookback, self.horizon, self.known = lookback, horizon, known
        back = [lookback - lag * season for lag in sorted(KNOWN_LAGS, reverse=True) if lag * season <= lookback]
        self.seen = [*(step for start in back for step in range(start, start + season))]
        self.seen += range(lookback, lookback + horizon)
        features = lookback + known * len(self.seen)
        for name, sizes in {
            "middle": (features,),
            "scale": (features,),
            "bias": (num_series, horizon),
            "weight": (num_series, features, horizon),
        }.items():
            self.register_buffer(name, torch.zeros(sizes, dtype=torch.float64))

    def features(self, past: Tensor, covariates: Regressors | None = None) -> tuple[Tensor, Tensor]:
        """z of every window and series, `(batch, series, features)`, and the last value, `(batch, series, 1)`."""
        values = self.into(past).mT
        last, parts = values[..., -1:], [values - values[..., -1:]]
        if covariates is not None and self.known:
            own = covariates.known[:, self.seen, :, : self.known].double().permute(0, 2, 1, 3).flatten(2)
            parts.append(own.expand(-1, past.shape[2], -1))
        return torch.cat(parts, -1), last

    def forward(self, past: Tensor, covariates: Regressors | None = None) -> Tensor:
        """Forecast, in the units of the past."""
        z, last = self.features(past, covariates)
        out = self.bias + torch.einsum("bsf,sfh->bsh", (z - self.middle) / self.scale, self.weight)
        return self.back((out + last).mT).to(past.dtype)

    def fit(self, past: Tensor, covariates: Regressors | None, future: Tensor) -> None:
        """Fit on windows in the order of time, NaN where a step of the future is not known, in units that are set.

        The penalty is that of ridge for each row, in hundredths.
        """
        z, last = self.features(past, covariates)
        y = self.into(future).mT - last
        deviation, mean = torch.std_mean(z, (0, 1), correction=0)
        self.middle.copy_(mean)
        self.scale.copy_(torch.where(deviation > 1e-9, deviation, 1.0))
        z = (z - self.middle) / self.scale
        usable = y.isfinite().all(-1)
        shared = self._of_pasts(*_draw_in(z[usable], y[usable]))
        for series in range(z.shape[1]):
            x, target = _draw_in(z[usable[:, series], series], y[usable[:, series], series])
            own = self._ridge(x, target) if z.shape[1] > 1 and len(x) else shared
            self.weight[series] = (1 - OWN) * shared.weight + OWN * own.weight
            self.bias[series] = (1 - OWN) * shared.bias + OWN * own.bias

    def _of_pasts(self, x: Tensor, y: Tensor) -> Affine:
        """The mean of ridges that see parts of the look-back, as one that sees all of it; covariates are in each."""
        lines = []
        for part in PASTS:
            first = self.lookback - self.lookback // part
            line, unseen = self._ridge(x[:, first:], y), y.new_zeros(first, y.shape[1])
            lines.append(Affine(torch.cat([unseen, line.weight]), line.bias))
        return Affine(*(torch.stack(parts).mean(0) for parts in zip(*lines, strict=True)))

    def _ridge(self, x: Tensor, y: Tensor) -> Affine:
        return robust_ridge(x, y, SHRINKAGE * float(self.penalty) * len(x))


def _draw_in(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    rows = torch.linspace(0, len(x) - 1, min(len(x), EXAMPLES)).long()
    return x[rows], y[rows]
