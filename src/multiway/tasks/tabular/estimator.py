"""`TabularClassifier` and `TabularRegressor`: the task in scikit-learn's manners."""

from collections.abc import Sized
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.samples import Array
from multiway.data.sources.frames import as_pandas
from multiway.data.targets import free_name
from multiway.errors import DataError
from multiway.lazy import load_extra
from multiway.tasks.estimator import Regressor
from multiway.tasks.sample_estimator import SampleClassifier, SampleEstimator
from multiway.tasks.tabular.explain import importance


class TabularEstimator(SampleEstimator):
    """What both estimators of tables share: how rows and targets are read, and what the columns are worth."""

    task = "tabular"

    def explain(self, X: Sized, y: object, model: str | None = None) -> pd.DataFrame:
        """How much worse other rows are predicted with each column shuffled: columns column, importance and sd.

        Importance is the fall of accuracy or the rise of the squared error, in the mean of five shuffles. It is of
        the answer, or of a model of the run.
        """
        return importance(self._run().with_answer(model), self._prepared(self._labelled(X, y)).raw)

    def evaluate(self, X: Sized, y: object, sample_weight: object = None) -> pd.DataFrame:
        """Every score on other rows, with intervals, and those of the baselines; weighed as the fit was."""
        name = self._run().config.read.weights
        if sample_weight is not None and name is None:
            raise DataError("evaluate: sample_weight is for what was fitted with it. Got none in fit. Leave it out.")
        frame = self._given(X)
        return self._scores_of((self._with_weights(frame, sample_weight, name or ""), self._target(frame, y)))

    def _learn(self, X: Sized, y: object, sample_weight: object = None) -> None:
        frame = self._given(X, reset=True)
        name = None if sample_weight is None else free_name("weight", frame.columns)
        source, config = (self._with_weights(frame, sample_weight, name or ""), self._target(frame, y)), self.config()
        kind = "classes" if self.kind == "classifier" else "number"
        read = config.read.replace(columns=tuple(map(str, frame.columns)), kind=kind, weights=name)
        self._fit(source, config.replace(read=read.plain()))

    def _with_weights(self, frame: pd.DataFrame, sample_weight: object, name: str) -> pd.DataFrame:
        """Rows with a column that says how much each counts, where it is given."""
        if sample_weight is None:
            return frame
        weights = np.asarray(sample_weight, np.float64)
        if weights.shape != (len(frame),):
            raise DataError(f"sample_weight: one number is needed per row, ({len(frame)},). Got {weights.shape}.")
        return frame.assign(**{name: weights})

    def _labelled(self, X: Sized, y: object) -> object:
        frame = self._given(X)
        return frame, self._target(frame, y)

    def _given(self, X: object, *, reset: bool = False) -> pd.DataFrame:
        """Inputs as a frame, whose number and names are learnt, or held to those of the training."""
        if not reset:
            _validation().check_is_fitted(self)
        is_frame = hasattr(X, "dtypes") and hasattr(X, "columns")
        has_words = is_frame and not all(map(pd.api.types.is_numeric_dtype, as_pandas(X).dtypes))
        is_loaded = not reset and is_frame and not hasattr(self, "n_features_in_")
        if has_words or is_loaded or (not reset and self.run_.state.categories):
            frame = as_pandas(X)
            if reset:
                self.feature_names_in_, self.n_features_in_ = np.array(frame.columns, dtype=object), frame.shape[1]
            return frame.reset_index(drop=True)
        values = _validation().validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset, ensure_min_samples=2 if reset else 1
        )
        names = getattr(self, "feature_names_in_", None)
        return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])] if names is None else list(names))

    def _target(self, X: Sized, y: object) -> Array:
        """Targets as one column of as many rows; classes are no continuous numbers."""
        validation, name = _validation(), type(self).__name__
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None.")
        if isinstance(getattr(y, "dtype", None), pd.BooleanDtype):
            y = np.asarray(y, dtype=bool)  # scikit-learn makes numbers of them
        column: Array = validation.column_or_1d(y, warn=True)
        validation.check_consistent_length(X, column)
        if self.kind != "classifier":
            column = validation.check_array(column, ensure_2d=False, dtype=np.float64, input_name="y")
            return column
        validation._assert_all_finite(column, input_name="y")
        load_extra("sklearn.utils.multiclass", name, "trees").check_classification_targets(column)
        return column

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class TabularClassifier(TabularEstimator, SampleClassifier):
    """Classify the rows of a table with a network of NdLinear layers, scored on held-out rows with baselines.

    Rows are arrays of numbers, NaN where missing, or frames with words too. It needs scikit-learn.

    `fit` sets `run_`, `scores_` (a frame), `n_features_in_`, `feature_names_in_` of frames, and `classes_`.
    """

    def fit(self, X: Sized, y: object = None, sample_weight: object = None) -> Self:
        """Fit on rows and their classes; `classes_` are those of y, sorted.

        `sample_weight` says how much each row counts in fitting, in validation and in scores.
        """
        self._learn(X, y, sample_weight)
        self.classes_ = np.unique(np.asarray(y))
        return self


class TabularRegressor(TabularEstimator, Regressor):
    """Predict a number for each row of a table with a network of NdLinear layers, scored on held-out rows.

    Rows are arrays of numbers, NaN where missing, or frames with words too. It needs scikit-learn.

    `fit` sets `run_`, `scores_` (a frame), `n_features_in_`, and `feature_names_in_` of frames.
    """

    def fit(self, X: Sized, y: object = None, sample_weight: object = None) -> Self:
        """Fit on rows and their numbers; nothing is written to disk.

        `sample_weight` says how much each row counts in fitting, in validation and in scores.
        """
        self._learn(X, y, sample_weight)
        return self

    def predict(self, X: object, model: str | None = None, *, far: bool = False) -> NDArray[np.float64]:
        """Number of each row, in the units of the target; by the answer of the run, or a model of it.

        With `far`, rows that lie far outside the training are answered too, with a warning.
        """
        return self._outputs(X, model, far)


def _validation() -> Any:
    return load_extra("sklearn.utils.validation", "an estimator of tables", "trees")
