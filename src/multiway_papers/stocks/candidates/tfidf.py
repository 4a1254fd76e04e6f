"""Logistic regression on TF-IDF of the last texts."""

from multiway.tasks.candidate import LINEAR
from multiway.tasks.sample_candidate import Basis
from multiway_papers.stocks.candidate import WordCandidate
from multiway_papers.stocks.regressions import WordLogistic


class BagOfWords(WordCandidate):
    """Logistic regression on TF-IDF of the last texts."""

    name, words, cost, rank = "tfidf", "bag of words", 6, LINEAR

    def build(self, basis: Basis) -> WordLogistic:
        """Not yet fitted."""
        return WordLogistic(len(basis.state.words))


CANDIDATE = BagOfWords()
