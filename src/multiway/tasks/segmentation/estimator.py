"""`Segmenter`: the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from multiway.data.sources.scans.cases import Arrays
from multiway.data.sources.scans.encoding import warn_of_spacings
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scenes import is_scene, read_scene
from multiway.errors import ConfigError
from multiway.explain import ModeMap
from multiway.tasks.estimator import Estimator, estimator, located, own_score
from multiway.tasks.run import Run
from multiway.tasks.segmentation.explain import MOST_CASES, attention_maps
from multiway.tasks.segmentation.predict import predict_scene, predict_volume
from multiway.tasks.segmentation.scores import ALL, MEAN, headline


@estimator
class Segmenter(Estimator):
    """Give every voxel a class with a Higher-Order Transformer, scored on held-out images beside simple baselines.

    Args:
        model: Name of a network that segments; the one for volumes or for scenes if not given.
        epochs: Passes over the training images.
        validation: Share of the images that choose the best epoch.
        test: Share of the images that are scored once, at the end.
        baselines: Some of background, threshold, logistic and unet; those that fit the data if not given.
        seed: Seed of everything random but the split, whose seed is `settings["split"]["seed"]`.
        settings: Other fields of `SegmentConfig`, nested: `{"patch": [32, 32, 32], "training": {"batch_size": 2}}`.
        progress: Show a bar or lines on stderr.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`, the values of the training masks.
    """

    task = "segment"

    model: str | None = None
    _: dataclasses.KW_ONLY
    validation: float | None = None
    test: float | None = None
    baselines: Sequence[str] | None = None

    def fit(self, X: object, y: object = None, *, patients: Sequence[object] | None = None) -> Self:
        """Fit on arrays, or on a path with masks; nothing is written to disk.

        Args:
            X: `(cases, *sizes)` or `(cases, channels, *sizes)` with three sizes; or the path of a table or scene, or
                a known name.
            y: Masks of whole numbers, `(cases, *sizes)`; None with a path, which holds its own.
            patients: One per case; a patient's cases fall into one split.

        Raises:
            DataError: The data is not sound.
            ConfigError: An argument does not fit.
        """
        if not isinstance(X, str | Path):
            return self._fit(_arrays(X, y, patients), self.config())
        if y is not None or patients is not None:
            raise ConfigError("Segmenter.fit: a path holds its own masks and patients. Leave y out.")
        return self._fit(located(X), self.config(X))

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.classes_ = np.array(run.state.values)

    def predict(self, X: object) -> Any:
        """Masks in the values of the training masks, each on its image's own grid.

        Args:
            X: Arrays as for `fit`, or a path of images or of a scene.

        Returns:
            `(cases, *sizes)` for arrays and `(rows, columns)` for a scene; for a path of images a list of masks.
        """
        run, source, is_path = self._run(), located(X), isinstance(X, str | Path)
        if is_path and is_scene(source):
            return predict_scene(run, read_scene(source, run.config.read.max_bytes))
        read = run.config.read
        cases = read_cases(source if is_path else Arrays(x=X), read, same_sizes=False)
        warn_of_spacings({name: cases.spacing(row) for row, name in enumerate(cases.names)}, run.state.spacings)
        masks = [predict_volume(run, cases.read(index)) for index in range(cases.count)]
        return masks if is_path else np.stack(masks)

    def score(self, X: object, y: object = None) -> float:
        """Mean Dice over images and classes, of a scene over all its pixels; NaN where it is undefined."""
        metric = headline(self._run().state.num_modes)
        return own_score(self.evaluate(X, y), metric, {"class": MEAN})

    def evaluate(self, X: object, y: object = None) -> pd.DataFrame:
        """Every score on other images with masks, with intervals, beside the baselines."""
        return self._scores_of(_source(X, y))

    def explain(self, X: object, y: object = None) -> list[ModeMap]:
        """Attention per mode and block, averaged over patches about what the masks of the first images mark.

        Raises:
            ConfigError: The network has no attention.
        """
        later = self._prepared(_source(X, y))
        return attention_maps(self._run(), later, later.rows(ALL)[:MOST_CASES])


def _source(X: object, y: object) -> object:
    return X if isinstance(X, str | Path) else _arrays(X, y)


def _arrays(X: object, y: object, patients: Sequence[object] | None = None) -> Arrays:
    if y is None:
        raise ConfigError("Segmenter: arrays need y, one mask per image.")
    return Arrays(x=X, masks=y, patients=patients)
