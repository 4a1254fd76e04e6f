"""What a report of any task says at its beginning: which model answers."""

import pytest

from multiway.report.scores import Scores
from multiway.tasks.pages import blend_in_words

MODELS = ["ridge", "theta", "ets", "network", "naive", "flair"]
SCORES = Scores([[{"model": name, "split": "test", "metric": "mse", "value": 1.0} for name in MODELS]], [], "blend")


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([0, 1], "theta"),
        ([0.3, 0.7], "a blend of theta and ridge"),
        ([0.3, 0.1, 0.25, 0.35, 0, 0], "a blend of the network, ridge, ets and theta"),
        ([0.3, 0.1, 0.2, 0.25, 0.06, 0.09], "a blend of ridge, the network, ets, theta and 2 more"),
        ([0.9, 0.04, 0.03, 0.03], "a blend of ridge and 3 more"),
        ([0.04, 0.04, 0.03], "a blend of ridge and 2 more"),
    ],
)
def test_members_of_a_blend_are_named_or_counted(weights, words):
    shares = dict(zip(MODELS, weights, strict=False))
    assert blend_in_words(shares, SCORES) == words
