"""Every way to pool queries and keys, against all tokens projected first and pooled one by one."""

import functools

import pytest
import torch
from torch.nn import functional as F

from hot_oracle import HEADS, assert_layer_is_paper, random_layer, weights_of
from multiway import nn
from reference import hot
from tolerances import assert_same

DIM, SIZES = 22, (3, 5, 7)
POOLINGS = ["mean", "sum", "max", "learned"]


def tokens(generator, *sizes, dim=DIM):
    return (torch.randn(2, *sizes, dim, generator=generator, dtype=torch.float64) / 4).requires_grad_()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("preset", hot.FORMS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_layer_is_the_equation(pooling, preset, bias, generator):
    options = {"rotary_modes": (1,), "bias": bias}
    layer = random_layer(generator, 2, dim=20, preset=preset, pooling=pooling, **options)
    x = tokens(generator, 3, 7, dim=20)
    slow, maps = hot.kronecker_attention(
        x, weights_of(layer), num_heads=HEADS, form=preset, pooling=pooling, rotary_modes=(1,)
    )
    assert_layer_is_paper(layer, x, layer(x), slow)
    for fast_map, slow_map in zip(layer.forward_with_maps(x)[1], maps, strict=True):
        assert_same(fast_map, slow_map)


@pytest.mark.parametrize("sizes", [(5,), SIZES], ids=str)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_layer_is_the_equation_at_any_number_of_modes(pooling, sizes, generator):
    layer, x = random_layer(generator, len(sizes), dim=DIM, pooling=pooling), tokens(generator, *sizes)
    slow, _ = hot.kronecker_attention(x, weights_of(layer), num_heads=HEADS, form="trainable", pooling=pooling)
    assert_layer_is_paper(layer, x, layer(x), slow)


@pytest.mark.parametrize("feature_map", ["softmax", "smreg"])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_layer_is_the_equation_under_masks(pooling, feature_map, generator):
    layer = random_layer(generator, 2, dim=DIM, pooling=pooling, bias=True, feature_map=feature_map)
    x, valid = tokens(generator, 3, 7), torch.rand(2, 3, 7, generator=generator) < 0.6
    valid[0, 1], valid[:, 0, 0] = False, True
    mask = torch.rand(2, 7, 7, generator=generator) < 0.7
    features = None
    if feature_map == "smreg":
        features = functools.partial(hot.smreg_features, projection=layer.projection)
    slow, _ = hot.kronecker_attention(
        x, weights_of(layer), num_heads=HEADS, form="trainable", pooling=pooling, valid=valid,
        mode_masks=[None, mask], features=features,
    )  # fmt: skip
    assert_layer_is_paper(layer, x, layer(x, valid=valid, mode_masks=[None, mask]), slow)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_layer_is_the_equation_across_to_a_context(pooling, generator):
    layer, x, context = (
        random_layer(generator, 2, dim=DIM, pooling=pooling),
        *(tokens(generator, *sizes) for sizes in ((3, 5), (7, 11))),
    )
    valid, context_valid = (torch.rand(each.shape[:-1], generator=generator) < 0.7 for each in (x, context))
    masks = {"valid": valid, "context_valid": context_valid}
    slow, _ = hot.kronecker_attention(
        x, weights_of(layer), num_heads=HEADS, form="trainable", pooling=pooling, context=context, **masks
    )
    assert_layer_is_paper(layer, x, layer(x, context, **masks), slow)


@pytest.mark.parametrize("preset", hot.FORMS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_layer_is_the_equation_on_a_causal_mode(pooling, preset, generator):
    one = {"attended_modes": (1,), "causal_modes": (1,)}
    layer, x = random_layer(generator, 2, dim=DIM, preset=preset, pooling=pooling, **one), tokens(generator, 3, 7)
    slow, _ = hot.kronecker_attention(x, weights_of(layer), num_heads=HEADS, form=preset, pooling=pooling, **one)
    assert_layer_is_paper(layer, x, layer(x), slow)
    later = F.pad(x[:, :, :4], (0, 0, 0, 3), value=9.0)
    assert_same(layer(later)[:, :, :4], layer(x)[:, :, :4])


@pytest.mark.parametrize("preset", hot.FORMS)
def test_learned_pooling_starts_as_the_mean_and_learns(preset, generator):
    x = tokens(generator, *SIZES)
    learned, mean = (
        nn.KroneckerAttention(DIM, num_heads=HEADS, num_modes=3, preset=preset, pooling=pooling).double()
        for pooling in ("learned", "mean")
    )
    learned.load_state_dict(mean.state_dict(), strict=False)
    assert_same(learned(x), mean(x))
    learned(x).square().sum().backward()
    assert learned.pool_scores.grad.abs().amin() > 0
