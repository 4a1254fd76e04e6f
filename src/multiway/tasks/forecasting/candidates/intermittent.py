"""How often there is a demand, times its size: for series that are mostly zero."""

from multiway.models.smoothing import Intermittent
from multiway.tasks.forecasting.candidate import (
    Facts,
    ForecastCandidate,
    Rows,
    Sizes,
    pasts_and_futures,
    sample_windows,
)

MOSTLY = 0.5
"""Share of zeros among the training values of an intermittent series."""


class OftenTimesMuch(ForecastCandidate[Intermittent]):
    """Both smoothed."""

    name, cost = "intermittent", 8

    def can_answer(self, facts: Facts) -> bool:
        """Where a series is mostly zero and never below."""
        mostly = (facts.low >= 0) & (facts.zeros >= MOSTLY) & (facts.zeros < 1)
        return facts.are_few and bool(mostly.any())

    def build(self, sizes: Sizes) -> Intermittent:
        """Without a decay."""
        return Intermittent(sizes.horizon, sizes.units)

    def fit(self, model: Intermittent, training: Rows, validation: Rows) -> None:
        """Choose how fast the past is forgotten."""
        model.fit(map(pasts_and_futures, training.windows.batches(sample_windows(training.windows))))

    def refit(self, model: Intermittent, fitted: Intermittent | None, data: Rows) -> None:
        """Forget as fast."""
        assert fitted is not None
        model.decays.copy_(fitted.decays)


CANDIDATE = OftenTimesMuch()
