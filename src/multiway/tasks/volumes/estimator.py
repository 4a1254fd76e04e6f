"""`VolumeClassifier`: the task in scikit-learn's manners."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.volumes import Cases, read_cases
from multiway.errors import ConfigError
from multiway.metrics.classes import predicted_classes
from multiway.tasks.estimator import Estimator
from multiway.tasks.run_folders import opening
from multiway.tasks.volumes import run as runs
from multiway.tasks.volumes.arrays import cases_of_arrays
from multiway.tasks.volumes.config import OURS, VolumeConfig
from multiway.tasks.volumes.fitting import check_models, fit
from multiway.tasks.volumes.prediction import evaluate_cases, predict_cases
from multiway.tasks.volumes.prepared import locate, prepare
from multiway.training import RunFolder


class VolumeClassifier(Estimator[runs.VolumeRun]):
    """Classify volumes with a Higher-Order Transformer, scored on held-out cases beside simple baselines.

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

    def __init__(
        self,
        model: str = OURS,
        *,
        epochs: int | None = None,
        validation: float = 0.15,
        test: float = 0.2,
        baselines: Sequence[str] = ("majority", "logistic"),
        seed: int = 0,
        settings: dict[str, Any] | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.epochs = epochs
        self.validation = validation
        self.test = test
        self.baselines = baselines
        self.seed = seed
        self.settings = settings
        self.progress = progress

    def config(self) -> VolumeConfig:
        """The arguments as the config of a run."""
        extra = dict(self.settings or {})
        epochs = {} if self.epochs is None else {"epochs": self.epochs}
        own = {
            "model": {"name": self.model, **extra.pop("model", {})},
            "split": {"validation": self.validation, "test": self.test, **extra.pop("split", {})},
            "training": {"seed": self.seed, **epochs, **extra.pop("training", {})},
            "baselines": tuple(self.baselines),
        }
        return VolumeConfig.parse({**own, **extra}, "VolumeClassifier")

    def fit(self, X: Any, y: Any = None, *, patients: Sequence[Any] | None = None) -> Self:
        """Fit on arrays, or on a path with labels; nothing is written to disk.

        Args:
            X: `(cases, *sizes)` or `(cases, channels, *sizes)`; or the path of a .npz or table, or a known name.
            y: One class per case; None with a path, which holds its own.
            patients: One per case; a patient's cases fall into one split.

        Raises:
            DataError: The data is not sound.
            ConfigError: An argument does not fit.
        """
        config = self.config()
        if isinstance(X, str | Path):
            if y is not None or patients is not None:
                raise ConfigError("VolumeClassifier.fit: a path holds its own labels and patients. Leave y out.")
            prepared, classes = prepare(config, locate(str(X))), None
        else:
            if y is None:
                raise ConfigError("VolumeClassifier.fit: arrays need y, one class per case.")
            cases, classes = cases_of_arrays(X, y, options=config.read, split=config.split, patients=patients)
            prepared = prepare(config, cases)
        check_models(prepared, config)
        fitted = fit(prepared, config, progress=self.progress)
        run = runs.from_fitted(config, prepared, fitted)
        if classes is not None and classes.dtype.kind in "iuf":
            run.facts["labels_are_numbers"] = True
        self._digest = prepared.digest
        self._take(run)
        return self

    def _take(self, run: runs.VolumeRun) -> None:
        self.run_ = run
        self.scores_ = pd.DataFrame(run.scores)
        are_numbers = run.facts.get("labels_are_numbers", False)
        self.classes_ = np.array([int(float(name)) for name in run.classes] if are_numbers else run.classes)
        self.n_features_in_ = run.channels * int(np.prod(run.sizes))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities `(cases, classes)`, in the order of `classes_`."""
        run = self._run()
        frame = predict_cases(run, self._cases(X)).frame
        return frame[[f"p_{name}" for name in run.classes]].to_numpy(np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each case: above one half for two classes, else the most probable."""
        probabilities = self.predict_proba(X)
        found: NDArray[Any] = self.classes_[predicted_classes(probabilities)]
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """Share of cases whose class is right; a path holds its own labels."""
        return float(self.evaluate(X, y).query("model == 'multiway' and metric == 'acc'")["value"].iloc[0])

    def evaluate(self, X: Any, y: Any = None) -> pd.DataFrame:
        """Every score on other labelled cases, with intervals, beside the baselines."""
        run = self._run()
        if isinstance(X, str | Path):
            return pd.DataFrame(evaluate_cases(run, self._cases(X), "all"))
        cases, _ = cases_of_arrays(X, y, options=run.config.read)
        return pd.DataFrame(evaluate_cases(run, cases, "all"))

    def explain(self, X: Any, index: int = 0, **options: Any) -> Any:
        """Explain one case: attention per mode, rollout to voxels, integrated gradients, deletion test.

        Args:
            X: Arrays or a path, as for `predict`.
            index: Which case.
            **options: Of `multiway.tasks.volumes.explanation.explain_case`.
        """
        from multiway.tasks.volumes.explanation import explain_case

        return explain_case(self._run(), self._cases(X), index, **options)

    def save(self, path: str | Path) -> None:
        """Write a run folder that the command line can use.

        Raises:
            RunError: The path exists.
            ConfigError: The classifier was itself loaded.
        """
        run = self._run()
        if run.folder is not None:
            raise ConfigError("VolumeClassifier: this one was loaded from a folder; copy that folder instead.")
        folder = RunFolder.create(Path(path), opening(runs.NAME, self._digest, run.config))
        runs.store(run, folder, self._digest)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Take up a run that `save` or the command line wrote."""
        run = runs.load(Path(path))
        new = cls(**_parameters_of(run.config))
        new._take(run)
        return new

    def _cases(self, X: Any) -> Cases:
        read = self._run().config.read
        if isinstance(X, str | Path):
            return read_cases(locate(str(X)), read, same_sizes=False)
        return cases_of_arrays(X, options=read)[0]

    _digest: str


def _parameters_of(config: VolumeConfig) -> dict[str, Any]:
    """Constructor arguments that give the same config, without its data."""
    plain = config.plain()
    del plain["data"]
    model, split, training = plain["model"], plain["split"], plain["training"]
    return {
        "model": model.pop("name", OURS),
        "validation": split.pop("validation"),
        "test": split.pop("test"),
        "epochs": training.pop("epochs"),
        "seed": training.pop("seed"),
        "baselines": tuple(plain.pop("baselines")),
        "settings": plain,
    }
