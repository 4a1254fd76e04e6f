"""The share of rises in training."""

from multiway.tasks.candidate import CONSTANT
from multiway.tasks.sample_candidate import Basis
from multiway_papers.stocks.baselines import MovementMajority
from multiway_papers.stocks.candidate import StockCandidate


class ShareOfRises(StockCandidate):
    """The share of rises in training."""

    name, cost, rank = "majority", 0, CONSTANT

    def build(self, basis: Basis) -> MovementMajority:
        """Not yet fitted."""
        return MovementMajority()


CANDIDATE = ShareOfRises()
