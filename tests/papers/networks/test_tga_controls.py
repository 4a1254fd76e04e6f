"""Controls of TGA's figure 2 against their formulas, word by word, in value and gradient."""

import pytest
import torch

from multiway.models import create_model
from multiway.nn import TTLinear
from reference import tga
from tolerances import assert_same

LENGTH, SIZES, DIM = 5, (2, 3), 6
VALID = torch.tensor([[True, True, True, False, False], [True] * LENGTH])
CONTROLS = {"no_time": 2, "trains": 3, "filter": 0}  # and their tensor trains


def classifier(name):
    torch.manual_seed(0)
    fields = {"num_words": 11, "num_tokens": LENGTH, "num_classes": 3, "dim": DIM, "attention": {"sizes": SIZES}}
    return create_model(f"tga_text_classifier_{name}", **fields).double()


def by_formula(name, attention, x):
    """One text, all of whose words are there."""
    mapped = [tga.tensorised_product(x, list(layer.cores)) for layer in attention.maps]
    if name == "filter":
        return x + tga.time_graph(len(x), 0.9, False) @ x
    if name == "no_time":
        key, value = mapped
        return value + tga.content_graph(key) @ value
    query, key, value = mapped
    scores = [[(q * k).sum() / DIM**0.5 for k in key] for q in query]
    return tga.softmax_mean(scores, value)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_is_its_formula_on_the_words_that_are_there(name):
    attention = classifier(name).blocks_of(0)[0].attention
    assert sum(isinstance(layer, TTLinear) for layer in attention.maps) == CONTROLS[name]
    x = torch.randn(2, LENGTH, DIM, dtype=torch.float64, requires_grad=True)
    out = attention(x, valid=VALID)
    expected = torch.zeros_like(out)
    for text, keep in enumerate(VALID):
        expected[text, keep] = by_formula(name, attention, x[text, keep])
    assert_same(out, expected)
    inputs = [x, *attention.parameters()]
    weights = torch.randn_like(out)
    found = torch.autograd.grad((out * weights).sum(), inputs)
    for one, other in zip(found, torch.autograd.grad((expected * weights).sum(), inputs), strict=True):
        assert_same(one, other)
