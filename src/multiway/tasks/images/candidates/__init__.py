"""Candidates of images, one a file: each is registered by being there."""
