"""`SeriesClassifier`: the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence

import pandas as pd

from multiway.tasks.estimator import estimator
from multiway.tasks.sample_estimator import SampleClassifier
from multiway.tasks.series.explain import importance, importance_frame


@estimator
class SeriesClassifier(SampleClassifier):
    """Classify series with a transformer of NdLinear layers, scored on held-out series beside baselines.

    X is an array `(series, steps)` or `(series, steps, variates)`, NaN where a value is missing, or a list of arrays
    `(steps,)` or `(steps, variates)` of unlike lengths.

    Args:
        layer: Maps of the feed-forward: nd_linear, linear, tensor_train or low_rank.
        epochs: Passes over the training series.
        validation: Share of the series that choose the best epoch.
        test: Share of the series that are scored once, at the end.
        baselines: Some of majority, logistic and rocket.
        seed: Seed of everything random but the split, whose seed is `settings["split"]["seed"]`.
        settings: Other fields of `SeriesConfig`, nested: `{"model": {"dim": 16}, "training": {"batch_size": 8}}`.
        progress: Show a bar or lines on stderr.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`.
    """

    task = "series"

    _: dataclasses.KW_ONLY
    layer: str = "nd_linear"
    baselines: Sequence[str] = ("majority", "logistic", "rocket")

    def explain(self, X: object, model: str | None = None) -> pd.DataFrame:
        """Share of each step and each variate in the answers to up to 16 series, or in those of a model of the run."""
        return importance_frame(importance(self._run().asking(model), self._unlabelled(X)))
