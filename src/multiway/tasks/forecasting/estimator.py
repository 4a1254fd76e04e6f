"""`Forecaster`: the task in scikit-learn's manners."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from multiway.errors import ConfigError
from multiway.tasks.estimator import Estimator
from multiway.tasks.forecasting import backtest as backtesting
from multiway.tasks.forecasting import run as runs
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.explanation import Explanation, explain
from multiway.tasks.forecasting.fitting import Fitted, fit
from multiway.tasks.forecasting.future import future_frame
from multiway.tasks.forecasting.prepared import Prepared, locate, prepare
from multiway.tasks.run_folders import opening
from multiway.training import RunFolder


class Forecaster(Estimator[runs.ForecastRun]):
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

    def config(self) -> ForecastConfig:
        """The arguments as the config of a run."""
        extra = dict(self.settings or {})
        training = {
            "seed": self.seed,
            **({} if self.epochs is None else {"epochs": self.epochs}),
            **extra.pop("training", {}),
        }
        read = {"missing": self.missing, "duplicates": self.duplicates, "gaps": self.gaps, **extra.pop("read", {})}
        own = {
            "horizon": self.horizon,
            "lookback": self.lookback,
            "network": self.network,
            "season": self.season,
            "levels": self.levels,
            "training": training,
            "read": read,
        }
        return ForecastConfig.parse({**own, **extra}, "Forecaster")

    def fit(self, frame: Any, y: None = None) -> Self:
        """Fit on a frame (pandas or polars, wide or long) or on the path of a file; nothing is written to disk."""
        config = self.config()
        source = locate(str(frame)) if isinstance(frame, str | Path) else frame
        prepared = prepare(config, source)
        fitted = fit(prepared, config, progress=self.progress)
        self._prepared, self._fitted, self._to_native = prepared, fitted, _native_of(frame)
        self._take(runs.from_fitted(config, prepared, fitted))
        return self

    def _take(self, run: runs.ForecastRun) -> None:
        self.run_ = run
        self.scores_ = pd.DataFrame(run.scores)
        self.coverage_ = run.coverage
        chosen = run.selection
        self.selection_ = Selected(
            chosen["sentence"], chosen.get("weight"), chosen.get("optimum"), chosen.get("deviation")
        )
        self.n_features_in_ = len(run.names)
        self.feature_names_in_ = np.array(run.names, dtype=object)

    def predict(self, frame: Any = None, *, levels: tuple[float, ...] | None = None, layout: str | None = None) -> Any:
        """Forecast the steps after the end of the fitted data, or of another frame, in the kind that `fit` was given.

        Args:
            frame: Other history, at least `lookback` steps.
            levels: Interval levels among those fitted.
            layout: "long" or "wide"; that of the data if not given.
        """
        run = self._run()
        panel = self._panel(frame)
        to_native = self._to_native if frame is None else _native_of(frame)
        return to_native(future_frame(run, panel, levels, layout or panel.layout))

    def evaluate(self, frame: Any) -> pd.DataFrame:
        """Score every window of a later frame with model and scaler as they are."""
        return pd.DataFrame(backtesting.evaluate_panel(self._run(), self._run().read(frame)))

    def score(self, frame: Any, y: None = None) -> float:
        """Negative MSE on scaled data, so that greater is better."""
        scores = self.evaluate(frame)
        chosen = scores.query("model == 'multiway' and scale == 'scaled' and metric == 'mse'")
        return -float(chosen["value"].iloc[0])

    def backtest(
        self, frame: Any = None, *, cutoffs: int | Sequence[Any] = 10, step: int | None = None
    ) -> pd.DataFrame:
        """Forecast from past moments, given as times or by their number and step, without fitting again."""
        return backtesting.backtest_frame(self._run(), self._panel(frame), cutoffs, step)

    def explain(self, frame: Any = None) -> Explanation:
        """Attention per mode, averaged over test windows and of the last window."""
        windows = self._prepared.windows["test"] if self._has_data() and frame is None else None
        return explain(self._run(), self._panel(frame), windows)

    def save(self, path: str | Path) -> None:
        """Write a run folder that the command line can use.

        Raises:
            RunError: The path exists, or the forecaster was itself loaded.
        """
        run = self._run()
        if not self._has_data():
            raise ConfigError("Forecaster: this one was loaded from a folder; copy that folder instead.")
        folder = RunFolder.create(Path(path), opening(runs.NAME, None, run.config))
        runs.store(run, folder, self._prepared, self._fitted, None)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Take up a run that `save` or the command line wrote."""
        run = runs.load(Path(path))
        new = cls(**_parameters_of(run.config))
        new._to_native = _native_of(None)
        new._take(run)
        return new

    def _has_data(self) -> bool:
        return hasattr(self, "_fitted")

    def _panel(self, frame: Any) -> Any:
        if frame is not None:
            return self._run().read(frame)
        if not self._has_data():
            raise ConfigError("Forecaster: it was loaded without its data; give a frame with the history.")
        return self._prepared.panel

    _prepared: Prepared
    _fitted: Fitted
    _to_native: Any


class Selected:
    """What validation chose: the sentence, the network's weight, and its uncertainty."""

    def __init__(self, sentence: str, weight: float | None, optimum: float | None, deviation: float | None) -> None:
        self.sentence, self.weight, self.optimum, self.deviation = sentence, weight, optimum, deviation

    def __repr__(self) -> str:
        return f"Selected({self.sentence!r})"


def _parameters_of(config: ForecastConfig) -> dict[str, Any]:
    """Constructor arguments that give the same config, without its data."""
    plain = config.plain()
    del plain["data"]
    training, read = plain["training"], plain["read"]
    named = {name: plain.pop(name) for name in ("horizon", "lookback", "network", "season")}
    policies = {name: read.pop(name) for name in ("missing", "duplicates", "gaps")}
    learning = {name: training.pop(name) for name in ("epochs", "seed")}
    del plain["levels"]
    return {**named, **policies, **learning, "levels": config.levels, "settings": plain}


def _native_of(frame: Any) -> Any:
    """A function that turns a pandas frame into the kind of `frame`."""
    if frame is None or isinstance(frame, pd.DataFrame | str | Path):
        return lambda result: result
    import narwhals.stable.v2 as nw

    backend = nw.get_native_namespace(nw.from_native(frame, eager_only=True))
    if backend.__name__ == "polars":
        return lambda result: backend.from_pandas(result)
    return lambda result: result
