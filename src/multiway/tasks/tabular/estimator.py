"""`TabularClassifier` and `TabularRegressor`: the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.cells import as_text
from multiway.data.tabular import match_table
from multiway.data.tabular.arrays import checked_frame, checked_target, target_name
from multiway.tasks.estimator import ALL, Classifier, Estimator, Regressor, classes_as_given, estimator
from multiway.tasks.run import Run
from multiway.tasks.tabular.explaining import importance
from multiway.tasks.tabular.fitting import outputs_of


@estimator
class TabularEstimator(Estimator):
    """Predict the rows of a table with a network of NdLinear layers, scored on held-out rows beside baselines.

    Rows are arrays of numbers, NaN where missing, or frames with words too. It needs scikit-learn.

    Args:
        layer: nd_linear, linear, tensor_train or low_rank; the last two need a rank, in `settings` of the model.
        epochs: Passes over the training rows at most.
        validation: Share of the rows that choose the best epoch.
        test: Share of the rows that are scored once, at the end.
        baselines: Some of constant, linear and trees.
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
    baselines: Sequence[str] = ("constant", "linear")

    def fit(self, X: Any, y: Any = None) -> Self:
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

    def evaluate(self, X: Any, y: Any) -> pd.DataFrame:
        """Every score on other rows, with intervals, beside the baselines."""
        return self._scores_of(self._labelled(X, y))

    def explain(self, X: Any, y: Any) -> pd.DataFrame:
        """How much worse other rows are predicted with each column shuffled: columns column, importance and sd.

        Importance is the fall of accuracy or the rise of the squared error, in the mean of five shuffles.
        """
        return importance(self._run(), self._prepared(self._labelled(X, y)).part(ALL))

    def _labelled(self, X: Any, y: Any) -> pd.DataFrame:
        frame = checked_frame(self, X, reset=False)
        return frame.assign(**{self._run().state.columns.target: checked_target(self, frame, y)})

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        frame, run = checked_frame(self, X, reset=False), self._run()
        rows = match_table(frame, run.config.read, run.state, has_target=False)
        return outputs_of(run.model, rows.table, run.state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@estimator
class TabularClassifier(TabularEstimator, Classifier):
    """Classify the rows of a table; see `TabularEstimator` for the arguments."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """See `TabularEstimator.fit`; `classes_` are those of y, sorted."""
        super().fit(X, y)
        self.classes_ = np.unique(np.asarray(y))
        return self

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.classes_ = classes_as_given(run.state.columns.classes)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities `(rows, classes)`, in the order of `classes_`."""
        outputs, names = self._outputs(X), list(self._run().state.columns.classes)
        return outputs[:, [names.index(name) for name in as_text(pd.Series(self.classes_))]]


@estimator
class TabularRegressor(TabularEstimator, Regressor):
    """Predict a number for the rows of a table; see `TabularEstimator` for the arguments."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Number of each row, in the units of the target."""
        return self._outputs(X)
