import pytest
import torch

from multiway.errors import ShapeError
from multiway.models import TextClassifier, create_model
from tolerances import assert_same

PLAIN = {"num_heads": 2, "dropout": 0.0}
NDLINEAR = {"layer": "nd_linear", "sizes": [2, 4], "hidden": [4, 4]}


def build(**fields: object) -> TextClassifier:
    torch.manual_seed(3)
    usual = {"num_words": 11, "num_tokens": 6, "num_classes": 3, "dim": 8, "block": PLAIN, "dropout": 0.0}
    model = create_model("text_classifier", **{**usual, **fields})
    assert isinstance(model, TextClassifier)
    return model.double().eval()


IDS = torch.tensor([[3, 4, 5, 0, 0, 0], [6, 2, 0, 0, 0, 0], [7, 8, 9, 10, 1, 2]])


def test_without_blocks_it_is_a_linear_map_of_the_mean_word():
    model = build(num_blocks=0)
    words = model.embedding(IDS[0, :3]) + model.positions[:3]
    assert_same(model(IDS)[0], words.mean(0) @ model.head.weight.T + model.head.bias)


@pytest.mark.parametrize("feed_forward", [{"hidden": [5]}, NDLINEAR])
def test_a_text_does_not_depend_on_its_batch(feed_forward):
    model = build(num_blocks=2, block={**PLAIN, "feed_forward": feed_forward})
    alone = torch.cat([model(IDS[row : row + 1]) for row in range(3)])
    assert_same(model(IDS), alone)


def test_the_order_of_the_words_counts():
    model = build()
    assert not torch.allclose(model(IDS[2:]), model(IDS[2:].flip(1)))


def test_twins_differ_in_the_feed_forward_alone():
    dense, by_mode = (
        {name: parameter.shape for name, parameter in build(block={**PLAIN, "feed_forward": each}).named_parameters()}
        for each in ({"hidden": [16]}, NDLINEAR)
    )
    assert {name for name in dense if "feed_forward" not in name} == {
        name for name in by_mode if "feed_forward" not in name
    }
    assert all(dense[name] == by_mode[name] for name in dense if "feed_forward" not in name)


def test_texts_that_are_too_long_are_refused():
    with pytest.raises(ShapeError, match=r"of at most 6 words\. Got"):
        build()(torch.ones(2, 7, dtype=torch.int64))
