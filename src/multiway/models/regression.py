"""Regression on covariates with errors that ridge forecasts: what they explain is taken out, and put back ahead."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.models.windows import History, LinearFloor, fill_gaps

REACH = 2
"""Steps before and after its own at which a covariate can act."""
MOST_PRODUCTS = 64
"""Products at most of what series are and what varies; of more there are none."""


class Issued(NamedTuple):
    """Covariates of rows that were issued several times, in the order of row, series, and when each was known.

    keys: `(vintages,)` int64, `(row * series + place of the series) * span + since`; a vintage is known to forecasts
        from after the row `since` on.
    known: `(vintages, features)`, some that are known ahead, NaN where nothing had been issued by then.
    seen: `(vintages, features)`, all of `Regressors.seen`.
    start: The first of the former among the features of `Regressors.known`.
    places: Those of the series.
    season: Steps after which a row stands in for one of which nothing had been issued.
    first: Rows that were left out before the first.
    """

    keys: Tensor
    known: Tensor
    seen: Tensor
    start: int
    places: range
    span: int
    season: int
    first: int = 0

    def look_up(self, starts: Tensor, lookback: int, horizon: int) -> tuple[Tensor, Tensor]:
        """Features of windows: the last issued up to the last row of each past.

        `(batch, lookback + horizon, series, features)`, and `(batch, lookback, series, features)`.

        Where nothing had been issued by then, what was known then of the season before stands in, or of the step before
        where a past is shorter than a season; before the first that was known, the next one does; 0 if there is none.
        """
        season = self.season if self.season <= lookback else 1
        rows = self.first + starts[:, None, None] + torch.arange(lookback + horizon)[:, None]
        cells = rows * self.places.stop + torch.tensor(self.places)
        cutoffs = self.first + starts[:, None, None] + lookback - 1
        place = torch.searchsorted(self.keys, cells * self.span + cutoffs, right=True) - 1
        is_known = (place >= 0) & (self.keys[place.clamp_min(0)] // self.span == cells)

        def whole(features: Tensor, steps: int) -> Tensor:
            found = torch.where(is_known[:, :steps, :, None], features[place[:, :steps].clamp_min(0)], torch.nan)
            padded = F.pad(found, (0, 0, 0, 0, -steps % season, 0), value=torch.nan)
            seasons = padded.unflatten(1, (-1, season)).flatten(2)
            return fill_gaps(seasons, seasons.isfinite()).view(padded.shape)[:, -steps:]

        return whole(self.known, lookback + horizon), whole(self.seen, lookback)

    def hide(self, part: str, start: int, stop: int) -> "Issued":
        """The same where some features of `Regressors` say nothing."""
        before, features = self.start if part == "known" else 0, getattr(self, part).clone()
        features[:, max(start - before, 0) : max(stop - before, 0)] = 0
        return self._replace(**{part: features})


class Regressors(NamedTuple):
    """Covariates of windows, or of rows without the batch axis; one series where they are common to all.

    known: `(batch, lookback + horizon, series or 1, features)`, known ahead.
    seen: `(batch, lookback, series or 1, features)`, known up to the last value alone.
    clock: `(batch,)` int64, the number of the first step ahead on the calendar; of rows that of each.
    history: All rows before the windows, for models that have a state.
    issued: Of rows, what windows see where that depends on when it was issued.
    """

    known: Tensor
    seen: Tensor
    clock: Tensor
    history: History | None = None
    issued: Issued | None = None

    def of_last(self, series: int) -> "Regressors":
        """Those of the last series; what is common to all stays."""
        history = None if self.history is None else self.history.of_last(series)
        issued = None if self.issued is None else self.issued._replace(places=self.issued.places[-series:])
        known, seen = self.known[..., -series:, :], self.seen[..., -series:, :]
        return self._replace(known=known, seen=seen, history=history, issued=issued)

    def hide(self, part: str, start: int, stop: int) -> "Regressors":
        """The same where some features of a part, `known` or `seen`, say nothing."""
        rows, issued = getattr(self, part).clone(), self.issued
        rows[..., start:stop] = 0
        return self._replace(**{part: rows}, issued=None if issued is None else issued.hide(part, start, stop))

    def of_rows(self, start: int, stop: int) -> "Regressors":
        """Those of some rows."""
        own, issued = slice(start, stop), self.issued
        issued = None if issued is None else issued._replace(first=issued.first + start)
        return Regressors(self.known[own], self.seen[own], self.clock[own], issued=issued)

    def of_windows(self, starts: Tensor, lookback: int, horizon: int) -> "Regressors":
        """Those of windows whose pasts begin at some of these rows."""
        known, seen = (
            rows.unfold(0, span, 1)[starts].movedim(-1, 1)
            for rows, span in ((self.known, lookback + horizon), (self.seen, lookback))
        )
        if self.issued is not None:
            ahead, seen = self.issued.look_up(starts, lookback, horizon)
            known[..., self.issued.start : self.issued.start + ahead.shape[-1]] = ahead
        return Regressors(known, seen, self.clock[starts + lookback])


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
