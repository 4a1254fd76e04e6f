"""Ridge regression of a number on means of blocks of voxels."""

from multiway.tasks.sample_candidate import Ridge
from multiway.tasks.scans.networks import PooledVoxels


class PooledRidge(PooledVoxels):
    """Ridge regression of a number on means of blocks of voxels."""

    name, words, answers = Ridge.name, Ridge.words, "numbers"


CANDIDATE = PooledRidge()
