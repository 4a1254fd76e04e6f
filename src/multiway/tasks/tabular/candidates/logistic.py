"""Logistic regression of classes on the inputs of a row."""

from multiway.tasks.sample_candidate import Logistic

CANDIDATE = Logistic()
