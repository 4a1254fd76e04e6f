"""`Forecaster`: the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from multiway.data import Panel, datasets
from multiway.errors import ConfigError
from multiway.tasks.estimator import Estimator
from multiway.tasks.forecasting.backtest import backtest_frame
from multiway.tasks.forecasting.explanation import Explanation, explain
from multiway.tasks.forecasting.future import future_frame
from multiway.tasks.forecasting.later import prepare_later, read_later
from multiway.tasks.run import Run


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selected:
    """What validation chose: in a sentence, the network's weight, the best one by itself, and its uncertainty."""

    sentence: str
    weight: float | None
    optimum: float | None
    deviation: float | None


class Forecaster(Estimator):
    """Forecast a panel of series: ridge, a Higher-Order Transformer over it, and validation between the two.

    Args:
        horizon: Steps to forecast.
        lookback: Past steps that the models see.
        epochs: Passes over the training windows at most.
        network: Train a network; without one the answer is ridge, in about a second.
        season: Steps in a season; from the frequency if not given.
        missing: "error", "mask" or "ffill" for missing cells.
        duplicates: "error", "first", "last", "mean" or "keep" for repeated times.
        gaps: "error", "fill" or "ignore" for absent times.
        levels: Interval levels in percent.
        seed: Seed of everything random.
        settings: Other fields of `ForecastConfig`, nested: `{"model": {"dim": 32}}`.
        progress: Show a bar or lines on stderr.

    `fit` sets `run_`, `scores_` (a frame), `selection_`, `coverage_`, `n_features_in_` and `feature_names_in_`.
    """

    task = "forecast"
    kind = "none"
    fields: ClassVar[dict[str, str]] = {
        "horizon": "horizon", "lookback": "lookback", "epochs": "training.epochs", "network": "network",
        "season": "season", "missing": "read.missing", "duplicates": "read.duplicates", "gaps": "read.gaps",
        "levels": "levels", "seed": "training.seed",
    }  # fmt: skip

    def __init__(
        self,
        horizon: int = 96,
        *,
        lookback: int = 96,
        epochs: int | None = None,
        network: bool = True,
        season: int | None = None,
        missing: str = "error",
        duplicates: str = "error",
        gaps: str = "error",
        levels: tuple[float, ...] = (80.0, 95.0),
        seed: int = 0,
        settings: dict[str, Any] | None = None,
        progress: bool = False,
    ) -> None:
        self.horizon = horizon
        self.lookback = lookback
        self.epochs = epochs
        self.network = network
        self.season = season
        self.missing = missing
        self.duplicates = duplicates
        self.gaps = gaps
        self.levels = levels
        self.seed = seed
        self.settings = settings
        self.progress = progress

    def fit(self, X: Any, y: None = None) -> Self:
        """Fit on a frame (pandas or polars, wide or long) or on the path of a file; nothing is written to disk.

        Raises:
            DataError: The data is not sound, or too short.
            ConfigError: A `y` is given, or an argument does not fit.
        """
        if y is not None:
            raise ConfigError(
                "Forecaster.fit: the series are forecast from themselves. Put them into X and leave y out."
            )
        self._fit(_located(X))
        self._library = _library_of(X)
        return self

    def _take(self, run: Run) -> None:
        super()._take(run)
        chosen, names = run.facts["selection"], [field.name for field in dataclasses.fields(Selected)]
        self.selection_ = Selected(**{name: chosen.get(name) for name in names})
        self.coverage_ = run.facts["coverage"]
        self.n_features_in_ = len(run.state.names)
        self.feature_names_in_ = np.array(run.state.names, dtype=object)

    def predict(self, X: Any = None, *, levels: tuple[float, ...] | None = None, layout: str | None = None) -> Any:
        """Forecast the steps after the end of the fitted data, or of another frame, in the kind that `fit` was given.

        Args:
            X: Other history, at least `lookback` steps.
            levels: Interval levels among those fitted.
            layout: "long" or "wide"; that of the data if not given.
        """
        run, panel = self._run(), self._panel(X)
        library = self._library if X is None else _library_of(X)
        return _native(future_frame(run, panel, levels, layout or panel.layout), library)

    def evaluate(self, X: Any) -> pd.DataFrame:
        """Score every window of a later frame with model and scaler as they are."""
        run = self._run()
        later = prepare_later(run.config, run.state, _located(X))
        return pd.DataFrame(run.task.score(run, run.task.predict(run, later, "test"), later.source))

    def score(self, X: Any, y: None = None) -> float:
        """Negative MSE on scaled data, so that greater is better."""
        chosen = self.evaluate(X).query("model == 'multiway' and scale == 'scaled' and metric == 'mse'")
        return -float(chosen["value"].iloc[0])

    def backtest(self, X: Any = None, *, cutoffs: int | Sequence[Any] = 10, step: int | None = None) -> pd.DataFrame:
        """Forecast from past moments, given as times or by their number and step, without fitting again."""
        return backtest_frame(self._run(), self._panel(X), cutoffs, step)

    def explain(self, X: Any = None) -> Explanation:
        """Attention per mode, averaged over test windows and of the last window; of another frame the last alone."""
        run, panel = self._run(), self._panel(X)
        return explain(run, panel, run.prepared.windows["test"] if X is None else None)

    def _panel(self, X: Any) -> Panel:
        run = self._run()
        if X is not None:
            return read_later(run.config, run.state, _located(X))
        if run.prepared is None:
            raise ConfigError("Forecaster: it was loaded without its data; give a frame with the history.")
        panel: Panel = run.prepared.panel
        return panel

    _library = "pandas"


def _located(source: Any) -> Any:
    return datasets.locate(str(source)) if isinstance(source, str | Path) else source


def _library_of(source: Any) -> str:
    """Name of the library that a frame is of; a path gives pandas."""
    if isinstance(source, pd.DataFrame | str | Path):
        return "pandas"
    import narwhals.stable.v2 as nw

    return str(nw.get_native_namespace(nw.from_native(source, eager_only=True)).__name__)


def _native(frame: pd.DataFrame, library: str) -> Any:
    """A frame in polars where the data was; else as it is."""
    if library != "polars":
        return frame
    import polars

    return polars.from_pandas(frame)
