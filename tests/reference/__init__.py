"""Slow, literal transcriptions of the papers' equations, for tests alone."""
