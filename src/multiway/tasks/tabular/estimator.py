"""`TabularClassifier` and `TabularRegressor`: the task in scikit-learn's manners."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.cells import as_text
from multiway.data.tabular import PreparedTable, match_table
from multiway.data.tabular.arrays import checked_frame, checked_target, target_name
from multiway.extras import load_extra
from multiway.metrics.classes import predicted_classes
from multiway.metrics.regression import r2
from multiway.tasks.estimator import Estimator
from multiway.tasks.lifecycle import fitted
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run
from multiway.tasks.tabular.models import outputs_of


class TabularEstimator(Estimator):
    """Predict the rows of a table with a network of NdLinear layers, scored on held-out rows beside baselines.

    Rows are arrays of numbers, NaN where missing, or frames with words too. It needs scikit-learn.

    Args:
        layer: nd_linear or linear.
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
    fields: ClassVar[dict[str, str]] = {
        "layer": "model.layer", "epochs": "training.epochs", "validation": "split.validation", "test": "split.test",
        "baselines": "baselines", "seed": "training.seed",
    }  # fmt: skip

    def __init__(
        self, *, layer: str = "nd_linear", epochs: int | None = None, validation: float = 0.15, test: float = 0.2,
        baselines: Sequence[str] = ("constant", "linear"), seed: int = 0, settings: dict[str, Any] | None = None,
        progress: bool = False,
    ) -> None:  # fmt: skip
        self.layer = layer
        self.epochs = epochs
        self.validation = validation
        self.test = test
        self.baselines = baselines
        self.seed = seed
        self.settings = settings
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on rows and their targets; nothing is written to disk.

        Raises:
            DataError: The rows are not sound, or too few to be split.
            ValueError: They are not what scikit-learn takes.
        """
        frame = checked_frame(self, X, reset=True)
        target, config = checked_target(self, frame, y), self.config()
        name = target_name(frame)
        kind = "classes" if self.kind == "classifier" else "number"
        read = config.read.replace(target=name, columns=tuple(map(str, frame.columns)), kind=kind)
        source = frame.set_axis(read.columns, axis=1).assign(**{name: target})
        self._take(fitted(task_of(self.task), config.replace(read=read.plain()), source, progress=self.progress))
        return self

    def evaluate(self, X: Any, y: Any) -> pd.DataFrame:
        """Every score on other rows, with intervals, beside the baselines."""
        rows = self._rows(X, y)
        run = self._run()
        return pd.DataFrame(run.task.score(run, run.task.predict(run, rows, "all"), "all"))

    def _rows(self, X: Any, y: Any = None) -> PreparedTable:
        """Rows like those of the training."""
        load_extra("sklearn.utils.validation", type(self).__name__, "trees").check_is_fitted(self)
        run, frame = self._run(), checked_frame(self, X, reset=False)
        columns = run.state.columns
        if y is not None:
            frame = frame.assign(**{str(columns.target): checked_target(self, frame, y)})
        return match_table(frame, run.config.read, run.state, has_target=y is not None)

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        rows = self._rows(X)
        return outputs_of(self._run().model, rows.table, rows.encoding)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class TabularClassifier(TabularEstimator):
    """Classify the rows of a table; see `TabularEstimator` for the arguments."""

    kind = "classifier"

    def fit(self, X: Any, y: Any = None) -> Self:
        """See `TabularEstimator.fit`; `classes_` are those of y, sorted."""
        super().fit(X, y)
        self.classes_ = np.unique(np.asarray(y))
        return self

    def _take(self, run: Run) -> None:
        super()._take(run)
        names = run.state.columns.classes
        as_given = {"False": False, "True": True}
        numbers = all(name.lstrip("-").isdigit() for name in names)
        self.classes_ = np.array([int(name) if numbers else as_given.get(name, name) for name in names])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities `(rows, classes)`, in the order of `classes_`."""
        outputs, names = self._outputs(X), list(self._run().state.columns.classes)
        return outputs[:, [names.index(name) for name in as_text(pd.Series(self.classes_))]]

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: above one half for two classes, else the most probable."""
        places = predicted_classes(self.predict_proba(X))
        chosen: NDArray[Any] = self.classes_[places]
        return chosen

    def score(self, X: Any, y: Any) -> float:
        """Share of rows whose class is right."""
        return float(np.mean(self.predict(X) == np.asarray(y)))


class TabularRegressor(TabularEstimator):
    """Predict a number for the rows of a table; see `TabularEstimator` for the arguments."""

    kind = "regressor"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Number of each row, in the units of the target."""
        return self._outputs(X)

    def score(self, X: Any, y: Any) -> float:
        """R² of the predictions; 0 where the targets do not vary."""
        return r2(np.asarray(y, np.float64), self.predict(X)) or 0.0
