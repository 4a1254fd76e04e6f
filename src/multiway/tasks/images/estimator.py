"""`ImageClassifier`: the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from multiway.explain.images import ImageExplanation
from multiway.tasks.class_estimator import SampleClassifier
from multiway.tasks.estimator import estimator, place_of
from multiway.tasks.images.explanation import gradients_of


@estimator
class ImageClassifier(SampleClassifier):
    """Classify images with a convolutional network, scored on held-out images beside baselines.

    Images are arrays of bytes, `(images, height, width)` or `(images, height, width, channels)`.

    Args:
        layer: What maps the features to the hidden layer: nd_linear, linear, tensor_train or low_rank.
        epochs: Passes over the training images at most.
        validation: Share of the images that choose the best epoch.
        test: Share of the images that are scored once, at the end.
        baselines: Some of majority and logistic.
        seed: Seed of everything random but the split, whose seed is `settings["split"]["seed"]`.
        settings: Other fields of `ImageConfig`, nested: `{"read": {"size": 32}, "training": {"batch_size": 32}}`.
        progress: Show a bar or lines on stderr.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`.
    """

    task = "images"

    _: dataclasses.KW_ONLY
    layer: str = "nd_linear"
    validation: float = 0.15
    test: float = 0.2
    baselines: Sequence[str] = ("majority", "logistic")

    def explain(self, X: Any, index: int = 0) -> ImageExplanation:
        """Integrated gradients of the class that one image is named: what spoke for it, and against it.

        Args:
            X: Images, as for `predict`.
            index: Which image.
        """
        samples = self._unlabelled(X)
        place = place_of(index, len(samples))
        return gradients_of(self._run(), samples.take(np.array([place])))[1]
