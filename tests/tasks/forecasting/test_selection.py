import pytest

from multiway.ops import Selection
from multiway.tasks.forecasting.selection import sentence


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (0.4, "a blend of 40% network and 60% ridge, 30.0 % below ridge on validation"),
        (1.0, "the network, 30.0 % below ridge on validation"),
        (0.0, "ridge: validation does not show that the network adds to it"),
    ],
)
def test_the_sentence_names_the_choice(weight, words):
    errors = {"floor_error": 1.0, "network_error": 0.8, "blend_error": 0.7}
    selection = Selection(weight=weight, optimum=0.5, deviation=0.1, blocks=7, **errors)
    assert words in sentence(selection)


def test_the_sentence_of_a_run_without_a_network():
    assert sentence(None) == "ridge: no network was trained."
