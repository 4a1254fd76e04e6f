"""What estimators of samples with targets share: tables, series, texts and images."""

from collections.abc import Sized
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.samples import Array, Prepared, Samples
from multiway.data.sources.cells import as_text, with_truths
from multiway.data.targets import label_cells
from multiway.errors import DataError
from multiway.tasks import targets
from multiway.tasks.estimator import Classifier, Estimator, classes_as_given
from multiway.tasks.run import Run
from multiway.tasks.target_task import answer_samples, threshold_of


class SampleEstimator(Estimator):
    """Predict the targets of samples in memory; `fit` sets `run_` and `scores_` (a frame)."""

    def fit(self, X: Sized, y: object = None) -> Self:
        """Fit on samples and their targets; nothing is written to disk.

        Raises:
            DataError: The samples are not sound, or too few to be split.
        """
        self._learn(X, y)
        return self

    def evaluate(self, X: Sized, y: object) -> pd.DataFrame:
        """Every score on other samples, with intervals, and those of the baselines."""
        return self._scores_of(self._labelled(X, y))

    def _learn(self, X: Sized, y: object) -> None:
        self._fit(self._labelled(X, y), self.config())

    def _labelled(self, X: Sized, y: object) -> object:
        """Samples with their targets, as the task reads them; these are classes, or several labels each."""
        if self._has_several and y is not None:
            y = label_cells(y)
        given = np.asarray([] if y is None else y)
        if given.ndim != 1 or len(given) != len(X):
            name = type(self).__name__
            raise DataError(f"{name}: y needs one class per sample. Got {len(X)} samples and y of shape {given.shape}.")
        return X, as_text(pd.Series(given))

    @property
    def _has_several(self) -> bool:
        """Whether the settings say that samples have several labels each."""
        return getattr(self.config().read, "kind", None) == "labels"

    def _given(self, X: object) -> object:
        """Other samples, as the task reads them."""
        return X

    def _unlabelled(self, X: object, *, far: bool = True) -> Samples[Tensor]:
        """Other samples as the network sees them; where `far` is False, none far outside the training."""
        source, run = self._given(X), self._run()
        later: Prepared[Any, Any] = run.task.prepare(run.config, source, run.state, labelled=False)
        self._guarded(later.raw, later.raw.source, far)
        return later.encoded

    def _outputs(self, X: object, model: str | None, far: bool) -> NDArray[np.float64]:
        """Probabilities of the classes of the run, or numbers in the units of the target, by its answer or a model."""
        samples, run = self._unlabelled(X, far=far), self._run().with_answer(model)
        return answer_samples(run.for_prediction, samples)


class SampleClassifier(SampleEstimator, Classifier):
    """Classify samples in memory; `fit` also sets `classes_`."""

    def fit(self, X: Sized, y: object = None) -> Self:
        """Fit on samples and their classes; nothing is written to disk. `classes_` are those of y, sorted.

        With `read.kind` labels in the settings, y has several of them for each: collections, or columns of 0 and 1.

        Raises:
            DataError: The samples are not sound, or too few to be split.
        """
        self._learn(X, y)
        if not self._has_several:
            self.classes_ = np.unique(np.asarray(y))
        return self

    def predict_proba(self, X: object, model: str | None = None, *, far: bool = False) -> NDArray[np.float64]:
        """Probabilities `(samples, classes)`, in the order of `classes_`; by the answer, or a model of the run.

        With `far`, samples that lie far outside the training are answered too, with a warning.
        """
        return self._outputs(X, model, far)[:, self._places()]

    def predict(self, X: object, model: str | None = None, *, far: bool = False) -> Array:
        """Class of each sample: the most probable, or a rare one of two from the threshold of the run on.

        Of several labels, columns of 0 and 1 in the order of `classes_`.

        `model` and `far` as for `predict_proba`.
        """
        outputs, run = self._outputs(X, model, far), self._run().with_answer(model)
        threshold = threshold_of(run)
        if threshold is None:
            return self._named(outputs[:, self._places()])
        named: Array = self.classes_[np.argsort(self._places())][targets.classes_at(outputs, threshold)]
        return named

    def _places(self) -> list[int]:
        """Place of each of `classes_` among the classes of the run."""
        if targets.has_several(self._run().state):
            return [*range(len(self.classes_))]
        given, names = as_text(pd.Series(self.classes_)), list(self._run().state.classes)
        return [names.index(name) for name in (given if set(given) == set(names) else with_truths(given))]

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.classes_: Array = classes_as_given(run.state.classes)
