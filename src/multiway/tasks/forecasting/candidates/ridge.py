"""Ridge from a window to its future."""

from multiway.models.windows import LinearFloor
from multiway.tasks.forecasting.candidate import ForecastCandidate, Rows, Sizes


class Ridge(ForecastCandidate[LinearFloor]):
    """Ridge of one matrix for all series, or of one for each, as validation has it."""

    name, cost, kind = "ridge", 2, "ridge"
    is_summed = True

    def build(self, sizes: Sizes) -> LinearFloor:
        """Matrices of zeros, which forecast the last value."""
        return LinearFloor(sizes.matrices, sizes.horizon, sizes.lookback, trained=False)

    def fit(self, model: LinearFloor, training: Rows, validation: Rows) -> None:
        """Take over the matrices that were chosen already: other candidates begin with them."""
        model.set_weight(training.ridge.weight)

    def refit(self, model: LinearFloor, fitted: LinearFloor | None, data: Rows) -> None:
        """Fit matrices of the same kind under the same penalties."""
        model.set_weight(data.ridge.refit(data.windows))


CANDIDATE = Ridge()
