"""Ridge regression of the classes on what random kernels give."""

from multiway.models.series_baselines import Rocket
from multiway.tasks.candidate import TREES
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate


class RandomKernels(SampleCandidate[Rocket]):
    """Ridge regression of the classes on what random kernels give."""

    name, words, cost, rank = "rocket", "random kernels", 2, TREES

    def build(self, basis: Basis) -> Rocket:
        """Its kernels are drawn here."""
        state = basis.state
        return Rocket(len(state.variates), state.length, len(state.classes))

    def fit(self, model: Rocket, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty, and what makes logits of scores."""
        return model.fit(*training.tensors, *validation.tensors)


CANDIDATE = RandomKernels()
