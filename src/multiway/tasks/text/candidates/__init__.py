"""Candidates of text, one a file: each is registered by being there."""
