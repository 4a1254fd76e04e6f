"""Candidates of scans with masks, one a file: each is registered by being there."""
