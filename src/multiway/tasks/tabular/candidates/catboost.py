"""Boosted trees of CatBoost on the inputs of a row."""

from multiway.models.boosters import DEPTH, boost_by_catboost
from multiway.tasks.sample_candidate import Boosters


class CatBoost(Boosters):
    """They ask one question at each depth."""

    name, words, cost = "catboost", "CatBoost", 4
    library = ("catboost", "boosting")
    boost, leaves = staticmethod(boost_by_catboost), 2**DEPTH


CANDIDATE = CatBoost()
