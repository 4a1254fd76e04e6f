"""A fair coin for every stock and day."""

from multiway.tasks.candidate import CONSTANT
from multiway.tasks.sample_candidate import Basis
from multiway_papers.stocks.baselines import Random
from multiway_papers.stocks.candidate import StockCandidate


class Coin(StockCandidate):
    """A fair coin for every stock and day."""

    name, words, cost, rank = "random", "fair coin", 1, CONSTANT

    def build(self, basis: Basis) -> Random:
        """Not yet fitted."""
        return Random(basis.config.training.seed)


CANDIDATE = Coin()
