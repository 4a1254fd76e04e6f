"""`TabularClassifier` and `TabularRegressor`: the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.samples import Array
from multiway.data.sources.cells import as_text
from multiway.data.sources.tables import as_pandas
from multiway.extras import load_extra
from multiway.tasks.estimator import Classifier, Estimator, Regressor, classes_as_given, estimator
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.tabular.explain import importance
from multiway.tasks.tabular.source import target_name
from multiway.tasks.tabular.task import Tabular


@estimator
class TabularEstimator(Estimator):
    """Predict the rows of a table with a network of NdLinear layers, scored on held-out rows beside baselines.

    Rows are arrays of numbers, NaN where missing, or frames with words too. It needs scikit-learn.

    Args:
        layer: nd_linear, linear, tensor_train or low_rank; the last two need a rank, in `settings` of the model.
        epochs: Passes over the training rows at most.
        validation: Share of the rows that choose the best epoch.
        test: Share of the rows that are scored once, at the end.
        baselines: Some of majority, logistic and trees for classes; of mean, ridge and trees for numbers.
        seed: Seed of everything random but the split, whose seed is `settings["split"]["seed"]`.
        settings: Other fields of `TabularConfig`, nested: `{"model": {"hidden": [32]}, "training": {"patience": 3}}`.
        progress: Show a bar or lines on stderr.

    `fit` sets `run_`, `scores_` (a frame), `n_features_in_`, `feature_names_in_` of frames, and `classes_`.
    """

    task = "tabular"

    _: dataclasses.KW_ONLY
    layer: str = "nd_linear"
    validation: float = 0.15
    test: float = 0.2
    baselines: Sequence[str] = ()

    def fit(self, X: object, y: object = None) -> Self:
        """Fit on rows and their targets; nothing is written to disk.

        Raises:
            DataError: The rows are not sound, or too few to be split.
            ValueError: They are not what scikit-learn takes.
        """
        frame = checked_frame(self, X, reset=True)
        target, config, name = checked_target(self, frame, y), self.config(), target_name(frame)
        kind = "classes" if self.kind == "classifier" else "number"
        read = config.read.replace(target=name, columns=tuple(map(str, frame.columns)), kind=kind)
        source = frame.set_axis(read.columns, axis=1).assign(**{name: target})
        return self._fit(source, config.replace(read=read.plain()))

    def evaluate(self, X: object, y: object) -> pd.DataFrame:
        """Every score on other rows, with intervals, beside the baselines."""
        return self._scores_of(self._labelled(X, y))

    def explain(self, X: object, y: object) -> pd.DataFrame:
        """How much worse other rows are predicted with each column shuffled: columns column, importance and sd.

        Importance is the fall of accuracy or the rise of the squared error, in the mean of five shuffles.
        """
        return importance(self._run(), self._prepared(self._labelled(X, y)).raw)

    def _labelled(self, X: object, y: object) -> pd.DataFrame:
        frame = checked_frame(self, X, reset=False)
        return frame.assign(**{self._run().state.target_name: checked_target(self, frame, y)})

    def _outputs(self, X: object) -> NDArray[np.float64]:
        frame, run = checked_frame(self, X, reset=False), self._run()
        task = cast(Tabular, run.task)
        return task.outputs(run, OURS, task.unlabelled(run.config, frame, run.state).encoded)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@estimator
class TabularClassifier(TabularEstimator, Classifier):
    """Classify the rows of a table; see `TabularEstimator` for the arguments."""

    baselines: Sequence[str] = ("majority", "logistic")

    def fit(self, X: object, y: object = None) -> Self:
        """See `TabularEstimator.fit`; `classes_` are those of y, sorted."""
        super().fit(X, y)
        self.classes_ = np.unique(np.asarray(y))
        return self

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.classes_ = classes_as_given(run.state.classes)

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """Probabilities `(rows, classes)`, in the order of `classes_`."""
        outputs, names = self._outputs(X), list(self._run().state.classes)
        return outputs[:, [names.index(name) for name in as_text(pd.Series(self.classes_))]]


@estimator
class TabularRegressor(TabularEstimator, Regressor):
    """Predict a number for the rows of a table; see `TabularEstimator` for the arguments."""

    baselines: Sequence[str] = ("mean", "ridge")

    def predict(self, X: object) -> NDArray[np.float64]:
        """Number of each row, in the units of the target."""
        return self._outputs(X)


def checked_frame(owner: Any, X: object, *, reset: bool) -> pd.DataFrame:
    """Inputs as a frame; `owner` learns their number and names, or is fitted and held to them.

    Raises:
        ValueError: They are no table of numbers, or not like those of the training.
    """
    if not reset:
        _validation().check_is_fitted(owner)
    if _has_words(X) or (not reset and owner.run_.state.categories):
        frame = as_pandas(X)
        if reset:
            owner.feature_names_in_, owner.n_features_in_ = np.array(frame.columns, dtype=object), frame.shape[1]
        return frame.reset_index(drop=True)
    values = _validation().validate_data(
        owner, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset, ensure_min_samples=2 if reset else 1
    )  # fmt: skip
    names = getattr(owner, "feature_names_in_", None)
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])] if names is None else list(names))


def checked_target(owner: Any, X: object, y: object) -> Array:
    """Targets as one column of as many rows; classes are no continuous numbers.

    Raises:
        ValueError: They are none, or not one per row.
    """
    validation = _validation()
    if y is None:
        raise ValueError(f"{type(owner).__name__} requires y to be passed, but the target y is None.")
    found: Array = validation.column_or_1d(y, warn=True)
    validation.check_consistent_length(X, found)
    if owner.kind == "classifier":
        validation._assert_all_finite(found, input_name="y")
        load_extra("sklearn.utils.multiclass", type(owner).__name__, "trees").check_classification_targets(found)
        return found
    checked: Array = validation.check_array(found, ensure_2d=False, dtype=np.float64, input_name="y")
    return checked


def _has_words(X: object) -> bool:
    """Whether X is a frame with a column that is not of numbers."""
    types = getattr(X, "dtypes", None)
    if types is None or not hasattr(X, "columns"):
        return False
    return not all(getattr(each, "kind", "?") in "biufc" or _is_number(each) for each in types)


def _is_number(dtype: Any) -> bool:
    return bool(getattr(dtype, "is_numeric", lambda: False)())


def _validation() -> Any:
    return load_extra("sklearn.utils.validation", "an estimator of tables", "trees")
