"""Boosted trees of lags, on what ridge misses."""

import copy

from torch import Tensor

from multiway.models.lagged_trees import EXAMPLES, LaggedTrees
from multiway.tasks.forecasting.candidate import (
    Facts,
    ForecastCandidate,
    Rows,
    Sizes,
    error_of,
    pasts_and_futures,
)
from multiway.tasks.forecasting.floor import refit_floor
from multiway.tasks.forecasting.windows import Windows, covariates_of

MOST_STEPS = 200_000
"""Steps of all training windows and series up to which trees are fitted: each is a walk through all of them."""


class Trees(ForecastCandidate[LaggedTrees]):
    """What trees add to ridge."""

    name, cost, effects = "trees", 11, "trees"
    library = ("sklearn", "trees")

    def allowed(self, facts: Facts) -> bool:
        """On many rows of few steps."""
        return facts.is_long and facts.windows * facts.series * facts.horizon <= MOST_STEPS

    def build(self, sizes: Sizes) -> LaggedTrees:
        """Without a tree."""
        return LaggedTrees(sizes.lookback, sizes.horizon, sizes.season, sizes.matrices, sizes.calendar)

    def fit(self, model: LaggedTrees, training: Rows, validation: Rows) -> None:
        """Fit without covariates, then with them, and keep these where they err less on validation."""
        weight = training.floor.weight
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
        _fit_trees(model, data.windows, refit_floor(data.floor, data.windows))

    def heeds(self, model: LaggedTrees) -> bool:
        """Whether covariates were kept."""
        return bool(model.heeds)


def _fit_trees(model: LaggedTrees, windows: Windows, weight: Tensor) -> None:
    """On all windows; with covariates on as many, evenly spread, as examples can be drawn from."""
    count = max(EXAMPLES // windows.num_targets, 1) if model.heeds else len(windows)
    batch = windows.spread(count)
    model.fit(*pasts_and_futures(batch), weight, covariates_of(batch))


CANDIDATE = Trees()
