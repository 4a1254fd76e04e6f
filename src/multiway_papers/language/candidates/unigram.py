"""Counts of single tokens."""

from multiway.tasks.candidate import CONSTANT
from multiway_papers.language.candidate import Counts


class Unigram(Counts):
    """Counts of single tokens."""

    name, words, cost, rank = "unigram", "single tokens", 0, CONSTANT


CANDIDATE = Unigram()
