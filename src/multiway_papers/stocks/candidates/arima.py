"""ARIMA of the prices of each stock."""

from multiway.tasks.candidate import NET
from multiway.tasks.sample_candidate import Basis
from multiway_papers.stocks.baselines import PriceArima
from multiway_papers.stocks.candidate import StockCandidate


class PricesAlone(StockCandidate):
    """ARIMA of the prices of each stock."""

    name, words, cost, rank = "arima", "ARIMA", 8, NET

    def build(self, basis: Basis) -> PriceArima:
        """Not yet fitted."""
        return PriceArima(len(basis.state.tickers))


CANDIDATE = PricesAlone()
