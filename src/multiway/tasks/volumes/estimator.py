"""`VolumeClassifier`: the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.sources.scans.cases import Cases
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.memory import Arrays
from multiway.tasks.estimator import Classifier, estimator, located, own_score, place_of, tell_far
from multiway.tasks.run import Run
from multiway.tasks.scan_task import ScanEstimator
from multiway.tasks.volumes.encode import OURS
from multiway.tasks.volumes.explain import explain_case
from multiway.tasks.volumes.predict import predict_cases

AS_GIVEN: dict[str, Callable[[str], Any]] = {
    "text": str, "number": lambda name: int(float(name)), "bool": lambda name: name == "True",
}  # fmt: skip
"""From the name of a class to a label of that kind."""


@estimator
class VolumeClassifier(ScanEstimator, Classifier):
    """Classify volumes with a Higher-Order Transformer, scored on held-out cases with simple baselines.

    Args:
        model: Name of a classifier of volumes, see `multiway.list_models("*volume_classifier*")`.
        epochs: Passes over the training cases.
        validation: Share of the cases that choose the best epoch.
        test: Share of the cases that are scored once, at the end.
        baselines: Some of majority, logistic, cnn, resnet18_3d and resnet50_3d.
        seed: Seed of everything random but the split, whose seed is `settings["split"]["seed"]`.
        settings: Other fields of `VolumeConfig`, nested: `{"model": {"dim": 32}, "training": {"batch_size": 8}}`.
        progress: Show a bar or lines on stderr.

    `fit` sets `run_`, `scores_` (a frame), `classes_` and `n_features_in_` (voxels of a volume, all channels).
    """

    task = "volumes"
    answers = ("labels", "class per case")

    model: str = OURS
    _: dataclasses.KW_ONLY
    validation: float = 0.15
    test: float = 0.2
    baselines: Sequence[str] = ("majority", "logistic")

    def _take(self, run: Run) -> None:
        super()._take(run)
        state = run.state
        self.classes_ = np.array([AS_GIVEN[state.label_kind](name) for name in state.classes])
        self.n_features_in_ = state.channels * int(np.prod(state.sizes))

    def predict_proba(self, X: object, model: str | None = None, *, far: bool = False) -> NDArray[np.float64]:
        """Probabilities `(cases, classes)`, in the order of `classes_`; by the answer, or a model of the run."""
        run = self._run().answered_by(model)
        frame, told = predict_cases(run, self._cases(X), far=far)
        tell_far(told)
        return frame[[f"p_{name}" for name in run.state.classes]].to_numpy(np.float64)

    def score(self, X: object, y: object = None) -> float:
        """Share of cases whose class is right; a path holds its own labels."""
        return own_score(self.evaluate(X, y), "acc", model=self._run().answer.name)

    def explain(
        self, X: object, index: int = 0, *, gradients: bool = True, deletion: bool = True, steps: int | None = None,
        seed: int = 0,
    ) -> Any:  # fmt: skip
        """Explain one case: attention per mode, rollout to voxels, integrated gradients, deletion test.

        Args:
            X: Arrays or a path, as for `predict`.
            index: Which case.
            gradients: Compute integrated gradients.
            deletion: Run the deletion test.
            steps: Points of the integral of gradients; fewer for large volumes if not given.
            seed: Of the random orders of the deletion test.
        """
        run, cases = self._run(), self._cases(X)
        row = place_of(index, len(cases))
        return explain_case(run, cases, row, gradients=gradients, deletion=deletion, steps=steps, seed=seed)

    def _cases(self, X: object) -> Cases:
        source = located(X) if isinstance(X, str | Path) else Arrays(x=X)
        return read_cases(source, self._run().config.read, opened=False, labelled=False)
