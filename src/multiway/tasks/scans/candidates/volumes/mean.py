"""The mean of the training targets."""

from multiway.tasks.sample_candidate import Mean

CANDIDATE = Mean()
