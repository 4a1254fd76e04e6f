"""Trees on quantiles of intervals of a series."""

from multiway.models.series_baselines import IntervalForest
from multiway.tasks.candidate import TREES
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate


class Quantiles(SampleCandidate[IntervalForest]):
    """Extremely randomised trees on quantiles of intervals."""

    name, words, cost, rank = "quant", "QUANT", 2, TREES
    library = ("sklearn", "trees")

    def build(self, basis: Basis) -> IntervalForest:
        """Without trees; these are grown by `fit`."""
        return IntervalForest(len(basis.state.classes))

    def fit(self, model: IntervalForest, training: Lesson, validation: Lesson) -> None:
        """Grow the trees."""
        model.fit(*training.tensors, training.run.config.training.seed)


CANDIDATE = Quantiles()
