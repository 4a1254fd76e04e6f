"""Ridge from a window to its future: the floor under all others, which is fitted in any case."""

from multiway.models.windows import LinearFloor
from multiway.tasks.forecasting.candidate import ForecastCandidate, Rows, Sizes
from multiway.tasks.forecasting.floor import refit_floor


class Ridge(ForecastCandidate[LinearFloor]):
    """Ridge of one matrix for all series, or of one for each, as validation has it."""

    name, cost, kind = "ridge", 2, "ridge"
    is_summed = True

    def build(self, sizes: Sizes) -> LinearFloor:
        """Matrices of zeros, which forecast the last value."""
        return LinearFloor(sizes.matrices, sizes.horizon, sizes.lookback, trained=False)

    def fit(self, model: LinearFloor, training: Rows, validation: Rows) -> None:
        """Take the floor over."""
        model.set_weight(training.floor.weight)

    def refit(self, model: LinearFloor, fitted: LinearFloor | None, data: Rows) -> None:
        """Fit matrices of the same kind under the same penalties."""
        model.set_weight(refit_floor(data.floor, data.windows))


CANDIDATE = Ridge()
