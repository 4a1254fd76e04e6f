"""`GridForecaster`: the task in scikit-learn's manners."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from multiway.tasks.estimator import Estimator, locate, own_score
from multiway.tasks.grids.backtest import backtest_frame
from multiway.tasks.grids.encode import PreparedGrid
from multiway.tasks.grids.model import forecast_fields, quantiles_of
from multiway.tasks.grids.writing import as_xarray, in_order


class GridForecaster(Estimator):
    """Forecast the next fields of a grid, by a blend of floors for each lead that validation chooses.

    A grid is a `DataArray` or `Dataset` of xarray, an array with time first, or a path.

    `fit` sets `run_` and `scores_` (a frame).
    """

    task = "grids"
    first = "horizon"
    apart = ("split.",)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on a grid; nothing is written to disk, and y is not looked at.

        Raises:
            DataError: The grid is not sound, or has too few times to be split.
        """
        return self._fit(locate(X), self.config(X))

    def predict(
        self, X: Any = None, model: str | None = None, *, levels: Sequence[float] = (), far: bool = False
    ) -> Any:
        """The next `horizon` fields after the end of a grid, or of that of the fit, in its order of axes.

        xarray gives a `DataArray` with the coordinates of the grid and its next times; else an array. `model` names a
        candidate in place of the answer. With `levels` in percent the ends of these bands come first, as an axis of
        quantiles in rising order, the answer in their middle. With `far`, what lies far outside the training is
        answered too, with a warning.
        """
        run = self._run().with_answer(model)
        later: PreparedGrid = run.prepared if X is None and run.prepared is not None else self._prepared(X)
        self._guarded(later, later.source, far)
        whole = run.state.spread(forecast_fields(run, later, levels))
        shares = quantiles_of(levels) if levels else ()
        if not later.cube.templates:
            return in_order(later.cube, whole)
        return as_xarray(later.cube, whole, later.cube.times.later(run.state.step, run.config.horizon), shares)

    def evaluate(self, X: Any) -> pd.DataFrame:
        """Every score on another grid, and those of the floors."""
        return self._scores_of(X)

    def backtest(self, X: Any = None, cutoffs: int = 10, *, step: int | None = None) -> pd.DataFrame:
        """Errors from past times of a grid, or of that of the fit, `cutoff, lead, model, rmse`; see the command."""
        run = self._run()
        own = run.prepared is not None and X is None
        grid: PreparedGrid = run.prepared if own else self._prepared(X)
        return backtest_frame(run, grid, cutoffs, step)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the root mean squared error over all leads, in the units of the grid."""
        return -own_score(self.evaluate(X), "rmse", model=np.str_(self._run().task.score_name(self._run())))
