import pytest
import torch

from multiway.errors import ConfigError, ShapeError
from multiway.models import SeriesClassifier, create_model
from multiway.models.series_classifier import sinusoids
from tolerances import assert_same

SETS = {
    "ecg_five_days": ((1, 2, 16, 8), (3363, 1779, 1804)),
    "heartbeat": ((61, 2, 16, 4), (4323, 2739, 2752)),
    "chlorine_concentration": ((1, 3, 32, 16), (12_900, 6660, 6709)),
    "ecg5000": ((1, 5, 32, 32), (12_966, 6726, 6823)),
    "lsst": ((6, 14, 48, 32), (29_343, 15_375, 15_472)),
    "sleep": ((1, 5, 32, 32), (12_966, 6726, 6823)),
}
"""Variates, classes, d and k, and the parameters that the paper prints of Linear, Linear* and NdLinear."""


def build(**fields: object) -> SeriesClassifier:
    torch.manual_seed(3)
    usual = {"variates": 2, "num_classes": 3, "dim": 8, "num_heads": 2, "hidden": (8, 3)}
    model = create_model("series_classifier", **(usual | fields))
    assert isinstance(model, SeriesClassifier)
    return model.double().eval()


def series(generator, *sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=generator, dtype=torch.float64)


def count(**fields: object) -> int:
    return sum(each.numel() for each in create_model("series_classifier", **fields).parameters())


@pytest.mark.parametrize("name", SETS)
def test_parameters_are_those_of_table_6(name):
    (variates, classes, dim, middle), published = SETS[name]
    sizes = {"variates": variates, "num_classes": classes + 1, "dim": dim}
    linear, star = count(**sizes, layer="linear"), count(**sizes, layer="linear", hidden=(dim,))
    assert (linear, star, count(**sizes, hidden=(dim, middle))) == published


@pytest.mark.parametrize("fields", [{}, {"layer": "linear"}, {"layer": "low_rank", "rank": 2, "hidden": (6,)},
                                    {"layer": "tensor_train", "rank": 2, "hidden": None}])  # fmt: skip
@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_padding_changes_nothing_and_a_sample_depends_on_itself(fields, pooling, generator):
    model, x = build(pooling=pooling, **({"hidden": None} | fields)), series(generator, 4, 7, 2)
    x[1, 5:] = torch.nan
    x[2, 3] = torch.nan
    longer = torch.cat([x, torch.full((4, 3, 2), torch.nan, dtype=torch.float64)], 1)
    assert_same(model(longer), model(x))
    assert_same(model(x)[1:2], model(x[1:2, :5]))


def test_the_forward_pass_by_hand(generator):
    model, x = build(layer="linear", hidden=(5,)), series(generator, 3, 7, 2)
    tokens = x @ model.embed.weight.T + model.embed.bias + sinusoids(7, 8)
    tokens = model.blocks[0](tokens)
    assert_same(model(x), tokens.mean(1) @ model.head.weight.T + model.head.bias)
    model = build(layer="linear", hidden=(5,), pooling="max", positions="none")
    tokens = model.blocks[0](x @ model.embed.weight.T + model.embed.bias)
    assert_same(model(x), tokens.amax(1) @ model.head.weight.T + model.head.bias)


def test_sines_tell_steps_apart():
    waves = sinusoids(50, 8)
    assert_same(waves[:, 2], torch.sin(torch.arange(50, dtype=torch.float64) / 10))
    assert_same(waves[:, 3], torch.cos(torch.arange(50, dtype=torch.float64) / 10))
    assert torch.cdist(waves, waves).add(torch.eye(50)).min() > 0.1


def test_order_matters_only_with_positions(generator):
    x = series(generator, 3, 7, 2)
    assert_same(build(positions="none")(x.flip(1)), build(positions="none")(x))
    assert not torch.allclose(build()(x.flip(1)), build()(x))


def test_a_missing_variate_counts_as_the_mean(generator):
    x = series(generator, 3, 7, 2)
    x[0, 2, 1] = torch.nan
    assert_same(build()(x), build()(x.nan_to_num()))


def test_a_series_without_any_value_gives_numbers_and_gradients(generator):
    for pooling in ("mean", "max"):
        model, x = build(pooling=pooling).train(), series(generator, 2, 7, 2)
        x[0] = torch.nan
        model(x).sum().backward()
        assert all(each.grad.isfinite().all() for each in model.parameters())


def test_what_does_not_fit():
    with pytest.raises(ShapeError, match=r"x must be \(batch, steps, 2\)\. Got \(4, 7, 3\)\. Batch first"):
        build()(torch.zeros(4, 7, 3))
    with pytest.raises(ConfigError, match="num_heads must divide dim"):
        create_model("series_classifier", variates=1, num_classes=2, dim=6, num_heads=4)
    for layer in ({"layer": "nd_linear"}, {"layer": "tensor_train", "rank": 2}):
        with pytest.raises(
            ConfigError, match=r"hidden must have a number for each of sizes .* Got hidden=\[3, 4, 5\] for"
        ):
            create_model("series_classifier", variates=1, num_classes=2, dim=8, hidden=(3, 4, 5), **layer)
    with pytest.raises(ConfigError, match="must multiply to dim=8"):
        create_model("series_classifier", variates=1, num_classes=2, dim=8, sizes=(3, 2))
