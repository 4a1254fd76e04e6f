"""The graph filter in strips: the literal form and the dense one, forward and backward, and who takes which."""

import itertools

import pytest
import torch
from benchmarks.timing import saved_bytes
from torch.autograd import forward_ad
from torch.library import opcheck

import children
from multiway import nn, ops
from multiway.errors import ConfigError
from multiway.ops import dispatch, graph_strips
from reference import tga
from tolerances import ROUNDING32, assert_same

KINDS = list(itertools.product((False, True), ops.graph.NORMALISATIONS))  # causal, normalisation


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def small_strips(monkeypatch):
    """Three rows, and columns in twos."""
    monkeypatch.setattr(graph_strips, "ROWS", 3)
    monkeypatch.setattr(graph_strips, "COLUMNS", 2)
    monkeypatch.setattr(dispatch, "STRIPS_FROM", 1)


def literal(key, value, damping, causal, normalisation, kept=1):
    """(I + Ψ) V as printed, one graph at a time; `kept` is 0 for entries that are left out."""
    graph = tga.time_graph(len(key), damping, causal) * tga.content_graph(key) * kept
    eye = torch.eye(len(key), dtype=key.dtype)
    return (tga.normalised(graph, normalisation == "row") if normalisation != "none" else eye + graph) @ value


def kept_entries(length, reach):
    """Entries that small strips hold, and their transposes."""
    steps = torch.arange(length)
    ends = steps // 3 * 3 + 3 + -(-reach // 2) * 2
    return (steps < ends[:, None]) & (steps[:, None] < ends)


def dense(key, value, damping, causal, normalisation):
    return ops.graph_filter(value, ops.attention_adjacency(key, damping, causal=causal), normalisation)


def assert_alike(got, want, leaves):
    assert_same(got, want)
    cotangent = normal(*want.shape, seed=2)
    grads = (torch.autograd.grad(each, leaves, cotangent) for each in (got, want))
    for grad, expected in zip(*grads, strict=True):
        assert_same(grad, expected)


@pytest.mark.parametrize(("causal", "normalisation"), KINDS)
@pytest.mark.parametrize("length", [2, 3, 4, 11])
def test_the_filter_is_the_literal_one_forward_and_backward(small_strips, length, causal, normalisation):
    key, value = normal(2, length, 5).requires_grad_(), normal(2, length, 7, seed=1).requires_grad_()
    form = (0.7, causal, normalisation)
    want = torch.stack([literal(*each, *form) for each in zip(key, value, strict=True)])
    got = ops.strip_graph_filter(key, value, 0.7, causal=causal, normalisation=normalisation)
    assert_alike(got, want, (key, value))


@pytest.mark.parametrize(("causal", "normalisation"), KINDS)
@pytest.mark.parametrize("reach", [1, 2, 3, 5])
def test_every_lag_up_to_the_reach_counts_and_few_others(small_strips, reach, causal, normalisation):
    key, value = normal(1, 11, 5).requires_grad_(), normal(1, 11, 7, seed=1).requires_grad_()
    kept = kept_entries(11, reach)
    lags = (torch.arange(11)[:, None] - torch.arange(11)).abs()
    assert bool(kept[lags <= reach].all()) and not kept.all()
    want = literal(key[0], value[0], 0.9, causal, normalisation, kept)[None]
    options = {"causal": causal, "normalisation": normalisation}
    assert_alike(ops.strip_graph_filter(key, value, 0.9, reach=reach, **options), want, (key, value))


@pytest.mark.parametrize(("causal", "normalisation"), KINDS)
@pytest.mark.parametrize("length", [31, 32, 127, 128, 129, 333])
def test_strips_of_full_size_are_dense_forward_and_backward(length, causal, normalisation):
    key, value = normal(2, 3, length, 5).requires_grad_(), normal(2, 3, length, 7, seed=1).requires_grad_()
    want = dense(key, value, 0.8, causal, normalisation)
    got = ops.strip_graph_filter(key, value, 0.8, causal=causal, normalisation=normalisation)
    assert_alike(got, want, (key, value))


@pytest.mark.parametrize(("causal", "normalisation"), KINDS)
def test_second_derivatives_leave_out_the_same_lags(small_strips, causal, normalisation):
    inputs = (normal(1, 7, 3).requires_grad_(), normal(1, 7, 2, seed=1).requires_grad_())

    def run(key, value):
        return ops.strip_graph_filter(key, value, 0.6, reach=1, causal=causal, normalisation=normalisation)

    assert torch.autograd.gradcheck(run, inputs, eps=ROUNDING32, atol=ROUNDING32)
    assert torch.autograd.gradgradcheck(run, inputs, eps=ROUNDING32, atol=ROUNDING32)


def test_only_requested_inputs_have_a_gradient(small_strips):
    key, value = normal(1, 7, 3).requires_grad_(), normal(1, 7, 2, seed=1).requires_grad_()
    whole = torch.autograd.grad(ops.strip_graph_filter(key, value, 0.6).square().sum(), (key, value))
    for place, inputs in enumerate(((key, value.detach()), (key.detach(), value))):
        out = ops.strip_graph_filter(*inputs, 0.6)
        assert_same(torch.autograd.grad(out.square().sum(), inputs[place])[0], whole[place])


def test_cotangents_may_come_in_batches(small_strips):
    key, value = normal(1, 7, 3).requires_grad_(), normal(1, 7, 2, seed=1)
    out, seeds = ops.strip_graph_filter(key, value, 0.6), normal(3, 1, 7, 2, seed=2)
    together = torch.autograd.grad(out, key, seeds, is_grads_batched=True, retain_graph=True)[0]
    alone = [torch.autograd.grad(out, key, seed, retain_graph=True)[0] for seed in seeds]
    assert_same(together, torch.stack(alone))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # torch's own, within jvp
def test_forward_derivatives_and_a_learnt_damping_take_the_dense_form(monkeypatch):
    monkeypatch.setattr(graph_strips._StripFilter, "apply", None)
    monkeypatch.setattr(dispatch, "STRIPS_FROM", 1)
    key, value = normal(1, 7, 3), normal(1, 7, 2, seed=1)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(key, key)
        assert not dispatch.is_plain(dual)
        out = ops.graph_attention(dual, value, 0.6)
        assert forward_ad.unpack_dual(out).tangent is not None
    dampings = torch.tensor([0.6], dtype=torch.float64)
    assert_same(ops.graph_attention(key, value, dampings), dense(key, value, 0.6, False, "none"))


def test_less_than_half_of_the_graph_is_kept():
    """Four strips of 128 rows, 320 columns at most, of 512 steps; the dense form keeps all 512² entries."""
    layers = [nn.TensorGraphAttention(8, preset="paper", banded=banded) for banded in (None, False)]
    x = torch.randn(1, 512, 8, generator=torch.Generator().manual_seed(0))
    lean, whole = (saved_bytes(layer, x) for layer in layers)
    entries = [128 * (320 + 320 + 256 + 128), 128 * (512 + 384 + 256 + 128)]
    assert whole - lean == 4 * (entries[1] - entries[0]) and entries[0] == 512**2 / 2
    with pytest.raises(ConfigError, match=r"strip_graph_filter: damping must lie between 0 and 1"):
        ops.strip_graph_filter(x, x, 1.5)


def operator(key, value, damping, reach, causal, normalisation):
    return torch.ops.multiway.graph_filter.default(key, value, damping, reach, causal, normalisation)[0]


@pytest.mark.parametrize(("causal", "normalisation"), KINDS)
@pytest.mark.parametrize("reach", [None, 2])
def test_the_operator_is_the_filter_and_torch_accepts_it(small_strips, reach, causal, normalisation):
    key, value = normal(2, 11, 5).requires_grad_(), normal(2, 11, 7, seed=1).requires_grad_()
    given, kept = (0.7, reach, causal, normalisation), 1 if reach is None else kept_entries(11, reach)
    want = torch.stack([literal(*each, 0.7, causal, normalisation, kept) for each in zip(key, value, strict=True)])
    assert_alike(operator(key, value, *given), want, (key, value))
    opcheck(torch.ops.multiway.graph_filter.default, (key, value, *given))
    with torch.no_grad():
        made = torch.ops.multiway.graph_filter.default(key, value, *given)
        tensors = [each.detach() for each in (want, key, value, *made)]
        opcheck(torch.ops.multiway.graph_filter_backward.default, (*tensors, *given))


def test_the_operator_has_second_derivatives_and_takes_batches(small_strips):
    form = (0.6, 1, False, "symmetric")
    key, value = normal(1, 7, 3).requires_grad_(), normal(1, 7, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda *x: operator(*x, *form), (key, value), eps=ROUNDING32, atol=ROUNDING32)
    assert torch.autograd.gradgradcheck(lambda *x: operator(*x, *form), (key, value), eps=ROUNDING32, atol=ROUNDING32)
    keys, many = normal(5, 2, 7, 3, seed=2), normal(2, 5, 7, 2, seed=3)
    together = torch.func.vmap(lambda k, v: operator(k, v, *form), (0, 1))(keys, many)
    assert_same(together, torch.stack([operator(keys[i], many[:, i], *form) for i in range(5)]))


GRAPHS = """
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from multiway import ops

def run(key, value):
    return ops.graph_attention(key, value, 0.8, normalisation="row")

def keep(module, inputs):
    print(module.code.count("multiway.graph_filter"), end=" ")
    return make_boxed_func(module)

torch.manual_seed(0)
compiled = torch.compile(run, fullgraph=True, dynamic=True, backend=aot_autograd(fw_compiler=keep))
for batch, length in ((2, 131), (3, 201), (2, 401), (5, 301)):
    leaves = [torch.randn(batch, 2, length, size, requires_grad=True) for size in (5, 7)]
    results = []
    for function in (compiled, run):
        out = function(*leaves)
        results.append((out, *torch.autograd.grad(out.square().sum(), leaves)))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)
"""
"""Run in a process of its own, without shape checks."""


@pytest.mark.slow
@pytest.mark.skipif(not dispatch.has_kernels(), reason="graphs hold operators where kernels are")
def test_a_graph_of_any_batch_and_length_holds_the_operator_forward_and_backward(tmp_path):
    done = children.run_program(GRAPHS, tmp_path)
    assert done.stdout.split() == ["1"] * 4, done.stderr  # up to the widest strip and beyond, there and back
