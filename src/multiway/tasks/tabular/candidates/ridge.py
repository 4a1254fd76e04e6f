"""Ridge regression of a number on the inputs of a row."""

from multiway.tasks.sample_candidate import Ridge

CANDIDATE = Ridge()
