"""Ridge on the logarithms of positive series."""

from typing import ClassVar, cast

import torch

from multiway.models.transformed_ridge import Transform, TransformedRidge
from multiway.models.windows import LinearFloor
from multiway.tasks.forecasting.candidate import Facts, ForecastCandidate, Rows, Sizes
from multiway.tasks.forecasting.floor import fit_floor, fit_under
from multiway.tasks.forecasting.windows import Windows


def transformed(windows: Windows, model: TransformedRidge) -> Windows:
    """The same windows of transformed rows."""
    rows = model.into(windows.rows)
    return windows.with_rows(rows if windows.observed is None else torch.where(windows.observed, rows, 0.0))


class RidgeOfLogs(ForecastCandidate[TransformedRidge]):
    """Ridge on transformed series, one matrix for all."""

    name, words, cost, kind = "ridge_log", "ridge of logarithms", 5, "ridge"
    transform: ClassVar[Transform] = "log"

    def allowed(self, facts: Facts) -> bool:
        """Where a series is positive."""
        return facts.are_few and bool((facts.low > 0).any())

    def build(self, sizes: Sizes) -> TransformedRidge:
        """Ridge of a transform."""
        return TransformedRidge(self.transform, sizes.lookback, sizes.horizon, 1, sizes.units)

    def fit(self, model: TransformedRidge, training: Rows, validation: Rows) -> None:
        """Fit ridge to transformed rows."""
        own = fit_floor(transformed(training.windows, model), transformed(validation.windows, model), own=False)
        model.penalty.fill_(own.penalty)
        cast(LinearFloor, model.floor).set_weight(own.weight)

    def refit(self, model: TransformedRidge, fitted: TransformedRidge | None, data: Rows) -> None:
        """Fit ridge to transformed rows under the penalty that it has."""
        assert fitted is not None
        model.penalty.copy_(fitted.penalty)
        rows = transformed(data.windows, model)
        cast(LinearFloor, model.floor).set_weight(fit_under(float(model.penalty), None, rows, data.floor.windows))


CANDIDATE = RidgeOfLogs()
