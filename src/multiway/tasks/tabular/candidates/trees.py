"""Boosted trees on the inputs of a row."""

from multiway.tasks.sample_candidate import Trees

CANDIDATE = Trees()
