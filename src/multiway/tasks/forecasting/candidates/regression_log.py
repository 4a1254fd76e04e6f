"""Regression on covariates of the logarithms of positive series."""

from typing import cast

from multiway.models.regression import Regression
from multiway.tasks.forecasting.candidate import Facts, ForecastCandidate, Rows, Sizes
from multiway.tasks.forecasting.candidates.regression import build_regression, fit_regression, refit_regression
from multiway.tasks.forecasting.candidates.ridge_log import TransformedRidge


class RegressionOfLogs(ForecastCandidate[TransformedRidge]):
    """A regression on logarithms, in which covariates multiply."""

    name, words, cost, effects = "regression_log", "regression of logarithms", 4, "regression"

    def can_answer(self, facts: Facts) -> bool:
        """Where there are covariates and a series is positive."""
        return facts.explained and facts.are_few and bool((facts.low > 0).any())

    def build(self, sizes: Sizes) -> TransformedRidge:
        """A regression of logarithms."""
        return TransformedRidge("log", sizes.lookback, sizes.horizon, 1, sizes.units, build_regression(sizes))

    def fit(self, model: TransformedRidge, training: Rows, validation: Rows) -> None:
        """Fit the regression to logarithms."""
        views = [model.transform(each.windows) for each in (training, validation)]
        fit_regression(cast(Regression, model.floor), *views)

    def refit(self, model: TransformedRidge, fitted: TransformedRidge | None, data: Rows) -> None:
        """Fit the regression to logarithms in the form that it has."""
        assert fitted is not None
        own, first = (cast(Regression, each.floor) for each in (model, fitted))
        refit_regression(own, first, model.transform(data.windows), data.ridge.windows)


CANDIDATE = RegressionOfLogs()
