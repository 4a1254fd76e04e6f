"""The direction of the last movement."""

from multiway.tasks.candidate import CONSTANT
from multiway.tasks.sample_candidate import Basis
from multiway_papers.stocks.baselines import Previous
from multiway_papers.stocks.candidate import StockCandidate


class LastDirection(StockCandidate):
    """The direction of the last movement."""

    name, words, cost, rank = "previous", "previous direction", 2, CONSTANT

    def build(self, basis: Basis) -> Previous:
        """Not yet fitted."""
        return Previous()


CANDIDATE = LastDirection()
