"""Networks with NdLinear between convolutions and on grids, written out, and their counts."""

import pytest
import torch
from torch.nn import functional as F

from multiway.errors import ConfigError
from multiway.models import create_model
from multiway.workflows.recipe import load_recipe
from tolerances import assert_same


def mode_by_mode(layer, x):
    """Algorithm 1 over the axes after the batch."""
    for axis, (weight, bias) in enumerate(zip(layer.weights, layer.biases, strict=True), start=1):
        x = (torch.tensordot(x, weight, dims=([axis], [1])) + bias).movedim(-1, axis)
    return x


def test_an_nd_linear_stands_between_the_convolutions():
    torch.manual_seed(0)
    model = create_model("cnn_image_classifier_mixed", sizes=(12, 20), channels=(3, 5, 7), num_classes=4)
    model = model.double().eval()
    x = torch.randn(2, 3, 12, 20, dtype=torch.float64)
    seen = x
    for place, stage in enumerate(model.stages):
        for part in list(stage)[:5]:
            seen = part(seen)
        if place < 2:
            seen = torch.relu(mode_by_mode(stage[5], seen))
    hidden = torch.relu(mode_by_mode(model.hidden, seen))
    assert_same(model(x), F.linear(hidden.flatten(1), model.head.weight, model.head.bias))
    moved = x.clone()
    moved[:, :, 0, 0] += 1
    changed = model.stages[0](moved) != model.stages[0](x)
    assert changed[:, :, 0].any() and changed[:, :, :, 9].any(), "what is between sees whole rows and columns"


@pytest.mark.parametrize("channels", [1, 2])
def test_a_perceptron_of_grids_is_mode_products_and_a_dense_head(channels):
    torch.manual_seed(0)
    hidden = ((3, 4), (2, 3)) if channels == 1 else ((2, 3, 4), (3, 2, 3))
    model = create_model(
        "grid_image_classifier", sizes=(5, 7), in_channels=channels, hidden=hidden, num_classes=4
    ).double()
    x = torch.randn(3, channels, 5, 7, dtype=torch.float64)
    seen = x[:, 0] if channels == 1 else x
    for layer in model.layers:
        seen = torch.relu(mode_by_mode(layer, seen))
    assert_same(model(x), F.linear(seen.flatten(1), model.head.weight, model.head.bias))


def test_grids_have_the_axes_of_the_image():
    with pytest.raises(ConfigError, match=r"hidden grids have as many axes as the image, \(5, 7\)\. Got \(\(3,\),\)"):
        create_model("grid_image_classifier", sizes=(5, 7), hidden=((3,),))


@pytest.mark.parametrize(
    ("recipe", "count"),
    [
        ("cnn-none", 64_858),
        ("cnn-between", 66_458),
        ("cnn-head-nd", 20_252),
        ("cnn-head-dense", 60_554),
        ("mlp-nd", 11_098),
        ("mlp-matched", 11_350),
        ("mlp-dense", 118_282),
    ],
)
def test_the_networks_of_the_recipes_have_the_counts_of_their_notes(recipe, count):
    fields = dict(load_recipe(f"place-{recipe}").settings["model"])
    model = create_model(fields.pop("name"), **fields)
    assert sum(map(torch.numel, model.parameters())) == count
