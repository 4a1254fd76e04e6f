"""Candidates of scans with classes, one a file: each is registered by being there."""
