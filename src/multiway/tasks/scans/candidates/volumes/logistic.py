"""Logistic regression on means of blocks of voxels."""

from multiway.tasks.scans.networks import PooledVoxels

CANDIDATE = PooledVoxels()
