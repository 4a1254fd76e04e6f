"""Dot-product and additive attention: their literal forms, padding, causality, heads."""

import pytest
import torch

from multiway import nn
from multiway.errors import DtypeError, ShapeError
from reference import tga
from tolerances import ROUNDING32, assert_same

KINDS = [nn.DotProductAttention, nn.AdditiveAttention]
DIM = 6


def build(kind, **options):
    torch.manual_seed(3)
    return kind(DIM, dtype=torch.float64, **options)


def tokens(*lead, seed=0):
    return torch.randn(*lead, DIM, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def literal(layer, x):
    """The printed form with the layer's own weights, head by head and sequence by sequence."""
    query, key, value = (part.T.unflatten(1, (layer.num_heads, -1)) for part in layer.query_key_value.weight.chunk(3))
    done = []
    for sequence in x:
        heads = []
        for head in range(layer.num_heads):
            weights = (query[:, head], key[:, head], value[:, head])
            if isinstance(layer, nn.AdditiveAttention):
                heads.append(tga.additive_attention(sequence, *weights, layer.score[head]))
            else:
                heads.append(tga.dot_product_attention(sequence, *weights))
        joined = torch.cat(heads, 1)
        done.append(joined if layer.out is None else joined @ layer.out.weight.T)
    return torch.stack(done)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_heads", [1, 3])
def test_the_layer_is_its_literal_form_forward_and_backward(kind, num_heads):
    layer, x = build(kind, num_heads=num_heads), tokens(2, 5).requires_grad_()
    out, want = layer(x), literal(layer, x)
    assert_same(out, want)
    wanted, cotangent = [x, *layer.parameters()], tokens(2, 5, seed=5)
    for grad, expected in zip(
        torch.autograd.grad(out, wanted, cotangent), torch.autograd.grad(want, wanted, cotangent), strict=True
    ):
        assert_same(grad, expected)


def test_the_literal_scores_by_hand():
    """Two tokens of one feature, all weights one: scores 2·2, 2·3, … and tanh(2 + 2), tanh(2 + 3), …"""
    x, one = torch.tensor([[2.0], [3.0]]).double(), torch.ones(1, 1).double()
    products, sums = torch.tensor([[4.0, 6.0], [6.0, 9.0]]).double(), torch.tensor([[4.0, 5.0], [5.0, 6.0]]).double()
    assert_same(tga.dot_product_attention(x, one, one, one), products.softmax(1) @ x)
    assert_same(tga.additive_attention(x, one, one, one, one[0]), sums.tanh().softmax(1) @ x)


def test_dot_product_attention_is_torchs():
    layer, x = build(nn.DotProductAttention, num_heads=2), tokens(2, 5)
    oracle = torch.nn.MultiheadAttention(DIM, 2, bias=False, batch_first=True, dtype=torch.float64)
    oracle.load_state_dict({"in_proj_weight": layer.query_key_value.weight, "out_proj.weight": layer.out.weight})
    assert_same(layer(x), oracle(x, x, x)[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("causal", [False, True])
def test_padding_changes_nothing(kind, causal):
    layer, x = build(kind, num_heads=2, causal=causal), tokens(2, 4)
    padded = torch.full((2, 7, DIM), float("nan"), dtype=torch.float64)
    padded[0, 3:], padded[1, :4] = x[0], x[1]
    valid = ~padded.isnan().any(-1)
    out, maps = layer.forward_with_maps(padded, valid=valid)
    assert_same(out[valid], layer(x).flatten(0, 1))
    assert not out[~valid].any() and not maps.transpose(-1, -2)[~valid[:, None].expand(-1, 2, -1)].any()
    nothing = layer(padded, valid=torch.zeros(2, 7, dtype=torch.bool))
    assert not nothing.any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_causal_layer_does_not_see_the_future(kind):
    layer, x = build(kind, causal=True), tokens(2, 7)
    later = x.clone()
    later[:, 4:] *= -4
    assert_same(layer(later)[:, :4], layer(x)[:, :4])
    assert not torch.allclose(build(kind)(later)[:, :4], build(kind)(x)[:, :4])


@pytest.mark.parametrize("kind", KINDS)
def test_any_leading_axes_and_gradients(kind):
    layer, x = build(kind), tokens(2, 3, 4)
    assert_same(layer(x).flatten(0, 1), layer(x.flatten(0, 1)))
    inputs = [tokens(1, 4).requires_grad_()]
    assert torch.autograd.gradcheck(layer, inputs, eps=ROUNDING32, atol=ROUNDING32)


@pytest.mark.parametrize("dim", [4, 6, 64])
def test_parameters_are_counted(dim):
    dot_product, additive = nn.DotProductAttention(dim), nn.AdditiveAttention(dim)
    assert sum(each.numel() for each in dot_product.parameters()) == 3 * dim**2
    assert sum(each.numel() for each in additive.parameters()) == 3 * dim**2 + dim


@pytest.mark.parametrize("kind", KINDS)
def test_a_misuse_names_rule_and_values(kind):
    with pytest.raises(ShapeError, match=rf"{kind.__name__}: num_heads must divide dim\. Got dim=6, num_heads=4\."):
        kind(DIM, num_heads=4)
    layer = build(kind)
    with pytest.raises(ShapeError, match=r"x must be \(\.\.\., length, 6\)\. Got \(2, 5, 4\), features last\."):
        layer(torch.zeros(2, 5, 4))
    with pytest.raises(ShapeError, match=r"must be boolean and \(2, 5\), batch first. Got \(2, 4\); give one"):
        layer(tokens(2, 5), valid=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(DtypeError, match=r"parameters, torch\.float64\. Got torch\.float32"):
        layer(torch.zeros(2, 5, DIM))
