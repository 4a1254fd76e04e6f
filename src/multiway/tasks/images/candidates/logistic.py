"""Logistic regression on means of blocks of pixels."""

import numpy as np

from multiway.models.baselines import PooledLinear, fit_logistic, rows_of
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Lesson, Pooled

FITTED, PENALTIES, AT_ONCE = 20_000, (1e-1, 1e-3), 1024
"""Training images that it is fitted on at most, its penalties, and images averaged at once."""


class PooledPixels(Pooled):
    """Logistic regression on means of blocks of pixels, of some images."""

    def fit(self, model: PooledLinear, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty."""
        images = training.samples
        some = images.take(np.unique(np.linspace(0, len(images) - 1, FITTED).astype(np.int64)))
        rows, held = (rows_of(model, part.batches(AT_ONCE)) for part in (some, validation.samples))
        return fit_logistic(model, *rows, *held, training.penalties(PENALTIES))


CANDIDATE = PooledPixels()
