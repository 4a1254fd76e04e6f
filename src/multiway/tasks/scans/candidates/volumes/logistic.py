"""Logistic regression on means of blocks of voxels."""

from multiway.models.baselines import PooledLogistic, fit_logistic
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Lesson, Pooled
from multiway.tasks.scans.networks import batches_to_evaluate


class PooledVoxels(Pooled):
    """Logistic regression on means of blocks of voxels."""

    def fit(self, model: PooledLogistic, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty."""
        rows, held = (model.rows(batches_to_evaluate(part.samples, part.run.config)) for part in (training, validation))
        return fit_logistic(model, *rows, *held, training.penalties())


CANDIDATE = PooledVoxels()
