"""Candidates of a forecast, one a file: each is registered by being there."""
