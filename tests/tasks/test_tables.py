import pytest

from multiway.tasks.tables import not_earned


@pytest.mark.parametrize(
    ("ours", "others"), [(0.9, {"ridge": 0.8}), (0.9, {}), (None, {"ridge": 0.8}), (0.9, {"ridge": None})]
)
def test_nothing_is_said_of_a_network_ahead_or_of_nothing_to_compare(ours, others):
    assert not_earned(ours, others) == ""


@pytest.mark.parametrize("ours", [0.7, 0.8])
def test_the_best_baseline_is_named_if_it_is_as_good(ours):
    said = not_earned(ours, {"majority": 0.5, "logistic": 0.8, "cnn": None})
    assert said == " The network has not earned its place: logistic does as well or better."
