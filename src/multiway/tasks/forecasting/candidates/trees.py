"""Boosted trees on the lags of a window: what they add to ridge's forecast where a series is not linear."""

import copy

import torch
from torch import Tensor, nn

from multiway.models.regression import Regressors
from multiway.models.tree_ensemble import TreeEnsemble
from multiway.models.windows import LinearFloor
from multiway.tasks.forecasting.candidate import (
    Facts,
    ForecastCandidate,
    Rows,
    Sizes,
    error_of,
    pasts_and_futures,
)
from multiway.tasks.forecasting.windows import Windows, covariates_of

ROUNDS, LEAVES, SMALLEST = 50, 8, 50
"""Trees, their leaves, and examples in a leaf at least: few, since windows overlap."""
LAGS, SEASONS, SHORT = 12, 2, 3
"""Values before the last that are seen, seasons back, and steps of the shorter mean."""
EXAMPLES = 5_000
"""Steps of windows at most that trees are fitted on, drawn from all."""


class LaggedTrees(nn.Module):
    r"""Ridge's forecast and what trees add to it, $\hat y_{t+h} = r_{t+h} + f(x_t, h)$, with one f for all series.

    x holds the last values, those one and two seasons before the step, means of the last three steps, of a season and
    of the window, and ridge's forecast, all less the last value; and the last value itself. Only windows whose looks
    are alike share a correction, so a trend beyond the training values is ridge's alone. Where covariates are heeded, x
    also has those of the step, of the step a season before it and of the last value, and the last of those of the past.

    Args:
        calendar: How many of the features that are known ahead, the last, are seen at the step alone.

    Shape:
        past `(batch, lookback, series)` in scaled units, without gaps; forecast `(batch, horizon, series)`.

    Cost:
        `ROUNDS` walks through a tree for every step of every series.
    """

    takes_covariates = True
    """Whether covariates say anything, as validation has it."""
    rounds, leaves, examples = ROUNDS, LEAVES, EXAMPLES

    def __init__(self, lookback: int, horizon: int, season: int, num_matrices: int, calendar: int = 0) -> None:
        super().__init__()
        self.lookback, self.horizon, self.season, self.calendar = lookback, horizon, season, calendar
        self.heeds = nn.Buffer(torch.tensor(False))
        self.floor = LinearFloor(num_matrices, horizon, lookback, trained=False)
        self.trees = TreeEnsemble(self.rounds, self.leaves, 1)

    def forward(self, past: Tensor, covariates: Regressors | None = None) -> Tensor:
        """Forecast, in scaled units."""
        ridge, added = self.floor(past), self.trees(self.features(past, covariates).flatten(0, 2))
        forecast: Tensor = ridge + added.view(len(past), past.shape[2], self.horizon).mT.to(ridge.dtype)
        return forecast

    def features(self, past: Tensor, covariates: Regressors | None = None) -> Tensor:
        """x and h of every step, `(batch, series, horizon, features)`.

        They are computed in float64 and rounded to float32: a tree jumps at a threshold, and so a window alone lies on
        the side where it lies in a batch.
        """
        steps = past.double().mT
        moved = steps - steps[..., -1:]
        spans = dict.fromkeys((SHORT, self.season, self.lookback))
        means = [moved[..., -count:].mean(-1, keepdim=True) for count in spans]
        of_window = torch.cat([moved[..., -LAGS - 1 : -1], *means, steps[..., -1:]], -1)
        ahead = torch.arange(self.horizon, device=past.device)
        of_steps = [ahead.double().expand(*steps.shape[:2], -1), self._ridge(moved), *self._earlier(moved, ahead)]
        of_window = of_window[:, :, None].expand(-1, -1, self.horizon, -1)
        found = torch.cat([of_window, torch.stack(of_steps, -1)], -1).float()
        if covariates is None or not self.heeds:
            return found
        return torch.cat([found, self._explaining(covariates).expand(-1, past.shape[2], -1, -1)], -1)

    def _explaining(self, covariates: Regressors) -> Tensor:
        """Covariates of every step, `(batch, series or 1, horizon, features)`."""
        ahead = torch.arange(self.horizon, device=covariates.known.device)
        before = self.lookback + ahead % self.season - self.season
        places = [before] if 1 < self.season <= self.lookback else []
        known, rest = covariates.known, covariates.known[..., : covariates.known.shape[-1] - self.calendar]
        seen = covariates.seen[:, -SHORT:].transpose(1, 2).flatten(2)[:, None].expand(-1, self.horizon, -1, -1)
        last = torch.full_like(ahead, self.lookback - 1)
        own = [known[:, self.lookback + ahead], *(rest[:, rows] for rows in (*places, last))]
        series = max(known.shape[2], seen.shape[2])
        return torch.cat([part.expand(-1, -1, series, -1) for part in (*own, seen)], -1).transpose(1, 2)

    def _ridge(self, moved: Tensor) -> Tensor:
        """Ridge's forecast less the last value."""
        return torch.einsum("nhl,bnl->bnh", self.floor.weight.double().expand(moved.shape[1], -1, -1), moved)

    def _earlier(self, moved: Tensor, ahead: Tensor) -> list[Tensor]:
        """Values one and two seasons before each step, as far as the window reaches."""
        reach = self.lookback // self.season if self.season > 1 else 0
        first = self.lookback + ahead % self.season
        return [moved[..., first - back * self.season] for back in range(1, min(reach, SEASONS) + 1)]

    def fit(
        self, past: Tensor, future: Tensor, weight: Tensor, covariates: Regressors | None = None, seed: int = 0
    ) -> None:
        """Fit on windows, NaN where a step of the future is not known, to what ridge's matrices miss."""
        self.floor.set_weight(weight)
        missed = (future - self.floor(past)).mT.flatten().double()
        known = torch.nonzero(missed.isfinite())[:, 0]
        drawn = torch.randperm(len(known), generator=torch.Generator().manual_seed(seed))[: self.examples]
        rows = known[drawn.sort().values]
        if len(rows) >= 2 * SMALLEST:
            self.grow(self.features(past, covariates).flatten(0, 2)[rows], missed[rows], seed)

    def grow(self, x: Tensor, y: Tensor, seed: int) -> None:
        """Fit trees by the library."""
        self.trees.fit(x, y, seed, min_samples_leaf=SMALLEST)

    def count_windows(self, windows: Windows) -> int:
        """All; with covariates as many as examples can be drawn from."""
        return max(self.examples // windows.num_targets, 1) if self.heeds else len(windows)


MOST_STEPS = 200_000
"""Steps of all training windows and series up to which trees are fitted: each is a walk through all of them."""


class Trees(ForecastCandidate[LaggedTrees]):
    """What trees add to ridge."""

    name, cost, effects = "trees", 11, "trees"
    library = ("sklearn", "trees")

    def can_answer(self, facts: Facts) -> bool:
        """On many rows of few steps."""
        return facts.is_long and facts.windows * facts.series * facts.horizon <= MOST_STEPS

    def build(self, sizes: Sizes) -> LaggedTrees:
        """Without a tree."""
        return LaggedTrees(sizes.lookback, sizes.horizon, sizes.season, sizes.matrices, sizes.calendar)

    def fit(self, model: LaggedTrees, training: Rows, validation: Rows) -> None:
        """Fit without covariates, then with them, and keep these where they err less on validation."""
        weight = training.ridge.weight
        _fit_trees(model, training.windows, weight)
        if not training.windows.is_explained:
            return
        error, trees = error_of(model, validation.windows), copy.deepcopy(model.trees.state_dict())
        model.heeds.fill_(True)
        _fit_trees(model, training.windows, weight)
        if error_of(model, validation.windows) >= error:
            model.heeds.fill_(False)
            model.trees.load_state_dict(trees)

    def refit(self, model: LaggedTrees, fitted: LaggedTrees | None, data: Rows) -> None:
        """Fit with covariates where they were kept."""
        assert fitted is not None
        model.heeds.copy_(fitted.heeds)
        _fit_trees(model, data.windows, data.ridge.refit(data.windows))

    def heeds(self, model: LaggedTrees) -> bool:
        """Whether covariates were kept."""
        return bool(model.heeds)


def _fit_trees(model: LaggedTrees, windows: Windows, weight: Tensor) -> None:
    """On windows that are evenly spread."""
    batch = windows.spread(model.count_windows(windows))
    model.fit(*pasts_and_futures(batch), weight, covariates_of(batch))


CANDIDATE = Trees()
