"""Panels of series: reading, splitting, scaling and cutting them into windows."""
