import pytest
import torch
from safetensors.torch import load, save
from torch.nn import functional as F

from multiway.errors import ConfigError, ShapeError
from multiway.models import HOTSegmenter2d, HOTSegmenter2dConfig, create_model
from tolerances import assert_same

BANDS, SIZES = 11, (6, 10)  # 11 bands in tokens of 3: four groups, the last one short
SUBSETS = [(), (0,), (1, 2), (0, 1, 2)]


def small(**fields: object) -> HOTSegmenter2d:
    """A tiny segmenter in float64 and eval mode."""
    torch.manual_seed(3)
    base = {"in_channels": BANDS, "num_classes": 5, "bands_per_token": 3, "dim": 8, "num_heads": 2}
    model = create_model("hot_segmenter_2d", **(base | fields))
    assert isinstance(model, HOTSegmenter2d)
    return model.double().eval()


def images(generator: torch.Generator, batch: int = 3) -> torch.Tensor:
    return torch.randn(batch, BANDS, *SIZES, generator=generator, dtype=torch.float64)


def test_without_blocks_it_is_a_head_over_groups_of_bands(generator):
    """Each group of bands by its own weights, all groups of a square into the head, a linear map underneath."""
    model, x = small(num_blocks=0, kernel_size=1, patch_size=2), images(generator)
    state = dict(model.named_parameters())
    filled = torch.cat([x, torch.zeros(3, 1, *SIZES, dtype=x.dtype)], dim=1)
    expected = torch.einsum("bcij,oc->boij", x, state["spectrum.weight"][..., 0, 0])
    for row in range(SIZES[0] // 2):
        for column in range(SIZES[1] // 2):
            square = filled[:, :, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2].flatten(2)  # (batch, bands, 4)
            tokens = []
            for group in range(4):
                weight = state["embedding.weight"][8 * group : 8 * group + 8, :, 0, 0]
                bias = state["embedding.bias"][8 * group : 8 * group + 8]
                tokens.append(F.linear(square[:, 3 * group : 3 * group + 3].flatten(1), weight, bias))
            features = model.norm(torch.stack(tokens, dim=1)).flatten(1)
            logits = F.linear(features, state["head.weight"], state["head.bias"]).view(3, 5, 2, 2)
            expected[:, :, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2] += logits
    assert_same(model(x), expected)


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
def test_without_blocks_a_pixel_is_seen_by_its_neighbours_only(generator, kernel_size):
    model, x = small(num_blocks=0, kernel_size=kernel_size), images(generator)
    changed = x.clone()
    changed[:, :, 3, 4] += 1
    moved = (model(changed) - model(x)).abs().amax((0, 1)) > 1e-9
    reach = kernel_size // 2
    seen = torch.zeros(SIZES, dtype=torch.bool)
    seen[3 - reach : 4 + reach, 4 - reach : 5 + reach] = True
    assert torch.equal(moved, seen)


@pytest.mark.parametrize("modes", SUBSETS, ids=str)
def test_maps_are_over_bands_rows_and_columns(generator, modes):
    model, x = small(attended_modes=modes, patch_size=2), images(generator)
    logits, maps = model.forward_with_maps(x)
    assert_same(logits, model(x))
    assert len(maps) == 2
    assert [each.shape for each in maps[0]] == [(3, 2, size, size) for size in (4, 3, 5)]
    for mode, weights in enumerate(maps[0]):
        assert_same(weights.sum(-1), torch.ones_like(weights[..., 0]))
        assert torch.equal(weights, torch.eye(weights.shape[-1]).expand_as(weights)) == (mode not in modes)


def test_every_subset_of_modes_has_as_many_parameters():
    assert len({sum(each.numel() for each in small(attended_modes=modes).parameters()) for modes in SUBSETS}) == 1


def test_a_sample_depends_only_on_itself(generator):
    model, x = small(), images(generator)
    together = model(x)
    assert together.shape == (3, 5, *SIZES)
    for index in range(3):
        assert_same(model(x[index : index + 1])[0], together[index])


def test_checkpointing_changes_no_value_and_no_gradient(generator):
    model, x = small(dropout=0.3).train(), images(generator)
    repeated = HOTSegmenter2d(model.config.replace(checkpoint=True)).double().train()
    repeated.load_state_dict(model.state_dict())
    results = []
    for each in (model, repeated):
        torch.manual_seed(11)
        out = each(x)
        results.append((out, *torch.autograd.grad(out.square().sum(), list(each.parameters()))))
    assert all(map(torch.equal, *results))


def test_a_saved_network_is_the_same_network(generator):
    model, x = small(feature_map="smreg"), images(generator)
    other = HOTSegmenter2d(HOTSegmenter2dConfig.parse(model.config.plain())).double().eval()
    other.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(other(x), model(x))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_heads": 3}, r"an even multiple of num_heads.*dim=8, num_heads=3"),
        ({"attended_modes": (1, 0)}, r"bands, rows, columns\. Got \(1, 0\)"),
        ({"bands_per_token": 0}, "bands_per_token"),
    ],
    ids=str,
)
def test_a_config_that_does_not_fit_is_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        small(**fields)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 4, 6, 10), r"with 11 channels\. Got \(1, 4, 6, 10\)"),
        ((11, 6, 10), r"Got \(11, 6, 10\)"),
        ((1, 11, 6, 9), r"multiples of patch_size=2\. Got \(6, 9\)"),
    ],
    ids=str,
)
def test_an_input_that_does_not_fit_is_refused(shape, message):
    with pytest.raises(ShapeError, match=message):
        small(patch_size=2)(torch.zeros(shape, dtype=torch.float64))
