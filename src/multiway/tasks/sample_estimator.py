"""What estimators of the classes of samples share: series, texts and images."""

from collections.abc import Sized
from typing import Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.samples import Array, Samples
from multiway.data.sources.cells import as_text
from multiway.errors import DataError
from multiway.tasks.estimator import Classifier, classes_as_given, estimator
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.samples import SampleTask


@estimator
class SampleClassifier(Classifier):
    """Classify samples in memory; `fit` sets `run_`, `scores_` (a frame) and `classes_`."""

    def fit(self, X: Sized, y: object = None) -> Self:
        """Fit on samples and their classes; nothing is written to disk.

        Raises:
            DataError: The samples are not sound, or too few to be split.
        """
        self._fit((X, as_text(pd.Series(self._classes_of(X, y)))), self.config())
        self.classes_ = np.unique(np.asarray(y))
        return self

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """Probabilities `(samples, classes)`, in the order of `classes_`."""
        run = self._run()
        names = list(run.state.classes)
        order = [names.index(name) for name in as_text(pd.Series(self.classes_))]
        return cast(SampleTask[Any, Any, Any], run.task).outputs(run, OURS, self._unlabelled(X))[:, order]

    def evaluate(self, X: Sized, y: object) -> pd.DataFrame:
        """Every score on other samples, with intervals, beside the baselines."""
        return self._scores_of((X, as_text(pd.Series(self._classes_of(X, y)))))

    def _unlabelled(self, X: object) -> Samples[Tensor]:
        """Other samples as the network sees them."""
        run = self._run()
        return cast(SampleTask[Any, Any, Any], run.task).unlabelled(run.config, X, run.state).encoded

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.classes_ = classes_as_given(run.state.classes)

    def _classes_of(self, X: Sized, y: object) -> Array:
        """Classes, one per sample.

        Raises:
            DataError: They are missing, or of another number.
        """
        given = np.asarray([] if y is None else y)
        if given.ndim != 1 or len(given) != len(X):
            name = type(self).__name__
            raise DataError(f"{name}: y needs one class per sample. Got {len(X)} samples and y of shape {given.shape}.")
        return given
