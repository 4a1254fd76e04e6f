"""Boosted trees on brightness, shape and texture."""

from multiway.models.baselines import OnVolumeFeatures
from multiway.models.tree_ensemble import TreeEnsemble
from multiway.tasks.candidate import TREES
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate, Trees
from multiway.tasks.scans.networks import feature_rows


class VolumeTrees(SampleCandidate[OnVolumeFeatures[TreeEnsemble]]):
    """Boosted trees on brightness, shape and texture."""

    name, words, cost, rank = "trees", Trees.words, 2, TREES
    library = Trees.library

    def build(self, basis: Basis) -> OnVolumeFeatures[TreeEnsemble]:
        """Room for the trees."""
        return OnVolumeFeatures(Trees().build(basis))

    def fit(self, model: OnVolumeFeatures[TreeEnsemble], training: Lesson, validation: Lesson) -> Fitted:
        """Boost."""
        return model.model.fit(*feature_rows(model, training), training.run.config.training.seed)


CANDIDATE = VolumeTrees()
