"""The shape of a season times a level that ridge forecasts."""

import torch
from torch import Tensor

from multiway.models.flair import Flair, Moments
from multiway.tasks.forecasting.candidate import Facts, ForecastCandidate, Rows, Sizes, pasts_and_futures
from multiway.tasks.forecasting.windows import Windows

FITTED = 50_000
"""Windows of single series that it is fitted on."""
EARLIER = 2 / 3
"""Part of the training windows that a penalty is fitted on, to be tried on the rest."""


def some_of(training: Windows) -> Tensor:
    """Every k-th window, so that those of single series are not too many."""
    return torch.arange(0, len(training), max(len(training) * training.num_targets // FITTED, 1))


class ShapeOfSeason(ForecastCandidate[Flair]):
    """FLAIR."""

    name, words, cost = "flair", "season shape", 7

    def allowed(self, facts: Facts) -> bool:
        """Where windows hold two seasons."""
        return facts.are_few and 1 < facts.season <= facts.lookback / 2

    def build(self, sizes: Sizes) -> Flair:
        """A shape and a level."""
        return Flair(sizes.lookback, sizes.horizon, sizes.season, sizes.units)

    def fit(self, model: Flair, training: Rows, validation: Rows) -> None:
        """Fit the level on the earlier windows, and its penalty on the later ones."""
        self.refit(model, None, training)

    def refit(self, model: Flair, fitted: Flair | None, data: Rows) -> None:
        """The same on other windows."""
        index = some_of(data.windows)
        border = max(int(EARLIER * len(index)), 1)

        def moments(some: Tensor) -> list[Moments]:
            return [model.moments(*pasts_and_futures(batch)) for batch in data.windows.batches(some)]

        earlier = moments(index[:border])
        model.fit(earlier, moments(index[border:]) if len(index) > border else earlier)


CANDIDATE = ShapeOfSeason()
