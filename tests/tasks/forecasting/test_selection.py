import pytest

from multiway.ops import Selection, Share
from multiway.tasks.forecasting.choice import sentence


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ((0.4, 0.4), "a blend (network 40%), 30.0 % below ridge on validation"),
        ((0.4, 0.0), "a blend (network 40% to step 5, 0% to step 7), 30.0 % below ridge on validation"),
        ((1.0, 1.0), "the network, 30.0 % below ridge on validation"),
        ((0.0, 0.0), "ridge: validation does not show that the network adds to it"),
    ],
)
def test_the_sentence_names_the_choice(weights, words):
    errors = {"floor_error": 1.0, "network_error": 0.8, "blend_error": 0.7}
    shares = (
        Share(stop=stop, weight=weight, prior=0.5, optimum=0.5, deviation=0.1, blocks=7)
        for stop, weight in zip((5, 7), weights, strict=True)
    )
    told = sentence(Selection(shares=tuple(shares), **errors))
    assert words in told and "validation MSE ridge 1.0000, network 0.8000; 7 independent blocks" in told


def test_the_sentence_of_a_run_without_a_network():
    assert sentence(None) == "ridge: no network was trained."
