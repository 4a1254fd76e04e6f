"""The compiled chain against the same layers in ops of torch, in float64: values and gradients, however it is cut."""

import functools
import math
import random

import pytest
import torch

from multiway import nn as mnn
from multiway.kernels import compiled as kernel
from multiway.kernels.compiled import Chain, Factor, Link
from multiway.kernels.library import library
from multiway.ops import chains, dispatch
from multiway.ops.plans import best_plan
from tolerances import LONG32, SUMS32, SUMS64

pytestmark = pytest.mark.skipif(library() is None, reason="no C compiler")

ND_SIZES = [
    ((5, 7, 3), (11, 2, 6)),
    ((1, 1), (1, 1)),
    ((17,), (19,)),
    ((16, 32), (32, 16)),
    ((33, 1, 5), (1, 65, 9)),
    ((4, 3, 5, 2), (3, 20, 1, 40)),
    ((28, 28, 3), (64, 64, 6)),
    ((2, 3, 2, 3, 2), (3, 2, 3, 2, 3)),
]
TT_SIZES = [
    ((5, 7), (3, 11), 4),
    ((5, 7, 3), (11, 2, 6), 3),
    ((2,) * 7, (2,) * 7, 2),
    ((1, 17), (19, 1), 1),
    ((16, 16), (16, 16), 9),
]


STEPS = [
    (1, 1, 2, 1), (1, 3, 5, 1), (1, 5, 3, 1), (11, 7, 1, 1), (11, 1, 7, 1), (3, 2, 2, 1), (5, 8, 8, 1), (7, 4, 4, 1),
    (31, 3, 6, 1), (31, 6, 3, 1), (3, 29, 2, 1), (3, 2, 29, 1), (2, 13, 11, 2), (5, 7, 3, 3), (3, 19, 37, 3),
    (2, 3, 5, 4), (3, 11, 7, 5), (1, 2, 3, 7), (3, 8, 8, 8), (2, 1, 1, 7), (2, 23, 1, 3), (2, 1, 23, 3), (1, 43, 61, 3),
    (2, 5, 3, 11),
]  # fmt: skip
"""Rows before, numbers in, numbers out, and what lies after."""


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """The chain is used whatever it costs."""
    monkeypatch.setattr(chains, "MARGIN", 0.0)
    caches = (chains.nd_linear_chain, chains.tensor_train_chain, dispatch.nd_linear_way, dispatch.tt_linear_way)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


@pytest.fixture
def calls(monkeypatch):
    """Counts the passes by the chain."""
    made, chain = [], library().chain
    monkeypatch.setattr(library(), "chain", lambda call: (made.append(call), chain(call))[1])
    return made


def results(layer, x, cotangent):
    leaves = [x.detach().clone().requires_grad_(), *layer.parameters()]
    out = layer(leaves[0])
    return [out.detach(), *torch.autograd.grad(out, leaves, cotangent)]


def randomise(layer, generator):
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / parameter.shape[-1] ** 0.5)
    return layer


def assert_near_float64(layer, x, generator, calls, tolerance=SUMS32):
    shape = layer(x).shape
    cotangent = torch.randn(shape, generator=generator)
    calls.clear()
    got = results(layer, x, cotangent)
    assert len(calls) == 2
    want = results(layer.double(), x.double(), cotangent.double())
    assert len(calls) == 2
    layer.float()
    for mine, exact in zip(got, want, strict=True):
        assert mine.shape == exact.shape
        assert float((mine.double() - exact).norm()) <= tolerance * float(exact.norm())


@pytest.mark.parametrize("bias", ["modes", "full", False])
@pytest.mark.parametrize("sizes", ND_SIZES, ids=str)
def test_nd_linear(sizes, bias, generator, calls):
    for rank, descending, batch in ((1, False, 1), (1, True, 7), (3, False, 6), (3, True, 33)):
        layer = mnn.NdLinear(*sizes, bias=bias, rank=rank, descending=descending)
        x = torch.randn(batch, *sizes[0], generator=generator)
        assert_near_float64(randomise(layer, generator), x, generator, calls)


@pytest.mark.parametrize("sizes", TT_SIZES, ids=str)
def test_tt_linear(sizes, generator, calls):
    for bias, lead in ((True, (1,)), (False, (9,)), (True, (2, 3, 5))):
        layer = randomise(mnn.TTLinear(*sizes[:2], tt_ranks=sizes[2], bias=bias), generator)
        x = torch.randn(*lead, layer.dense_weight().shape[1], generator=generator)
        assert_near_float64(layer, x, generator, calls)


def one_step(before, inner, columns, after, has_bias):
    """The chain of one product, for x of (rows, before, inner, after)."""
    link = Link(0, 1, 1, 0, 0, inner, 1, 0, before, inner, columns, after)
    factor, bias = Factor(1, columns, inner, 1, 0, 0, inner, 1, 0), "full" if has_bias else None
    sizes = (before, columns, after)
    return Chain([factor], [link], before * inner * after, sizes, terms=1, bias=bias, work=1)


@pytest.mark.parametrize("rows", [1, 2, 13, 67])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_one_step_with_few_numbers_in_or_out(step, has_bias, rows, generator):
    (before, inner, columns, after), chain = step, one_step(*step, has_bias)
    shapes = [(rows, before, inner, after), (columns, inner), *([(before, columns, after)] if has_bias else [])]
    tensors = [torch.rand(shape, generator=generator) for shape in shapes]  # positive: no sum is near zero
    x, weight, *bias = (each.double().requires_grad_() for each in tensors)
    exact = torch.einsum("rbia, ci -> rbca", x, weight) + sum(bias)
    cotangent = torch.rand(exact.shape, generator=generator)
    want = [exact.detach(), *torch.autograd.grad(exact, [x, weight, *bias], cotangent.double())]
    got = [chain.forward(tensors)]
    got += chain.gradients(cotangent, tensors, [True] * len(tensors))
    for ours, each in zip(got, want, strict=True):
        assert float((ours.double() - each).norm()) <= SUMS32 * float(each.norm())


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_nothing_is_written_beyond_the_end(step, generator):
    before, inner, columns, after = step
    x, weight = torch.randn(13, before * inner * after, generator=generator), torch.ones(columns, inner)
    forth, back = (torch.full((13 * before * each * after + 64,), 7.0) for each in (columns, inner))
    chain, grad = one_step(*step, False), torch.ones(13, before * columns * after)
    given = chain.address, 13, 1, 0, x.data_ptr()
    for places in ((forth.data_ptr(), 0, 0), (0, grad.data_ptr(), back.data_ptr())):
        assert library().chain(chain.pack_backward(*given, *places, weight.data_ptr(), 0)) == 0
    assert bool((forth[-64:] == 7).all()) and bool((back[-64:] == 7).all())


def test_every_plan_gives_the_same(generator, calls, monkeypatch):
    sizes = (5, 2, 3, 3), (6, 2, 2, 4)
    plans = set()
    draw = random.Random(0)
    for _ in range(60):
        price = functools.cache(lambda step, rows: draw.random())
        monkeypatch.setattr(chains, "_cost", price)
        for cached in (chains.nd_linear_chain, dispatch.nd_linear_way):
            cached.cache_clear()
        plans.add(best_plan(*sizes, frozenset(), 4, price)[1])
        layer = randomise(mnn.NdLinear(*sizes), generator)
        assert_near_float64(layer, torch.randn(5, *sizes[0], generator=generator), generator, calls)
    assert len(plans) > 15


@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("way", ["right", "left", "dense"])
def test_every_cut_gives_the_same(cut, way, generator, calls, monkeypatch):
    def chosen(in_sizes, out_sizes, terms, rows):
        if way == "dense":
            numbers_in, numbers_out = math.prod(in_sizes), math.prod(out_sizes)
            return 1.0, [Link(0, len(in_sizes), 1, 0, 0, numbers_in, 1, 0, 1, numbers_in, numbers_out, 1)]
        return 1.0, chains._two_sided(in_sizes, out_sizes, terms[cut], cut)[way == "left"]

    monkeypatch.setattr(chains, "_cheapest_two", chosen)
    sizes = (5, 3, 2, 7), (2, 7, 5, 3)
    for layer in (mnn.TTLinear(*sizes, tt_ranks=(2, 3, 4)), mnn.NdLinear(*sizes, rank=3, flat=True)):
        x = torch.randn(6, 210, generator=generator)
        assert_near_float64(randomise(layer, generator), x, generator, calls, LONG32)


@pytest.mark.parametrize("frozen", range(5))
def test_gradients_that_nobody_asks_for_are_not_made(frozen, generator):
    layer = randomise(mnn.NdLinear((5, 7), (3, 4)), generator)
    x = torch.randn(6, 5, 7, generator=generator, requires_grad=True)
    tensors = [x, *layer.parameters()]
    whole = torch.autograd.grad(layer(x).square().sum(), tensors)
    tensors[frozen].requires_grad_(False)
    layer(x).square().sum().backward()
    for place, (tensor, gradient) in enumerate(zip(tensors, whole, strict=True)):
        if place == frozen:
            assert tensor.grad is None
        else:
            torch.testing.assert_close(tensor.grad, gradient, rtol=SUMS32, atol=SUMS32)


def test_what_is_kept_for_the_gradient_is_watched(generator):
    layer = randomise(mnn.NdLinear((3, 4), (2, 5)), generator)
    x = torch.randn(6, 3, 4, generator=generator)
    out = layer(x).sum()
    with torch.no_grad():
        layer.weights[0].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor):
        out = layer(x)
    assert [tuple(each.shape) for each in kept] == [(6, 3, 4), (2, 3), (5, 4), (2,), (5,)]
    out.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()


def test_rows_of_another_size_are_not_read_beyond_their_end(generator, calls):
    chain = chains.nd_linear_chain(((2, 5),), 4, None)
    tensors = [torch.randn(shape, generator=generator) for shape in ((3, 4), (2, 5))]
    assert not chain.fits(*tensors) and not calls


def test_only_the_input_or_only_a_bias(generator):
    layer = randomise(mnn.TTLinear((5, 7), (3, 4), tt_ranks=2), generator)
    x = torch.randn(6, 35, generator=generator, requires_grad=True)
    whole = torch.autograd.grad(layer(x).square().sum(), [x, layer.bias])
    for alone, gradient in zip((x, layer.bias), whole, strict=True):
        assert torch.equal(torch.autograd.grad(layer(x).square().sum(), alone)[0], gradient)


def test_two_threads(generator, calls, monkeypatch):
    monkeypatch.setattr(kernel, "CHAIN_WORK", 1)
    sizes = (16, 16, 5), (16, 12, 7)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        layer = randomise(mnn.NdLinear(*sizes), generator)
        assert_near_float64(layer, torch.randn(67, *sizes[0], generator=generator), generator, calls)
    finally:
        torch.set_num_threads(before)


def test_second_derivatives(generator, calls):
    layers = [mnn.NdLinear((3, 4), (2, 5)), mnn.TTLinear((3, 4), (2, 5), tt_ranks=2)]
    for layer, shape in zip(layers, [(6, 3, 4), (6, 12)], strict=True):
        x = torch.randn(shape, generator=generator)

        def penalty(layer, x):
            leaves = [x.clone().requires_grad_(), *layer.parameters()]
            first = torch.autograd.grad(layer(leaves[0]).pow(3).sum(), leaves, create_graph=True)
            return torch.autograd.grad(sum(each.square().sum() for each in first), leaves)

        calls.clear()
        got = penalty(randomise(layer, generator), x)
        assert calls
        for mine, exact in zip(got, penalty(layer.double(), x.double()), strict=True):
            assert float((mine.double() - exact).norm()) <= LONG32 * float(exact.norm())


def test_a_parameter_that_the_input_depends_on_counts_once_each_way(generator):
    layer = randomise(mnn.NdLinear((3, 4), (2, 5)), generator)
    x = torch.randn(6, 3, 4, generator=generator)

    def gradient(layer, x, create_graph):
        scaled = x * layer.weights[0].sum()
        return torch.autograd.grad(layer(scaled).square().sum(), layer.weights[0], create_graph=create_graph)[0]

    want = gradient(layer.double(), x.double(), False)
    layer.float()
    for create_graph in (False, True):
        torch.testing.assert_close(gradient(layer, x, create_graph).double(), want, rtol=LONG32, atol=LONG32)


def test_batched_gradients(generator):
    layer = randomise(mnn.NdLinear((3, 4), (2, 5)), generator)
    x = torch.randn(6, 3, 4, generator=generator, requires_grad=True)
    out = layer(x)
    seeds = torch.randn(3, *out.shape, generator=generator)
    batched = torch.autograd.grad(out, x, seeds, is_grads_batched=True, retain_graph=True)[0]
    alone = torch.stack([torch.autograd.grad(out, x, seed, retain_graph=True)[0] for seed in seeds])
    torch.testing.assert_close(batched, alone, rtol=SUMS32, atol=SUMS32)


def test_a_cotangent_of_another_layout(generator):
    layer = randomise(mnn.NdLinear((3, 4), (2, 5)), generator)
    x = torch.randn(6, 3, 4, generator=generator, requires_grad=True)
    out = layer(x)
    for seed in (torch.ones(1).expand(out.shape), torch.randn(5, 2, 6, generator=generator).permute(2, 1, 0)):
        got, want = (
            torch.autograd.grad(out, x, each, retain_graph=True)[0] for each in (seed, seed.clone().contiguous())
        )
        assert torch.equal(got, want)


def test_float64_agrees_to_its_own_rounding(generator, calls):
    layer = mnn.NdLinear((3, 4), (2, 5)).double()
    x = torch.randn(6, 3, 4, generator=generator, dtype=torch.float64)
    dense = torch.nn.functional.linear(x.flatten(1), layer.dense_weight(), layer.dense_bias())
    torch.testing.assert_close(layer(x).flatten(1), dense, rtol=SUMS64, atol=SUMS64)
    assert not calls
