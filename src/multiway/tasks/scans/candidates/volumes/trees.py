"""Boosted trees on brightness, shape and texture."""

from typing import Any

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
        """Boost; validation chooses the size and the number of the trees."""
        held = feature_rows(model, validation)
        return model.model.tune(*feature_rows(model, training), *held, training.run.config.training.seed)

    def refit(self, model: OnVolumeFeatures[TreeEnsemble], fitted: Any, data: Lesson) -> None:
        """Boost trees of that size and number."""
        model.model.fit(*feature_rows(model, data), data.run.config.training.seed, **data.learnt)


CANDIDATE = VolumeTrees()
