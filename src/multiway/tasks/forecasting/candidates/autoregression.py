"""Ridge of one step, run on."""

from multiway.models.autoregression import Autoregression
from multiway.tasks.forecasting.candidate import Facts, ForecastCandidate, Rows, Sizes
from multiway.tasks.forecasting.floor import fit_floor, fit_under

MOST = 50
"""Series at most that it is fitted on."""


class OneStep(ForecastCandidate[Autoregression]):
    """An autoregression that all series share."""

    name, cost = "autoregression", 12

    def allowed(self, facts: Facts) -> bool:
        """On few short series."""
        return facts.is_short and facts.series <= MOST

    def build(self, sizes: Sizes) -> Autoregression:
        """Without a weight."""
        return Autoregression(sizes.lookback, sizes.horizon)

    def fit(self, model: Autoregression, training: Rows, validation: Rows) -> None:
        """Fit a step."""
        step = fit_floor(training.windows.of_next(), validation.windows.of_next(), own=False)
        model.penalty.fill_(step.penalty)
        model.set_step(step.weight)

    def refit(self, model: Autoregression, fitted: Autoregression | None, data: Rows) -> None:
        """Fit a step under the penalty that it has."""
        assert fitted is not None
        model.penalty.copy_(fitted.penalty)
        windows = data.floor.windows + data.windows.horizon - 1
        model.set_step(fit_under(float(model.penalty), None, data.windows.of_next(), windows))


CANDIDATE = OneStep()
