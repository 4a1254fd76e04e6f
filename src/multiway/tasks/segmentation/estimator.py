"""`Segmenter`: the task in scikit-learn's manners."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.memory import Arrays
from multiway.data.sources.scans.volume import Array
from multiway.data.sources.scenes import is_scene, read_scene
from multiway.explain import ModeMap
from multiway.tasks.estimator import estimator, located, own_score, tell_far
from multiway.tasks.run import Run
from multiway.tasks.scan_task import ScanEstimator, warn_of_other_voxels
from multiway.tasks.segmentation.explain import MOST_CASES, attention_maps
from multiway.tasks.segmentation.predict import predict_scene, predict_volume
from multiway.tasks.segmentation.scores import MEAN, headline


@estimator
class Segmenter(ScanEstimator):
    """Give every voxel a class with a Higher-Order Transformer, scored on held-out images with simple baselines.

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
    answers = ("masks", "mask per image")

    model: str | None = None
    _: dataclasses.KW_ONLY
    validation: float | None = None
    test: float | None = None
    baselines: Sequence[str] | None = None

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
        run, source, is_path = self._run().answered_by(model), located(X), isinstance(X, str | Path)
        if is_path and is_scene(source):
            scene = read_scene(source, run.config.read.max_bytes)
            return self._masks([predict_scene(run, scene, far=far)])[0]
        read = run.config.read
        cases = read_cases(source if is_path else Arrays(x=X), read, opened=False, labelled=False)
        warn_of_other_voxels(cases, run.state.spacings)
        masks = self._masks(predict_volume(run, cases.inputs.read(row), far=far) for row in range(len(cases)))
        return masks if is_path else np.stack(masks)

    def _masks(self, answers: Iterable[tuple[Array, list[str]]]) -> list[Array]:
        """Masks, once it is said which images lie far outside the training."""
        masks, told = zip(*answers, strict=True)
        tell_far(itertools.chain.from_iterable(told))
        return list(masks)

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
