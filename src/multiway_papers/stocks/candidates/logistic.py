"""Logistic regression on what the network reads."""

from multiway.tasks.candidate import LINEAR
from multiway.tasks.sample_candidate import Basis
from multiway_papers.stocks.candidate import StockCandidate
from multiway_papers.stocks.regressions import Logistic


class Readings(StockCandidate):
    """Logistic regression on what the network reads."""

    name, words, cost, rank = "logistic", "logistic regression", 5, LINEAR

    def build(self, basis: Basis) -> Logistic:
        """Not yet fitted."""
        return Logistic(basis.state.sizes)


CANDIDATE = Readings()
