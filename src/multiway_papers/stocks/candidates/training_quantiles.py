"""Quantiles of all training movements."""

from multiway.tasks.candidate import CONSTANT
from multiway.tasks.sample_candidate import Basis
from multiway_papers.stocks.baselines import TrainingQuantiles
from multiway_papers.stocks.candidate import StockCandidate


class Quantiles(StockCandidate):
    """Quantiles of all training movements."""

    name, words, cost, rank = "training_quantiles", "training quantiles", 3, CONSTANT

    def build(self, basis: Basis) -> TrainingQuantiles:
        """Not yet fitted."""
        return TrainingQuantiles(len(basis.config.levels))


CANDIDATE = Quantiles()
