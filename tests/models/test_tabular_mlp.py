import pytest
import torch
from torch.nn import functional

from multiway.errors import ConfigError, ShapeError
from multiway.models import TabularMLP, create_model
from multiway.workflows.recipe import load_recipe
from tolerances import assert_same


def build(**fields: object) -> TabularMLP:
    torch.manual_seed(3)
    model = create_model("tabular_mlp", **({"in_features": 5, "num_outputs": 3, "hidden": (7, 2)} | fields))
    assert isinstance(model, TabularMLP)
    return model.double().eval()


def count(name: str, **fields: object) -> int:
    return sum(parameter.numel() for parameter in create_model(name, **fields).parameters())


def test_parameters_are_those_of_table_5():
    cardio, delivery = {"in_features": 11, "num_outputs": 2}, {"in_features": 14, "num_outputs": 1}
    assert count("tabular_mlp", **cardio) == 5_962
    assert count("tabular_mlp_dense", **cardio) == 18_306
    assert count("tabular_mlp", rows=32, **delivery) == 7_873
    assert count("tabular_mlp_dense", **delivery) == 18_561


def test_dense_twins_of_table_5_have_as_many_parameters_as_nd_linear():
    sizes = {"cardio": {"in_features": 11, "num_outputs": 2}, "delivery": {"in_features": 14, "num_outputs": 1}}
    for row, data in sizes.items():
        names = [f"tabular-{row}-{variant}" for variant in ("ndlinear", "dense-matched")]
        models = [dict(load_recipe(name).settings.get("model", {})) for name in names]
        ours, twin = (count(fields.pop("name", "tabular_mlp"), **fields, **data) for fields in models)
        assert abs(twin / ours - 1) < 0.02


def test_dense_layers_by_hand(generator):
    model = build(layer="linear")
    x = torch.randn(4, 5, generator=generator, dtype=torch.float64)
    hidden = x
    for layer in model.layers:
        hidden = functional.relu(hidden @ layer.weight.T + layer.bias)
    assert_same(model(x), hidden @ model.head.weight.T + model.head.bias)


def test_a_layer_per_mode_by_hand(generator):
    model = build(rows=6)
    x = torch.randn(4, 5, generator=generator, dtype=torch.float64)
    hidden = x[..., None]
    for layer in model.layers:
        first = torch.einsum("hd,bdf->bhf", layer.weights[0], hidden) + layer.biases[0][:, None]
        hidden = functional.relu(torch.einsum("gf,bhf->bhg", layer.weights[1], first) + layer.biases[1])
    assert hidden.shape == (4, 6, 2)
    assert_same(model(x), hidden.flatten(1) @ model.head.weight.T + model.head.bias)


def test_a_bottleneck_and_a_tensor_train_by_hand(generator):
    x = torch.randn(4, 5, generator=generator, dtype=torch.float64)
    for fields in ({"layer": "low_rank", "rank": 2}, {"layer": "tensor_train", "rank": 3, "rows": 6}):
        model, hidden = build(**fields), x
        for flattened in model.layers:
            layer = flattened.layer
            weight = layer(torch.eye(hidden.shape[1], dtype=torch.float64)) - layer.bias
            assert int(torch.linalg.matrix_rank(weight)) <= (2 if "rows" not in fields else weight.shape[0])
            hidden = functional.relu(hidden @ weight + layer.bias)
        assert hidden.shape[1] == (2 if "rows" not in fields else 12)
        assert_same(model(x), hidden @ model.head.weight.T + model.head.bias)


@pytest.mark.parametrize("fields", [{"layer": "low_rank"}, {"layer": "tensor_train"}, {"rank": 2}])
def test_a_rank_is_given_where_one_is_needed(fields):
    with pytest.raises(ConfigError, match=r"rank is for tensor_train and low_rank, which need one\. Got "):
        build(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"layer": "linear"},
        {"layer": "nd_linear"},
        {"layer": "low_rank", "rank": 2},
        {"layer": "tensor_train", "rank": 2},
    ],
)
def test_leading_axes_are_free(fields, generator):
    model = build(**fields)
    x = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
    assert_same(model(x), model(x.flatten(0, 1)).reshape(2, 3, 3))
    assert_same(model(x)[1, 2], model(x[1, 2]))


@pytest.mark.parametrize("fields", [{}, {"layer": "low_rank", "rank": 2}])
def test_parameters_are_drawn_anew(fields):
    model = build(**fields)
    before = [parameter.clone() for parameter in model.parameters()]
    torch.manual_seed(3)
    model.reset_parameters()
    assert not all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def test_dropout_is_of_training_only(generator):
    model, x = build(dropout=0.5), torch.randn(4, 5, generator=generator, dtype=torch.float64)
    assert torch.equal(model(x), model(x))
    assert not torch.equal(model.train()(x), model(x))


def test_what_does_not_fit():
    with pytest.raises(ShapeError, match=r"the last axis of x must be the 5 inputs of a row\. Got \(4, 6\)"):
        build()(torch.zeros(4, 6))
    with pytest.raises(ConfigError, match="hidden"):
        create_model("tabular_mlp", in_features=5, num_outputs=1, hidden=())
    with pytest.raises(ConfigError, match="did you mean layer"):
        create_model("tabular_mlp", in_features=5, num_outputs=1, layers="linear")
