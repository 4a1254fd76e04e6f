"""`VolumeClassifier`, `VolumeRegressor` and `Segmenter`: the tasks on scans in scikit-learn's manners."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.sources.scans.arrays import Arrays
from multiway.data.sources.scans.cases import Cases
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scenes import is_scene, read_scene
from multiway.errors import ConfigError
from multiway.explain import ModeMap
from multiway.metrics.confidence import class_sets
from multiway.tasks.estimator import Classifier, Estimator, Regressor, locate, own_score, place_of, tell_far
from multiway.tasks.options import hold_levels
from multiway.tasks.run import Run
from multiway.tasks.scans.explain import MOST_CASES, attention_maps, explain_case
from multiway.tasks.scans.predict import predict_cases, predict_mask
from multiway.tasks.scans.read import warn_of_other_voxels
from multiway.tasks.scans.scores import MEAN, headline
from multiway.tasks.targets import LEVEL, few_note, limits_of

AS_GIVEN: dict[str, Callable[[str], Any]] = {
    "text": str,
    "number": lambda name: int(float(name)),
    "bool": lambda name: name == "True",
}
"""From the name of a class to a label of that kind."""


class ScanEstimator(Estimator):
    """Fit on scans in memory or on disk; `answers` says what a path holds, and what arrays need one of for each."""

    answers: ClassVar[tuple[str, str]]

    def fit(self, X: object, y: object = None, *, patients: Sequence[object] | None = None) -> Self:
        """Fit on arrays, or on a path with labels or masks; nothing is written to disk.

        Args:
            X: `(cases, *sizes)` or `(cases, channels, *sizes)` with three sizes; or the path of a file, a table or a
                scene, or a known name.
            y: One class or number, or one mask `(*sizes)` of whole numbers, per case; None with a path, which holds
                its own.
            patients: One per case; a patient's cases fall into one split.

        Raises:
            DataError: The data is not sound.
            ConfigError: An argument does not fit.
        """
        is_path = isinstance(X, str | Path)
        if is_path and (y is not None or patients is not None):
            own = self.answers[0]
            raise ConfigError(f"{type(self).__name__}.fit: a path holds its own {own} and patients. Leave y out.")
        return self._fit(self._source(X, y, patients), self.config(X if is_path else None))

    def evaluate(self, X: object, y: object = None) -> pd.DataFrame:
        """Every score on other labelled scans, with intervals, and those of the baselines."""
        return self._scores_of(self._source(X, y))

    def _source(self, X: object, y: object, patients: Sequence[object] | None = None) -> object:
        if isinstance(X, str | Path):
            return locate(X)
        own, what = self.answers
        if y is None:
            raise ConfigError(f"{type(self).__name__}: arrays need y, one {what}.")
        return Arrays(x=X, patients=patients, **{"masks" if own == "masks" else "y": y})

    def _later(self, X: object) -> Cases:
        """Cases that nobody has labelled, of arrays or of a path."""
        source = locate(X) if isinstance(X, str | Path) else Arrays(x=X)
        return read_cases(source, self._run().config.read, opened=False, labelled=False)


class VolumeEstimator(ScanEstimator):
    """What both estimators of volumes share: the kind of their target, and how a case is explained."""

    task = "volumes"
    first = "model"

    def config(self, known: object = None) -> Any:
        """See `Estimator.config`; the target is what the estimator is for."""
        config = super().config(known)
        kind = "number" if self.kind == "regressor" else "labels" if config.read.kind == "labels" else "classes"
        return config.replace(read=config.read.replace(kind=kind).plain())

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.n_features_in_ = run.state.channels * int(np.prod(run.state.sizes))

    def explain(
        self,
        X: object,
        index: int = 0,
        *,
        gradients: bool = True,
        deletion: bool = True,
        steps: int | None = None,
        seed: int = 0,
    ) -> Any:
        """Explain one case: attention per mode, rollout to voxels, integrated gradients, deletion test.

        Args:
            X: Arrays or a path, as for `predict`.
            index: Which case.
            gradients: Compute integrated gradients.
            deletion: Run the deletion test, which is of classes.
            steps: Points of the integral of gradients; fewer for large volumes if not given.
            seed: Of the random orders of the deletion test.
        """
        run, cases = self._run(), self._later(X)
        row = place_of(index, len(cases))
        return explain_case(run, cases, row, gradients=gradients, deletion=deletion, steps=steps, seed=seed)


class VolumeRegressor(VolumeEstimator, Regressor):
    """Predict a number for each volume with a Higher-Order Transformer, scored on held-out cases.

    `fit` sets `run_`, `scores_` (a frame) and `n_features_in_` (voxels of a volume, all channels).
    """

    answers = ("numbers", "number per case")

    def predict(self, X: object, model: str | None = None, *, far: bool = False) -> NDArray[np.float64]:
        """Number of each case, in the units of the target; by the answer, or a model of the run."""
        frame, notes = predict_cases(self._run().with_answer(model), self._later(X), far=far)
        tell_far(notes)
        return frame["predicted"].to_numpy(np.float64)

    def score(self, X: object, y: object = None) -> float:
        """R² of the predictions; a path holds its own numbers."""
        return own_score(self.evaluate(X, y), "r2", model=self._run().answer.name)


class VolumeClassifier(VolumeEstimator, Classifier):
    """Classify volumes with a Higher-Order Transformer, scored on held-out cases with simple baselines.

    `fit` sets `run_`, `scores_` (a frame), `classes_` and `n_features_in_` (voxels of a volume, all channels).
    """

    answers = ("labels", "class per case")

    def _take(self, run: Run) -> None:
        super()._take(run)
        state = run.state
        self.classes_ = np.array([AS_GIVEN[state.label_kind](name) for name in state.classes])

    def predict_proba(self, X: object, model: str | None = None, *, far: bool = False) -> NDArray[np.float64]:
        """Probabilities `(cases, classes)`, in the order of `classes_`; by the answer, or a model of the run."""
        run = self._run().with_answer(model)
        frame, notes = predict_cases(run, self._later(X), far=far)
        tell_far(notes)
        return frame[[f"p_{name}" for name in run.state.classes]].to_numpy(np.float64)

    def predict_sets(
        self, X: object, level: float = LEVEL, model: str | None = None, *, far: bool = False
    ) -> NDArray[np.bool_]:
        """Which classes each case may have, `(cases, classes)`, in the order of `classes_`.

        Of new cases of each class `level` percent have it in their set, by those of validation (Vovk 2012). A class
        with too few of these is in every set.
        """
        hold_levels("predict_sets", [level])
        run = self._run().with_answer(model)
        if run.state.several:
            raise ConfigError("predict_sets: a set is of cases with one class each. These have several labels.")
        limits = limits_of(run.tables, run.answer.name, run.state.classes, level)
        tell_far(few_note(limits, run.state.classes, level))
        return class_sets(self.predict_proba(X, model, far=far), limits)

    def score(self, X: object, y: object = None) -> float:
        """Share of cases whose class is right; a path holds its own labels."""
        return own_score(self.evaluate(X, y), "acc", model=self._run().answer.name)


class Segmenter(ScanEstimator):
    """Give every voxel a class with a Higher-Order Transformer, scored on held-out images with simple baselines.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`, the values of the training masks.
    """

    task = "segment"
    answers = ("masks", "mask per image")

    first = "model"

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.classes_ = np.array(run.state.values)

    def predict(self, X: object, model: str | None = None, *, far: bool = False) -> Any:
        """Masks in the values of the training masks, each on its image's own grid.

        Args:
            X: Arrays as for `fit`, or a path of images or of a scene.
            model: Name of a model of the run; the one that answers if not given.
            far: Answer what lies far outside the training too.

        Returns:
            `(cases, *sizes)` for arrays and `(rows, columns)` for a scene; for a path of images a list of masks.
        """
        run, is_path = self._run().with_answer(model), isinstance(X, str | Path)
        if is_path and is_scene(locate(X)):
            mask, notes = predict_mask(run, read_scene(locate(X), run.config.read.max_bytes).image, far=far)
            tell_far(notes)
            return mask
        cases = self._later(X)
        warn_of_other_voxels(cases, run.state.spacings)
        answers = [predict_mask(run, cases.inputs.read(row), far=far) for row in range(len(cases))]
        tell_far(words for _, notes in answers for words in notes)
        masks = [mask for mask, _ in answers]
        return masks if is_path else np.stack(masks)

    def score(self, X: object, y: object = None) -> float:
        """Mean Dice over images and classes, of a scene over all its pixels; NaN where it is undefined."""
        metric = headline(self._run().state.num_modes)
        return own_score(self.evaluate(X, y), metric, {"class": MEAN}, self._run().answer.name)

    def explain(self, X: object, y: object = None) -> list[ModeMap]:
        """Attention per mode and block, averaged over patches about what the masks of the first images mark.

        Raises:
            ConfigError: The network has no attention.
        """
        return attention_maps(self._run(), self._prepared(self._source(X, y)).encoded.inputs[:MOST_CASES])
