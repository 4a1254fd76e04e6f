"""Ridge on values whose tails are drawn in."""

from torch import Tensor

from multiway.models.aligned import EXAMPLES, PENALTIES, RobustRidge
from multiway.models.regression import Regressors
from multiway.tasks.forecasting.candidate import (
    MOST_WEIGHTS,
    Facts,
    ForecastCandidate,
    Rows,
    Sizes,
    pasts_and_futures,
    rows_with_gaps,
)
from multiway.tasks.forecasting.windows import Windows, covariates_of


def choose_penalty(model: RobustRidge, training: Windows, validation: Windows) -> None:
    """Take the penalty under which a fit on training errs least on validation, in the units of its fit."""
    past, known, future = _examples(validation)

    def loss(penalty: float) -> float:
        model.penalty.fill_(penalty)
        fit_robust(model, training)
        return float((model.into(model(past, known)) - model.into(future)).abs().nanmean())

    model.penalty.fill_(min(PENALTIES, key=loss))


def fit_robust(model: RobustRidge, windows: Windows) -> None:
    """Fit on windows under the penalty of a model."""
    model.set_units(rows_with_gaps(windows))
    model.fit(*_examples(windows))


def _examples(windows: Windows) -> tuple[Tensor, Regressors | None, Tensor]:
    """Pasts, covariates and futures of windows, evenly spread; the features of all are held at once."""
    batch = windows.spread(max(EXAMPLES // windows.num_targets, 1))
    past, future = pasts_and_futures(batch)
    return past, covariates_of(batch), future


class Robust(ForecastCandidate[RobustRidge]):
    """Robust ridge, of all series and of each."""

    name, cost = "robust", 9

    def can_answer(self, facts: Facts) -> bool:
        """On many rows, where no network is trained."""
        steps = facts.lookback + facts.known * (facts.lookback + facts.horizon)
        weights = facts.series * facts.horizon * steps
        return facts.is_long and not facts.network and facts.are_few and weights <= MOST_WEIGHTS

    def build(self, sizes: Sizes) -> RobustRidge:
        """Without a fit."""
        known = sum(sizes.known) - sizes.calendar
        return RobustRidge(sizes.lookback, sizes.horizon, sizes.season, len(sizes.units.mean), known)

    def fit(self, model: RobustRidge, training: Rows, validation: Rows) -> None:
        """Fit under the penalty that validation prefers."""
        choose_penalty(model, training.windows, validation.windows)
        fit_robust(model, training.windows)

    def refit(self, model: RobustRidge, fitted: RobustRidge | None, data: Rows) -> None:
        """Fit under the penalty that it has."""
        assert fitted is not None
        model.penalty.copy_(fitted.penalty)
        fit_robust(model, data.windows)


CANDIDATE = Robust()
