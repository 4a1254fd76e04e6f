"""Layers: thin owners of parameters over the functions of `multiway.ops`."""
