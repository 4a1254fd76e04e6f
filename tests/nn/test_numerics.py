"""Every size, precision, offset and scale that users bring: finite, independent of batch mates, trainable."""

import math

import pytest
import torch
from torch.nn import functional as F

from fewer import few
from multiway import nn
from tolerances import LONG32, ROUNDING32, ROUNDING64, SUMS32, SUMS64

SIZES = [(862, 5), (88, 5), (7, 7, 7), (64, 64), (1, 13)]
EXTREMES = [(0, 1e-4), (1, 30), (4, 1e4)]
"""Offsets and scales that overflow, or vanish."""
SOME = [*EXTREMES, (0, 30), (1, 1e4), (1, 1), (4, 1e-4)]
"""Of few tokens: every offset at the smallest scale or the largest, and between."""
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
DIM = 8


def tokens(sizes, dtype, offset, scale, batch=1):
    generator = torch.Generator().manual_seed(11)
    x = scale * (torch.randn(batch, *sizes, DIM, generator=generator) + offset)
    # What half precision can hold after one projection; beyond, the projection itself overflows.
    return (x.clamp(-1e4, 1e4) if dtype == torch.float16 else x).to(dtype)


def make_layer(sizes, dtype=torch.float32, **options):
    torch.manual_seed(5)
    layer = nn.KroneckerAttention(DIM, num_heads=2, num_modes=len(sizes), dtype=dtype, **options)
    if layer.pool_scores is not None:  # zeros would make it the mean
        torch.nn.init.normal_(layer.pool_scores)
    return layer


@pytest.mark.parametrize(
    ("preset", "pooling"), [*((preset, None) for preset in nn.PRESETS), ("paper", "max"), ("trainable", "learned")]
)
@pytest.mark.parametrize("feature_map", ["softmax", "smreg"])
@pytest.mark.parametrize("sizes", few(SIZES, (862, 5), (7, 7, 7), (1, 13)), ids=str)
def test_outputs_and_gradients_are_finite(sizes, feature_map, preset, pooling):
    is_large = math.prod(sizes) > 1000
    for dtype in DTYPES:
        layer = make_layer(sizes, dtype, preset=preset, pooling=pooling, feature_map=feature_map)
        for offset, scale in EXTREMES if is_large else SOME:
            x = tokens(sizes, dtype, offset, scale).requires_grad_()
            out = layer(x)
            out.float().mean().backward()
            assert torch.isfinite(out).all(), (dtype, offset, scale)
            assert torch.isfinite(x.grad).all(), (dtype, offset, scale)
            if dtype != torch.float16:  # whose parameter gradients need loss scaling, as everywhere
                assert all(torch.isfinite(p.grad).all() for p in layer.parameters() if p.grad is not None)
            layer.zero_grad()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("offset", [0, 1, 4])
def test_the_default_neither_saturates_nor_sleeps(sizes, offset):
    """Entropy of every map in [.3, .995] of an even look, and a query gradient that learns."""
    layer = make_layer(sizes)
    x = tokens(sizes, torch.float32, offset, 1.0, batch=2)
    out, maps = layer.forward_with_maps(x)
    generator = torch.Generator().manual_seed(2)
    out.mul(torch.randn(out.shape, generator=generator)).sum().backward()
    for mode, weights in enumerate(each.detach() for each in maps):
        size = weights.shape[-1]
        if size > 1:
            entropy = -(weights * weights.clamp_min(1e-30).log()).sum(-1).mean() / torch.tensor(float(size)).log()
            assert 0.3 <= float(entropy) <= 0.995
            assert float(layer.query_key[mode].weight.grad[:DIM].norm()) > 1e-4


def test_the_papers_sum_pooling_saturates_where_the_default_does_not():
    """Why the default is not the paper's form: with many tokens its rows are one-hot."""
    peaks = []
    for preset in ("paper", "trainable"):
        x = tokens((321, 24), torch.float32, 1, 1.0)
        _, maps = make_layer((321, 24), preset=preset).forward_with_maps(x)
        peaks.append(float(maps[0].detach().amax(-1).mean()))
    assert peaks[0] > 0.9 > 0.2 > peaks[1]


@pytest.mark.parametrize("preset", nn.PRESETS)
@pytest.mark.parametrize("feature_map", ["softmax", "smreg", "positive", "elu"])
def test_a_sample_depends_only_on_itself(preset, feature_map):
    layer = make_layer((11, 5), preset=preset, feature_map=feature_map, rotary_modes=(1,)).eval()
    x = tokens((11, 5), torch.float32, 1, 1.0, batch=3)
    loud = x.clone()
    loud[1:] *= 20
    alone, together, with_loud = layer(x[:1]), layer(x)[:1], layer(loud)[:1]
    assert float((alone - together).abs().max().detach()) <= ROUNDING32
    assert float((together - with_loud).abs().max().detach()) <= ROUNDING32


@pytest.mark.parametrize("preset", nn.PRESETS)
@pytest.mark.parametrize("feature_map", ["softmax", "smreg"])
def test_constant_tokens_look_evenly(preset, feature_map):
    layer = make_layer((7, 5), preset=preset, feature_map=feature_map)
    out, maps = layer.forward_with_maps(torch.full((1, 7, 5, DIM), 3.0))
    assert torch.isfinite(out).all()
    for weights in maps:
        torch.testing.assert_close(
            weights, torch.full_like(weights, 1 / weights.shape[-1]), rtol=LONG32, atol=ROUNDING32
        )


@pytest.mark.parametrize("pooling", ["mean", "max", "learned"])
@pytest.mark.parametrize("preset", nn.PRESETS)
def test_half_precision_is_near_float32(preset, pooling):
    """bf16 autocast and bf16 weights stay within rounding of the float32 layer."""
    layer, x = make_layer((13, 7), preset=preset, pooling=pooling), tokens((13, 7), torch.float32, 0, 1.0)
    whole = layer(x)
    with torch.autocast("cpu", torch.bfloat16):
        cast = layer(x)
    half = make_layer((13, 7), preset=preset, pooling=pooling).bfloat16()(x.bfloat16())
    scale = float(whole.abs().max().detach())
    assert float((cast.float() - whole).abs().max().detach()) <= 2e-2 * scale
    assert float((half.float() - whole).abs().max().detach()) <= 4e-2 * scale


def test_float32_is_near_float64():
    layer, x = make_layer((13, 7)), tokens((13, 7), torch.float32, 1, 1.0)
    single = layer(x)
    double = layer.double()(x.double())
    assert float((single - double).abs().max().detach()) <= SUMS32


def test_one_mode_without_pooling_is_torchs_attention():
    """The paper's form on a sequence, against an implementation that is not ours."""
    layer = make_layer((7,), preset="paper").double()
    x = tokens((7,), torch.float64, 0, 1.0, batch=3)
    query, key = (side.unflatten(-1, (2, -1)).transpose(1, 2) for side in layer.query_key[0](x).chunk(2, -1))
    value = layer.value(x).unflatten(-1, (2, -1)).transpose(1, 2)
    mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(-2)
    torch.testing.assert_close(layer(x), layer.out(mixed), rtol=SUMS64, atol=ROUNDING64)
