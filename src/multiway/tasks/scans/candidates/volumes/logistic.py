"""Logistic regression on means of blocks of voxels."""

from multiway.models.baselines import PooledLogistic, fit_logistic
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Lesson, Pooled
from multiway.tasks.scans.networks import feature_rows


class PooledVoxels(Pooled):
    """Logistic regression on means of blocks of voxels."""

    def fit(self, model: PooledLogistic, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty."""
        rows, held = (feature_rows(model, part) for part in (training, validation))
        return fit_logistic(model, *rows, *held, training.penalties())


CANDIDATE = PooledVoxels()
