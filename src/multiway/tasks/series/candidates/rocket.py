"""Ridge regression of the classes on MultiRocket's and Hydra's kernels."""

from multiway.models.series_baselines import Rocket
from multiway.tasks.candidate import LINEAR
from multiway.tasks.declarations import Fitted
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate


class Kernels(SampleCandidate[Rocket]):
    """Ridge regression of the classes on MultiRocket's and Hydra's kernels."""

    name, words, cost, rank = "rocket", "MultiRocket and Hydra", 2, LINEAR

    def build(self, basis: Basis) -> Rocket:
        """Kernels are drawn here."""
        state = basis.state
        return Rocket(len(state.variates), state.length, len(state.classes), state.num_series)

    def fit(self, model: Rocket, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; training series that are left out choose the penalty, and what makes logits of scores."""
        return model.fit(*training.tensors, *validation.tensors)

    def refit(self, model: Rocket, fitted: Rocket | None, data: Lesson) -> None:
        """Fit with the penalty and the sharpness that were found."""
        assert fitted is not None
        model.refit(*data.tensors, data.learnt["penalty"], fitted.sharpness)


CANDIDATE = Kernels()
