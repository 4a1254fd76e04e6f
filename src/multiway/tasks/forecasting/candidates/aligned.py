"""Gaussian processes over the windows of one phase of the season, on values whose tails are drawn in."""

from collections.abc import Sequence

from multiway.models.aligned import DRIFTS, LATEST, AlignedSeasons
from multiway.tasks.forecasting.candidate import MOST_WEIGHTS, Facts, ForecastCandidate, Rows, Sizes, rows_with_gaps
from multiway.tasks.forecasting.windows import Windows

FEWEST = 100
"""Training windows of each phase at least."""
MOST_WORK = 2e11
"""Multiplications of all factorisations, some ten seconds."""


def fit_aligned(model: AlignedSeasons, windows: Windows, phases: Sequence[int] | None = None) -> None:
    """Fit processes on the rows of windows, of some phases alone where given."""
    assert windows.covariates is not None
    model.fit(rows_with_gaps(windows), windows.covariates.known, windows.covariates.clock, phases)


class Aligned(ForecastCandidate[AlignedSeasons]):
    """A process for every phase."""

    name, cost = "aligned", 10

    def can_answer(self, facts: Facts) -> bool:
        """Where every phase has enough windows for a process of its own, and all have not too many.

        They keep the covariates of each row, which must be the same for all windows.
        """
        if facts.issued:
            return False
        count, series = facts.windows // facts.season, facts.series
        if not 2 <= facts.season <= facts.lookback or count < FEWEST or (facts.network and not facts.explained):
            return False
        weights = len(DRIFTS) * count * facts.season * series * facts.horizon
        work = len(DRIFTS) * facts.season * series * min(count, LATEST) ** 3 / 3
        return facts.has_clock and weights <= MOST_WEIGHTS and work <= MOST_WORK

    def build(self, sizes: Sizes) -> AlignedSeasons:
        """Without rows."""
        known = sum(sizes.known) - sizes.calendar
        return AlignedSeasons(sizes.lookback, sizes.horizon, sizes.season, len(sizes.units.mean), known)

    def fit(self, model: AlignedSeasons, training: Rows, validation: Rows) -> None:
        """Fit, and choose the noise."""
        fit_aligned(model, training.windows)

    def refit(self, model: AlignedSeasons, fitted: AlignedSeasons | None, data: Rows) -> None:
        """Fit with the noise that it has."""
        assert fitted is not None
        model.penalty.copy_(fitted.penalty)
        fit_aligned(model, data.windows)


CANDIDATE = Aligned()
