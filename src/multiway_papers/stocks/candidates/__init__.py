"""Candidates of movements of stocks, one a file: each is registered by being there."""
