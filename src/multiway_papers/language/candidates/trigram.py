"""Counts of three tokens in a row."""

from multiway.tasks.candidate import LINEAR
from multiway_papers.language.candidate import Counts


class Trigram(Counts):
    """Counts of three tokens in a row."""

    name, words, cost, rank = "trigram", "three tokens (Kneser-Ney)", 1, LINEAR


CANDIDATE = Trigram()
