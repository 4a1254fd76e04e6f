"""Shares of the classes in training."""

from multiway.tasks.sample_candidate import Majority

CANDIDATE = Majority()
