"""Boosted trees of LightGBM on the inputs of a row."""

from multiway.models.boosters import LEAVES, boost_by_lightgbm
from multiway.tasks.sample_candidate import Boosters


class LightGBM(Boosters):
    """They grow by the leaf that gains most."""

    name, words, cost = "lightgbm", "LightGBM", 3
    library = ("lightgbm", "lightgbm")
    boost, leaves = staticmethod(boost_by_lightgbm), LEAVES


CANDIDATE = LightGBM()
