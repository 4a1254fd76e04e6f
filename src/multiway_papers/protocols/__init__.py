"""Splits, labels and data as published, some of which leak: reachable under names that say so, and in no other way.

A task keeps a registry with what is sound. A module of this folder adds to it as it is imported, and is named in
`multiway/__init__.py`; the registry imports it by `multiway.lazy.load_extensions` when it misses a name.
"""
