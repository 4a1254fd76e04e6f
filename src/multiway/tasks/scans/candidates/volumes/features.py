"""Logistic or ridge regression on brightness, shape and texture."""

from multiway import ops
from multiway.models.baselines import Linear, OnVolumeFeatures, fit_linear
from multiway.tasks.candidate import LINEAR
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate
from multiway.tasks.scans.networks import feature_rows


class VolumeFeatures(SampleCandidate[OnVolumeFeatures[Linear]]):
    """Logistic or ridge regression on brightness, shape and texture."""

    name, words, cost, rank = "features", "regression on features", 1.5, LINEAR

    def build(self, basis: Basis) -> OnVolumeFeatures[Linear]:
        """Weights of zero for each feature of each channel."""
        return OnVolumeFeatures(Linear(ops.VOLUME_FEATURES * basis.state.channels, basis.state.num_outputs))

    def fit(self, model: OnVolumeFeatures[Linear], training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty."""
        rows, held = (feature_rows(model, part) for part in (training, validation))
        return fit_linear(model.model, *rows, *held, training.penalties())


CANDIDATE = VolumeFeatures()
