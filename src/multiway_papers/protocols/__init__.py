"""Splits, labels and data as published, some of which leak: reachable under names that say so, and in no other way.

An entry point names what adds to a registry of `multiway`; protocols of stocks are named in this package's `__init__`.
"""
