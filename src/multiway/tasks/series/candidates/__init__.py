"""Candidates of series, one a file: each is registered by being there."""
