"""A look-up of what a calendar knows."""

from multiway.tasks.candidate import LINEAR
from multiway.tasks.sample_candidate import Basis
from multiway_papers.stocks.baselines import Calendar
from multiway_papers.stocks.candidate import StockCandidate


class LookUp(StockCandidate):
    """A look-up of what a calendar knows."""

    name, words, cost, rank = "calendar", "calendar look-up", 4, LINEAR

    def build(self, basis: Basis) -> Calendar:
        """Not yet fitted."""
        return Calendar()


CANDIDATE = LookUp()
