"""The compiled scores of additive attention against their sums in float64: values, gradients, whatever is cut off."""

import math

import pytest
import torch

from multiway import nn, ops
from multiway.kernels import compiled as kernel
from multiway.kernels.library import library
from tolerances import LONG32, ROUNDING32, SUMS32, SUMS64

pytestmark = pytest.mark.skipif(library() is None, reason="no C compiler")

SIZES = [((2,), 3, 5, 7, 11), ((), 1, 1, 1, 1), ((3, 2), 2, 13, 1, 16), ((5,), 1, 2, 19, 33), ((1,), 7, 3, 3, 64)]
"""Leading axes, heads, queries, keys, features."""


@pytest.fixture
def calls(monkeypatch):
    """Counts the calls of the library."""
    made, plain = [], kernel._call_scores
    monkeypatch.setattr(kernel, "_call_scores", lambda *given: (made.append(given), plain(*given)))
    return made


def draw(lead, heads, queries, keys, features, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (*lead, heads, queries, features), (*lead, heads, keys, features), (heads, features)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


def summed(query, key, weight):
    """Σ_d w_d tanh(q_id + k_jd), feature by feature."""
    parts = [
        weight[:, d, None, None] * torch.tanh(query[..., d, None] + key[..., None, :, d])
        for d in range(query.shape[-1])
    ]
    return torch.stack(parts).sum(0)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("threads", [1, 2])
def test_values_and_gradients_are_those_of_the_sum(sizes, threads, calls, monkeypatch):
    monkeypatch.setattr(kernel, "SCORE_WORK", 1)
    tensors, before = draw(*sizes), torch.get_num_threads()
    wide = [tensor.detach().double().requires_grad_() for tensor in tensors]
    torch.set_num_threads(threads)
    try:
        out = ops.additive_scores(*tensors)
        cotangent = torch.randn(out.shape, generator=torch.Generator().manual_seed(1))
        found = torch.autograd.grad(out, tensors, cotangent)
    finally:
        torch.set_num_threads(before)
    wanted = summed(*wide)
    assert len(calls) == 2 and out.shape == wanted.shape
    torch.testing.assert_close(out.double(), wanted, rtol=SUMS32, atol=SUMS32)
    for grad, expected in zip(found, torch.autograd.grad(wanted, wide, cotangent.double()), strict=True):
        torch.testing.assert_close(grad.double(), expected, rtol=SUMS32, atol=SUMS32 * float(expected.abs().max()))


def test_tanh_is_exact_to_rounding_everywhere():
    x = torch.cat([torch.linspace(-20, 20, 40_001), torch.logspace(-30, 1, 10_001)])
    found = ops.additive_scores(x.view(1, -1, 1), torch.zeros(1, 1, 1), torch.ones(1, 1)).flatten()
    torch.testing.assert_close(found.double(), x.double().tanh(), rtol=ROUNDING32, atol=0)


def test_what_is_not_finite_is_as_in_torch():
    x = torch.tensor([math.inf, -math.inf, math.nan, 3e38, -3e38])
    found = ops.additive_scores(x.view(1, -1, 1), torch.zeros(1, 1, 1), torch.ones(1, 1)).flatten()
    torch.testing.assert_close(found, x.tanh(), rtol=ROUNDING32, atol=0, equal_nan=True)


def test_one_place_is_not_moved_by_another():
    query, key, weight = draw((4,), 2, 5, 3, 17)
    whole = ops.additive_scores(query, key, weight)
    torch.testing.assert_close(ops.additive_scores(query[1:2], key[1:2], weight), whole[1:2], rtol=0, atol=0)


def test_derivatives_of_derivatives_are_those_of_the_plain_form():
    tensors = draw((2,), 1, 3, 2, 5)

    def twice(function, leaves):
        first = torch.autograd.grad(function(*leaves).square().sum(), leaves[0], create_graph=True)[0]
        return torch.autograd.grad(first.square().sum(), leaves)

    wide = [tensor.detach().double().requires_grad_() for tensor in tensors]
    for found, expected in zip(twice(ops.additive_scores, tensors), twice(summed, wide), strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=LONG32, atol=LONG32)


def test_float64_and_empty_tensors_take_the_plain_form(calls):
    wide = [tensor.detach().double() for tensor in draw((2,), 3, 5, 7, 11)]
    torch.testing.assert_close(ops.additive_scores(*wide), summed(*wide), rtol=SUMS64, atol=SUMS64)
    assert ops.additive_scores(*draw((0,), 3, 5, 7, 11)).shape == (0, 3, 5, 7)
    assert ops.additive_scores(*draw((2,), 3, 5, 0, 11)).shape == (2, 3, 5, 0)
    assert not calls


def test_the_layer_keeps_nothing_of_the_size_of_all_pairs():
    layer, x = nn.AdditiveAttention(8), torch.randn(1, 31, 8)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: (kept.append(tensor.numel()), tensor)[1], lambda t: t):
        layer(x)
    assert max(kept) < 31 * 31 * 8


@pytest.mark.parametrize(
    ("key", "weight"), [((2, 5, 4), (2, 4)), ((2, 5, 6), (1, 6)), ((2, 5, 6), (2, 4)), ((2, 5, 6), (6,))], ids=str
)
def test_sizes_that_differ_are_not_read_beyond_their_end(key, weight, calls):
    tensors = torch.zeros(3, 2, 3, 6), torch.zeros(3, *key), torch.zeros(weight)
    assert not kernel.Scores().fits(*tensors)
    assert not calls
