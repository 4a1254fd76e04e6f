"""Regression on covariates with errors that ridge forecasts: what they explain is taken out, and put back ahead."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.models.windows import History, LinearFloor

REACH = 2
"""Steps before and after its own at which a covariate can act."""
MOST_PRODUCTS = 64
"""Products at most of what series are and what varies; of more there are none."""


class Regressors(NamedTuple):
    """Covariates of windows, or of rows without the batch axis; one series where they are common to all.

    known: `(batch, lookback + horizon, series or 1, features)`, known ahead.
    seen: `(batch, lookback, series or 1, features)`, known up to the last value alone.
    clock: `(batch,)` int64, the number of the first step ahead on the calendar; of rows that of each.
    history: All rows before the windows, for models that have a state.
    """

    known: Tensor
    seen: Tensor
    clock: Tensor
    history: History | None = None

    def of_last(self, series: int) -> "Regressors":
        """Those of the last series; what is common to all stays."""
        history = None if self.history is None else self.history.of_last(series)
        return self._replace(known=self.known[..., -series:, :], seen=self.seen[..., -series:, :], history=history)


def lag(known: Tensor) -> Tensor:
    """Values from `REACH` steps before to as many after, 0 beyond the ends: `(…, steps, series, lags, features)`.

    known: `(…, steps, series, features)`.
    """
    padded = F.pad(known, (0, 0, 0, 0, REACH, REACH))
    return padded.unfold(-3, 2 * REACH + 1, 1).transpose(-1, -2)


class Regression(nn.Module):
    r"""Forecast y by ridge on what covariates leave of it, $y_t = \sum_k x_{t+k}^\top \beta_k + u_t$, u by ridge.

    $\beta$ is that of generalised least squares under errors u that are themselves forecast one step ahead
    (Cochrane & Orcutt 1949), so that it is one for all steps of the horizon. What a series is acts by products with
    what varies: a holiday may do in one region what it does not in another. What is known only up to the last value
    adds a linear map of its last steps to the forecast of u.

    Args:
        series: Series that are forecast.
        known, seen: Features of `Regressors`.
        static: How many of those that are known, the first, say what a series is.
        calendar: How many, the last, act at their own step alone, if at all.
        recent: Last steps of the look-back at which `seen` acts.
        num_matrices: Of ridge, as of `LinearFloor`.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.
    """

    takes_covariates = True
    """β, `(series, lags, columns)`."""
    """`(horizon, recent, features)`."""
    """Reach of effects, whether calendar and products have some, penalties, whether ridge is shared, as chosen."""

    def __init__(
        self,
        lookback: int,
        horizon: int,
        num_matrices: int,
        *,
        series: int,
        known: int,
        seen: int,
        recent: int,
        static: int = 0,
        calendar: int = 0,
    ) -> None:
        super().__init__()
        self.static, self.calendar = static, calendar
        self.varying = known - static - calendar
        products = static * self.varying
        self.products = products if products <= MOST_PRODUCTS else 0
        self.floor = LinearFloor(num_matrices, horizon, lookback, trained=False)
        columns = self.varying + self.products + calendar
        self.effect = nn.Buffer(torch.zeros(series, 2 * REACH + 1, columns))
        self.recent = nn.Buffer(torch.zeros(horizon, recent, seen))
        self.form = nn.Buffer(torch.zeros(10, dtype=torch.float64))

    def forward(self, past: Tensor, covariates: Regressors) -> Tensor:
        """Forecast, in scaled units."""
        effects, lookback = self.effects(covariates.known), past.shape[1]
        forecast = self.floor(past - effects[:, :lookback]) + effects[:, lookback:]
        last = covariates.seen[:, covariates.seen.shape[1] - self.recent.shape[1] :]
        return forecast + torch.einsum("btsf,htf->bhs", last, self.recent)  # type: ignore[no-any-return]

    def effects(self, known: Tensor) -> Tensor:
        """What the covariates explain of every step, `(…, steps, series)`."""
        columns = lag(self.columns(known))
        columns = columns.expand(*columns.shape[:-3], *self.effect.shape)
        return torch.einsum("...skf,skf->...s", columns, self.effect)

    def columns(self, known: Tensor) -> Tensor:
        """What has effects: all that varies, its products with what a series is, the calendar."""
        fixed, varying, calendar = known.split([self.static, self.varying, self.calendar], -1)
        products = (fixed[..., None] * varying[..., None, :]).flatten(-2)
        return torch.cat([varying, products[..., : self.products], calendar], -1)
