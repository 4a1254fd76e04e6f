"""Logistic regression on TF-IDF of the last texts, one of each ticker."""

from multiway.tasks.candidate import LINEAR
from multiway.tasks.sample_candidate import Basis
from multiway_papers.stocks.candidate import WordCandidate
from multiway_papers.stocks.regressions import WordLogistic


class BagsOfWords(WordCandidate):
    """Logistic regression on TF-IDF of the last texts, one of each ticker."""

    name, words, cost, rank = "tfidf_ticker", "bag of words per ticker", 7, LINEAR

    def build(self, basis: Basis) -> WordLogistic:
        """Not yet fitted."""
        return WordLogistic(len(basis.state.words), len(basis.state.tickers))


CANDIDATE = BagsOfWords()
