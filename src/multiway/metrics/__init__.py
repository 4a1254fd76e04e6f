"""Scores as plain functions of arrays, None where they are undefined, and one resampler for their intervals."""
