"""Logistic regression on all values of a series."""

from multiway.models.series_baselines import FlatLinear
from multiway.tasks.candidate import LINEAR
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate


class Flat(SampleCandidate[FlatLinear]):
    """Logistic regression on all values of a series."""

    name, words, cost, rank = "logistic", "logistic regression", 1, LINEAR

    def build(self, basis: Basis) -> FlatLinear:
        """Weights of zero for each step of each variate."""
        state = basis.state
        return FlatLinear(state.length * len(state.variates), len(state.classes))

    def fit(self, model: FlatLinear, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty."""
        return model.fit(*training.tensors, *validation.tensors, training.penalties())


CANDIDATE = Flat()
