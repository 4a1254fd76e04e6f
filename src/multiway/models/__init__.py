"""Whole networks, one file per system, and their registry."""
