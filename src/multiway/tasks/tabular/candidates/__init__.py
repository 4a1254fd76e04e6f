"""Candidates of tabular, one a file: each is registered by being there."""
