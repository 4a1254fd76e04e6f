import pytest
import torch
from torch import nn

from multiway.errors import ConfigError, ShapeError
from multiway.models import TextHead, TunedText, create_model, list_models
from multiway.models.text_classifier import masked_mean
from tolerances import TIGHT64, assert_same


def head(**fields: object) -> TextHead:
    torch.manual_seed(3)
    model = create_model("text_head", **{"in_features": 16, "num_classes": 3, "dropout": 0.0, **fields})
    assert isinstance(model, TextHead)
    return model.double().eval()


def count(name: str = "text_head", **fields: object) -> int:
    return sum(map(torch.numel, create_model(name, num_classes=2, **fields).parameters()))


def test_parameters_are_those_of_table_3():
    assert count("text_head_published", in_features=768) == 222
    assert count("text_head_dense", in_features=768) == 1_544


def test_the_heads_of_minilm():
    assert count("text_head_published", in_features=384) == 126
    assert count("text_head_dense", in_features=384) == 776
    assert count("text_head_dense", in_features=384, pooled=59) == 126
    assert count("text_head_dense", in_features=768, pooled=107) == 222
    assert count("text_head_published", in_features=384, layer="tensor_train", rank=1) == 126
    assert count("text_head_dense", in_features=384, layer="low_rank", rank=1) == 394


def test_two_maps_by_hand(generator):
    x = torch.randn(5, 16, generator=generator, dtype=torch.float64)
    model = head(hidden=[3, 4], activation=None)
    weights, biases = model.layer.weights, model.layer.biases
    first = torch.einsum("hd,bdf->bhf", weights[0], x.reshape(5, 2, 8)) + biases[0][:, None]
    second = torch.einsum("gf,bhf->bhg", weights[1], first) + biases[1]
    assert_same(model(x), second.flatten(1) @ model.output.weight.T + model.output.bias)


def test_a_dense_head_on_means_by_hand(generator):
    x = torch.randn(2, 5, 16, generator=generator, dtype=torch.float64)
    model = head(layer="linear", pooled=4, activation="relu")
    means = x.reshape(2, 5, 4, 4).mean(-1)
    hidden = (means @ model.layer.layer.weight.T + model.layer.layer.bias).relu()
    assert_same(model(x), hidden @ model.output.weight.T + model.output.bias)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"in_features": 20}, "columns must divide the 20 features. Got 8"),
        ({"hidden": [2]}, "hidden needs 2 sizes with nd_linear"),
        ({"layer": "low_rank"}, "rank is for tensor_train and low_rank"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(fields, text):
    with pytest.raises(ConfigError, match=text):
        head(**fields)


def test_vectors_of_another_width_are_refused():
    with pytest.raises(ShapeError, match=r"must be the 16 features of a text\. Got"):
        head()(torch.zeros(2, 15))


class Encoder(nn.Module):
    """What transformers give, as far as `TunedText` needs."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 16)

    def forward(self, input_ids, attention_mask):
        assert input_ids.min() >= 0 and set(attention_mask.unique().tolist()) <= {0, 1}
        return type("Output", (), {"last_hidden_state": self.embedding(input_ids)})


def test_a_tuned_encoder_is_a_head_on_the_mean_of_its_tokens():
    model = TunedText(Encoder(), head()).double().eval()
    ids = torch.tensor([[4, 9, 1, 0, 0], [2, 0, 0, 0, 0]])
    vectors = torch.stack([model.encoder.embedding(torch.tensor(each)).mean(0) for each in ([3, 8, 0], [1])])
    assert_same(model(ids), model.head(vectors))
    model(ids).sum().backward()
    assert model.encoder.embedding.weight.grad[8].abs().sum() > 0


def test_a_text_without_words_has_a_mean_of_zeros(generator):
    tokens = torch.randn(2, 3, 4, generator=generator, dtype=torch.float64)
    keep = torch.tensor([[True, True, False], [False, False, False]])
    found = masked_mean(tokens, keep)
    torch.testing.assert_close(found[0], tokens[0, :2].mean(0), rtol=TIGHT64, atol=TIGHT64)
    assert found[1].tolist() == [0, 0, 0, 0]


def test_the_heads_have_names():
    assert {"text_head", "text_head_dense"} <= set(list_models("text_*"))
