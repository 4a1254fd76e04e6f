"""The oracle itself: against torch's own attention, against identities, and then the layers against it."""

import functools
import itertools

import pytest
import torch
from torch.nn import functional as F

from hot_oracle import DIM, HEADS, assert_layer_is_paper, random_layer, weights_of
from multiway import nn, ops
from reference import hot
from tolerances import assert_same

SIZES = [(5,), (3, 5), (2, 3, 5), (1, 3)]


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_weights(generator, count=1, *, head_dim=DIM // HEADS, bias=True):
    matrices, vectors = functools.partial(normal, generator, DIM, DIM), functools.partial(normal, generator, DIM)
    norms = [(1 + normal(generator, head_dim) / 4, normal(generator, head_dim)) for _ in range(count)]
    return hot.AttentionWeights(
        query=[matrices() for _ in range(count)],
        key=[matrices() for _ in range(count)],
        value=matrices(),
        out=matrices(),
        query_bias=[vectors() for _ in range(count)] if bias else (),
        key_bias=[vectors() for _ in range(count)] if bias else (),
        value_bias=vectors(),
        out_bias=vectors(),
        query_norm=norms,
        key_norm=norms[::-1],
        log_temperature=normal(generator, count, HEADS),
    )


def torch_attention(x, weights, mask=None):
    """`torch`'s multi-head attention over flattened modes, with the same parameters."""
    rows = x.flatten(1, -2)
    mixed, _ = F.multi_head_attention_forward(
        *(rows.transpose(0, 1),) * 3,
        DIM,
        HEADS,
        torch.cat([weights.query[0], weights.key[0], weights.value]),
        torch.cat([weights.query_bias[0], weights.key_bias[0], weights.value_bias]),
        None,
        None,
        False,
        0.0,
        weights.out,
        weights.out_bias,
        attn_mask=mask,
        need_weights=False,
    )
    return mixed.transpose(0, 1).reshape(x.shape)


def test_one_mode_is_ordinary_attention(generator):
    x, weights = normal(generator, 2, 7, DIM), random_weights(generator)
    assert_same(hot.kronecker_attention(x, weights, num_heads=HEADS)[0], torch_attention(x, weights))


def test_one_causal_mode_is_ordinary_causal_attention(generator):
    x, weights = normal(generator, 2, 7, DIM), random_weights(generator)
    out, maps = hot.kronecker_attention(x, weights, num_heads=HEADS, causal_modes=(0,))
    assert_same(out, torch_attention(x, weights, torch.ones(7, 7, dtype=torch.bool).triu(1)))
    assert not maps[0].triu(1).any()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_full_attention_is_ordinary_attention_on_flattened_modes(sizes, generator):
    x, weights = normal(generator, 2, *sizes, DIM), random_weights(generator)
    assert_same(hot.full_attention(x, weights, num_heads=HEADS), torch_attention(x, weights))


def test_full_attention_skips_tokens_that_are_not_real(generator):
    x, weights = normal(generator, 1, 3, 5, DIM), random_weights(generator)
    valid = torch.ones(1, 3, 5, dtype=torch.bool)
    valid[0, 2] = False
    masked = hot.full_attention(x, weights, num_heads=HEADS, valid=valid)
    assert_same(masked[:, :2], hot.full_attention(x[:, :2], weights, num_heads=HEADS))


@pytest.mark.parametrize("form", hot.FORMS)
def test_padding_changes_nothing(form, generator):
    x, weights = normal(generator, 1, 2, 3, DIM), random_weights(generator, 2)
    valid = F.pad(torch.ones(1, 2, 3, dtype=torch.bool), (0, 2, 0, 1))
    padded = F.pad(x, (0, 0, 0, 2, 0, 1), value=9.0)
    alone = hot.kronecker_attention(x, weights, num_heads=HEADS, form=form)[0]
    within = hot.kronecker_attention(padded, weights, num_heads=HEADS, form=form, valid=valid)[0]
    assert_same(within[:, :2, :3], alone)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_equations_8_and_9_agree(sizes, generator):
    values = normal(generator, *sizes)
    factors = [normal(generator, size + 1, size) for size in sizes]
    by_modes = values
    for mode, factor in enumerate(factors):
        by_modes = hot.mode_product(by_modes, factor, mode)
    assert_same(by_modes.flatten(), hot.kronecker(factors) @ values.flatten())


def test_equations_10_and_12_agree(generator):
    values, query, key = normal(generator, 3, 5, 2), normal(generator, 5, 4), normal(generator, 5, 4)
    features = functools.partial(hot.smreg_features, projection=normal(generator, 3, 4))
    matrix = hot.kernel_rows(query, key, features, torch.ones(5, 5, dtype=torch.bool))
    assert_same(hot.linear_mode_product(values, query, key, features, 1), hot.mode_product(values, matrix, 1))


def test_the_kernel_estimates_the_softmax_without_bias(generator):
    query, key = normal(generator, 3, 4), normal(generator, 5, 4)
    exact = (query @ key.T / 2).exp()
    draws = []
    for _ in range(400):
        projection = ops.orthogonal_projection(4, 4, generator=generator).double()
        gaussian = projection / 2 * normal(generator, 4, 4).norm(dim=1, keepdim=True)
        draws.append(hot.smreg_features(query, gaussian) @ hot.smreg_features(key, gaussian).T)
    stacked = torch.stack(draws)
    standard_error = stacked.std(0) / len(draws) ** 0.5
    assert ((stacked.mean(0) - exact).abs() < 5 * standard_error).all()


def test_rotary_keeps_lengths_and_sees_distances_only(generator):
    row, other = normal(generator, 6), normal(generator, 6)
    turned, turned_other = hot.rotary(row.expand(7, 6)), hot.rotary(other.expand(7, 6))
    assert_same(turned.norm(dim=1), row.norm().expand(7))
    assert_same(turned[6] @ turned_other[4], turned[2] @ turned_other[0])
    assert_same(
        turned[1, [0, 3]],
        torch.stack([row[0] * c - row[3] * s for c, s in ANGLE] + [row[0] * s + row[3] * c for c, s in ANGLE]),
    )


ANGLE = [(torch.tensor(1.0, dtype=torch.float64).cos(), torch.tensor(1.0, dtype=torch.float64).sin())]


def test_rows_sum_to_one_and_a_row_that_sees_nothing_is_zero(generator):
    x, weights = normal(generator, 2, 3, 5, DIM), random_weights(generator)
    mask = torch.ones(2, 5, 5, dtype=torch.bool)
    mask[1, 4] = False
    for features in (None, hot.elu_features):
        _, maps = hot.kronecker_attention(x, weights, num_heads=HEADS, mode_masks=[None, mask], features=features)
        assert_same(maps[0].sum(-1), torch.ones(2, HEADS, 3, dtype=torch.float64))
        assert_same(maps[1].sum(-1), mask.any(-1).double()[:, None].expand(-1, HEADS, -1))


def test_pooling_by_sum_counts_every_bias(generator):
    tokens, valid = normal(generator, 2, 3, DIM), torch.ones(2, 3, dtype=torch.bool)
    rows, counts = hot.pool(tokens, valid, 1)
    assert_same(rows, tokens.sum(0))
    assert counts == [2, 2, 2]


def test_swiglu_and_norms_are_torchs(generator):
    x, gate, up, down = normal(generator, 3, 4), *(normal(generator, 5, 4) for _ in range(2)), normal(generator, 4, 5)
    assert_same(hot.swiglu(x, gate, up, down), F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down))
    weight, bias = normal(generator, 4), normal(generator, 4)
    assert_same(hot.rms_norm(x, weight, 1e-6), F.rms_norm(x, (4,), weight, 1e-6))
    assert_same(hot.layer_norm(x, weight, bias, 1e-5), F.layer_norm(x, (4,), weight, bias, 1e-5))


# The layers, at their parameters' random values, against all of the above.

FEATURES = {
    "softmax": lambda layer: None,
    "smreg": lambda layer: functools.partial(hot.smreg_features, projection=layer.projection),
    "positive": lambda layer: functools.partial(hot.positive_features, projection=layer.projection),
    "elu": lambda layer: hot.elu_features,
}


@pytest.mark.parametrize(
    ("preset", "combine", "feature_map"), [*itertools.product(hot.FORMS, ("product", "sum"), ("softmax", "smreg"))]
)
def test_the_layer_is_the_paper(preset, combine, feature_map, generator):
    layer = random_layer(generator, 2, preset=preset, combine=combine, feature_map=feature_map, rotary_modes=(1,))
    x = (normal(generator, 2, 3, 5, DIM) / 4).requires_grad_()
    slow, maps = hot.kronecker_attention(
        x, weights_of(layer), num_heads=HEADS, form=preset, combine=combine,
        features=FEATURES[feature_map](layer), rotary_modes=(1,),
    )  # fmt: skip
    fast_maps = layer.forward_with_maps(x)[1]
    for fast_map, slow_map in zip(fast_maps, maps, strict=True):
        assert_same(fast_map, slow_map)
    assert_layer_is_paper(layer, x, layer(x), slow)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("preset", hot.FORMS)
def test_the_layer_is_the_paper_at_any_number_of_modes(preset, sizes, generator):
    layer = random_layer(generator, len(sizes), preset=preset)
    x = (normal(generator, 2, *sizes, DIM) / 4).requires_grad_()
    slow, _ = hot.kronecker_attention(x, weights_of(layer), num_heads=HEADS, form=preset)
    assert_layer_is_paper(layer, x, layer(x), slow)


@pytest.mark.parametrize("feature_map", FEATURES)
@pytest.mark.parametrize("preset", hot.FORMS)
def test_the_layer_is_the_paper_under_masks(preset, feature_map, generator):
    layer = random_layer(generator, 2, preset=preset, feature_map=feature_map)
    x = (normal(generator, 2, 3, 5, DIM) / 4).requires_grad_()
    valid = torch.rand(2, 3, 5, generator=generator) < 0.6
    valid[0, 1], valid[:, 0, 0] = False, True
    mask = torch.rand(2, 5, 5, generator=generator) < 0.7
    mask[1, 2] = False
    slow, _ = hot.kronecker_attention(
        x, weights_of(layer), num_heads=HEADS, form=preset, valid=valid, mode_masks=[None, mask],
        features=FEATURES[feature_map](layer),
    )  # fmt: skip
    assert_layer_is_paper(layer, x, layer(x, valid=valid, mode_masks=[None, mask]), slow)


@pytest.mark.parametrize("preset", hot.FORMS)
def test_the_layer_is_the_paper_across_to_a_context(preset, generator):
    layer = random_layer(generator, 2, preset=preset)
    x, context = (normal(generator, 2, 3, 5, DIM) / 4).requires_grad_(), normal(generator, 2, 7, 2, DIM)
    context_valid = torch.rand(2, 7, 2, generator=generator) < 0.7
    slow, _ = hot.kronecker_attention(
        x, weights_of(layer), num_heads=HEADS, form=preset, context=context, context_valid=context_valid
    )
    assert_layer_is_paper(layer, x, layer(x, context, context_valid=context_valid), slow)


@pytest.mark.parametrize("attended", [(), (0,), (1,), (0, 2)], ids=str)
@pytest.mark.parametrize("combine", ["product", "sum"])
def test_the_layer_is_the_paper_on_a_subset_of_modes(attended, combine, generator):
    layer = random_layer(generator, 3, attended_modes=attended, combine=combine)
    x = (normal(generator, 2, 2, 3, 5, DIM) / 4).requires_grad_()
    slow, _ = hot.kronecker_attention(
        x, weights_of(layer), num_heads=HEADS, form="trainable", attended_modes=attended, combine=combine
    )
    assert_layer_is_paper(layer, x, layer(x), slow)


@pytest.mark.parametrize("preset", hot.FORMS)
def test_the_layer_is_the_paper_on_a_causal_mode(preset, generator):
    layer = random_layer(generator, 2, preset=preset, attended_modes=(1,), causal_modes=(1,), rotary_modes=(1,))
    x = (normal(generator, 2, 3, 5, DIM) / 4).requires_grad_()
    slow, _ = hot.kronecker_attention(
        x, weights_of(layer), num_heads=HEADS, form=preset, attended_modes=(1,), causal_modes=(1,), rotary_modes=(1,)
    )
    assert_layer_is_paper(layer, x, layer(x), slow)


def head_norm_of(layer):
    """The norms of `nn.FullAttention` as the oracle wants them."""
    if layer.norms is None:
        return None

    def normed(rows, is_key):
        norm = layer.norms[0][int(is_key)]
        if norm.bias is None:
            return hot.rms_norm(rows, norm.weight, eps=1e-12)
        return hot.layer_norm(rows, norm.weight, norm.bias, eps=1e-5)

    return normed


@pytest.mark.parametrize("rotary_modes", [(), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("qk_norm", ["none", "rms", "layer"])
@pytest.mark.parametrize("kind", [nn.FullAttention, nn.FullKernelAttention])
def test_the_flat_layers_are_the_papers(kind, qk_norm, rotary_modes, generator):
    layer = kind(DIM, num_heads=HEADS, num_modes=2, qk_norm=qk_norm, rotary_modes=rotary_modes).double()
    for parameter in layer.parameters():
        parameter.data = normal(generator, *parameter.shape) / 2
    x = normal(generator, 2, 3, 5, DIM).requires_grad_()
    valid = torch.rand(2, 3, 5, generator=generator) < 0.7
    kernel = kind is nn.FullKernelAttention
    (wq, wk, wv), (bq, bk, bv) = layer.query_key_value.weight.chunk(3), layer.query_key_value.bias.chunk(3)
    weights = hot.AttentionWeights(
        query=[wq], key=[wk], value=wv, out=layer.out.weight, query_bias=[bq], key_bias=[bk], value_bias=bv,
        out_bias=layer.out.bias,
    )  # fmt: skip
    slow = hot.full_attention(
        x, weights, num_heads=HEADS, valid=valid, head_norm=head_norm_of(layer), rotary_modes=rotary_modes,
        features=functools.partial(hot.smreg_features, projection=layer.projection) if kernel else None,
    )  # fmt: skip
    queries = valid[..., None]  # of padding, print says nothing
    assert_layer_is_paper(layer, x, layer(x, valid=valid) * queries, slow * queries)


@pytest.mark.parametrize("norm", ["rms", "layer"])
def test_the_block_is_the_papers(norm, generator):
    own, cross = (random_layer(generator, 2) for _ in range(2))
    layer = nn.HOTBlock(own, dim=DIM, norm=norm, cross_attention=cross).double()
    x, context = normal(generator, 2, 3, 5, DIM).requires_grad_(), normal(generator, 2, 2, 7, DIM)
    gate, up = layer.ffn.gate_up.weight.chunk(2)
    pairs = {
        name: (getattr(layer, name).weight, getattr(getattr(layer, name), "bias", None))
        for name in ("attention_norm", "cross_norm", "context_norm", "ffn_norm")
    }
    slow = hot.block(
        x, hot.BlockWeights(gate=gate, up=up, down=layer.ffn.down.weight, **pairs),
        lambda y: hot.kronecker_attention(y, weights_of(own), num_heads=HEADS, form="trainable")[0],
        norm=norm, context=context,
        cross=lambda y, z: hot.kronecker_attention(
            y, weights_of(cross), num_heads=HEADS, form="trainable", context=z
        )[0],
    )  # fmt: skip
    assert_layer_is_paper(layer, x, layer(x, context), slow)
