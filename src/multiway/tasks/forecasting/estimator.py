"""`Forecaster`: the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import pandas as pd

from multiway.data.sources.frames import as_library, library_of, source_name
from multiway.errors import ConfigError, warn
from multiway.tasks.answers import positions_of
from multiway.tasks.estimator import Estimator, locate, own_score
from multiway.tasks.forecasting.anomalies import LEVEL, score_values
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.covariates import Covariates
from multiway.tasks.forecasting.drawing import plot_forecast
from multiway.tasks.forecasting.encode import add_updates, read_later
from multiway.tasks.forecasting.explain import Explanation, explain_windows
from multiway.tasks.forecasting.forecasts import Cutoffs, backtest_frame, future_frame
from multiway.tasks.forecasting.later_rows import join_rows
from multiway.tasks.forecasting.panel import Columns, Panel, words_on_ended
from multiway.tasks.forecasting.paths import forecast_table
from multiway.tasks.forecasting.plan import read_plan
from multiway.tasks.forecasting.read import with_static
from multiway.tasks.forecasting.refit import take_in
from multiway.tasks.protocol import OURS, Row
from multiway.tasks.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DRAWN = 6
"""Series that `plot` draws where none is named."""


class Selected(NamedTuple):
    """What validation chose: in a sentence, the weights of the candidates, and those by part of the horizon.

    answer: Name of the candidate that answers, or "blend".
    weight: Of the network.
    errors: Losses that were compared, by candidate.
    """

    sentence: str
    answer: str
    weight: float
    weights: dict[str, float]
    shares: list[Row]
    errors: dict[str, float]


class Forecaster(Estimator):
    """Forecast a panel of series by what validation prefers: closed forms, classical models, networks, or their blend.

    `fit` sets `run_`, `scores_` (a frame), `selection_`, `coverage_`, `n_features_in_` and `feature_names_in_`.
    """

    task = "forecast"

    first, apart = "horizon", ()

    def fit(self, X: object, y: None = None, *, static_df: object = None) -> Self:
        """Fit on a frame (pandas or polars, wide or long), a series, an array of rows by series, or the path of a file.

        Nothing is written to disk. The rows of a series or an array without times are counted.

        Args:
            X: The data.
            y: Nothing; it is there for scikit-learn.
            static_df: A row for each series of a long table, as a frame or a path: the columns that name it, and others
                that say what it is.

        Raises:
            DataError: The data is not sound, or too short.
            ConfigError: A `y` is given, or an argument does not fit.
        """
        _refuse_target("fit", y)
        config, (source, static) = self.config(), map(locate, (X, static_df))
        if isinstance(X, str | Path) and (static_df is None or isinstance(static_df, str | Path)):
            own = {} if static_df is None else {"static_data": str(static_df)}
            self._fit(source, config.replace(data=str(X), **own))
            self._rows = None
        else:
            self._static = static
            self._rows, config = self._describe(source, config)
            self._fit(self._rows, config)
        self._library = library_of(X)
        return self

    def _describe(self, source: object, config: ForecastConfig) -> tuple[object, ForecastConfig]:
        """Rows, what their series are, and a config that names those columns as well."""
        if self._static is None:
            return source, config
        rows, names = with_static(source, self._static, config.read)
        return rows, config.replace(static=(*config.static, *(name for name in names if name not in config.static)))

    def update(self, X: object) -> Self:
        """Take in rows that came after those of `fit`, as a frame or the path of a file of the same columns.

        All candidates are refitted on all rows, under the settings that validation chose; networks are with `refit`
        all. Weights and bands stay as they are. Scores are those of `fit`.

        Raises:
            DataError: The rows do not follow on the others.
            ConfigError: The forecaster was loaded without its data, or fitted with `refit` none.
        """
        run, data = self._run(), self._run().config.data
        if data is None and self._rows is None:
            raise ConfigError("Forecaster.update: it was loaded without its data. Fit one on all rows.")
        own = self._rows if data is None else run.task.locate(data)
        if data is not None and isinstance(X, str | Path):
            self._take(take_in(run, own, str(X)))
            return self
        prepared = run.task.prepare(run.config, own) if run.prepared is None else run.prepared
        columns, roles = run.state.columns, run.config.roles
        rows, notes = join_rows([add_updates(run.config, own, columns), locate(X)], run.config.read, columns, roles)
        for words in notes:
            warn(f"{source_name(X)}: {words}")
        alone = run.config.replace(data=None, updates=())
        self._take(take_in(dataclasses.replace(run, config=alone, prepared=prepared), rows))
        self._rows = rows
        return self

    _rows = cast(object, None)
    _static = cast(object, None)

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.selection_ = Selected(*map(run.facts["selection"].get, Selected._fields))
        self.coverage_ = run.facts["coverage"]
        self.n_features_in_ = len(run.state.names)
        self.feature_names_in_ = np.array(run.state.names, dtype=object)

    def predict(
        self,
        X: object = None,
        *,
        future_df: object = None,
        levels: float | Sequence[float] | None = None,
        quantiles: float | Sequence[float] = (),
        layout: str | None = None,
        paths: int | None = None,
        total: bool = False,
        hierarchy: Sequence[str] = (),
        far: bool = False,
    ) -> Any:
        """Forecast the steps after the end of the fitted data, or of another frame, in the kind that `fit` was given.

        A loaded forecaster reads the file that it was refitted on; one fitted in memory needs the frame.

        Args:
            X: Other history, at least `lookback` steps.
            future_df: The next rows of covariates that are known ahead: a frame, or the path of a file.
            levels: One or several levels of intervals in percent; those of the fit if neither they nor quantiles are
                given.
            quantiles: One or several probabilities of quantiles; column `multiway-q-10` is that of 0.1.
            layout: "long" or "wide"; that of the data if not given.
            paths: Draw so many sample paths in place of bands.
            total: Forecast the sum over the steps of each series, with bands.
            hierarchy: Columns that name the series, the coarsest first: forecast the sums of each level, with bands.
            far: Forecast series, and from covariates, that lie far outside the training too.
        """
        bands = None if levels is None else _numbers(levels, "levels")
        shares, panel = _numbers(quantiles, "quantiles"), self._panel(X)
        frame = forecast_table(
            self._run(),
            panel,
            self._plan(panel, future_df, far),
            levels=bands,
            layout=layout or panel.layout,
            quantiles=shares,
            paths=paths,
            total=total,
            hierarchy=hierarchy,
        )
        return as_library(frame, self._library if X is None else library_of(X))

    def _plan(self, panel: Panel, future_df: object, far: bool) -> Covariates | None:
        """The next rows of covariates, after warnings of what is unusual in the panel."""
        run = self._run()
        self._guarded(panel, panel.source, far)
        for words in words_on_ended(panel, run.state.targets, run.config.horizon, run.config.lookback):
            warn(f"{panel.source}: {words}.")
        return read_plan(run, panel, future_df, far=far)

    def evaluate(self, X: object) -> pd.DataFrame:
        """Score every window of a later frame with model and scaler as they are."""
        run = self._run()
        later = run.prepare_scored(locate(X))
        return pd.DataFrame(run.task.score(run, run.task.predict(run, later, "test"), later.source))

    def score(self, X: object, y: None = None) -> float:
        """Negative loss by the metric that decides, on scaled data but for pinball, so that greater is better.

        Raises:
            ConfigError: A `y` is given.
        """
        _refuse_target("score", y)
        scale = "original" if self.metric == "pinball" else "scaled"
        return -own_score(self.evaluate(X), self.metric, {"scale": scale}, OURS)

    def backtest(
        self,
        X: object = None,
        *,
        cutoffs: Cutoffs = 10,
        step: int | None = None,
        refit_every: int | None = None,
        levels: float | Sequence[float] = (),
    ) -> pd.DataFrame:
        """Forecast from past moments, given as times or by their number and step, with bands of some levels.

        With `refit_every` all but networks are refitted before every so many of them, on the rows up to there.
        """
        run = self._run()
        frame = backtest_frame(run, self._panel(X), cutoffs, step, refit_every, _numbers(levels, "levels"))
        columns: Columns = run.state.columns
        return columns.rename(frame)

    cross_validation = backtest

    def anomalies(self, X: object = None, *, band: float = LEVEL) -> pd.DataFrame:
        """Score every past value against the band of a forecast of one step; a `score` above 1 lies outside.

        See `multiway.tasks.forecasting.anomalies.score_values`.
        """
        return score_values(self._run(), self._panel(X), band)

    def plot(
        self,
        X: object = None,
        *,
        series: Sequence[str] = (),
        future_df: object = None,
        levels: float | Sequence[float] = 80,
    ) -> "Figure":
        """Draw the last rows of the history, the forecast and its bands; `series` may name some, else the first six.

        Raises:
            ConfigError: matplotlib is not installed, or a name is none of the series.
        """
        panel, percentages = self._panel(X), _numbers(levels, "levels")
        targets = self._run().state.targets
        places = positions_of(series, targets, "Forecaster.plot: there is no series")
        names = [targets[place] for place in places] or targets[:MOST_DRAWN]
        plan = self._plan(panel, future_df, False)
        return plot_forecast(
            panel, future_frame(self._run(), panel, percentages, "long", plan=plan), names, percentages
        )

    def explain(self, X: object = None) -> Explanation:
        """Attention per mode, averaged over test windows and of the last window; of another frame the last alone."""
        run, panel = self._run(), self._panel(X)
        return explain_windows(run, panel, run.prepared.windows["test"] if X is None and run.prepared else None)

    def _panel(self, X: object) -> Panel:
        run = self._run()
        source = run.config.data if X is None else X
        if X is None and run.prepared is not None:
            panel: Panel = run.prepared.panel
            return panel
        if source is None:
            raise ConfigError("Forecaster: it was loaded without its data. Give a frame with the history.")
        source = add_updates(run.config, locate(source), run.state.columns) if X is None else locate(source)
        config = run.config if run.config.candidates is not None else run.config.replace(candidates=self.candidates)
        return read_later(config, run.state, source)

    _library = "pandas"


def _numbers(given: float | Sequence[float], name: str) -> list[float]:
    """One number, or several."""
    try:
        return list(np.atleast_1d(np.asarray(given, float)))
    except (TypeError, ValueError):
        raise ConfigError(f"{name}: a number is needed, or several. Got {given!r}.") from None


def _refuse_target(method: str, y: object) -> None:
    if y is not None:
        raise ConfigError(
            f"Forecaster.{method}: the series are forecast from themselves. Put them into X and leave y out."
        )
