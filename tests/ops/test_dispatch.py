"""Every fast path against its equation: the same values and gradients, and nothing fast where the gate is closed."""

import pickle

import pytest
import torch
from torch.autograd import forward_ad

from multiway import nn, ops
from multiway.kernels.library import library
from multiway.ops import chains, dispatch
from tolerances import LONG32, TOLERANCES, assert_same


def strips(key, value):
    return ops.graph_attention(key, value, 0.8, normalisation="symmetric")


def nd_linear(x, *parameters):
    return ops.nd_linear(x, parameters[:2], parameters[2:])


def nd_linear_full(x, *parameters):
    return ops.nd_linear(x, parameters[:2], full_bias=parameters[2])


def nd_linear_descending(x, *parameters):
    return ops.nd_linear(x, parameters[:2], parameters[2:], descending=True)


def tt_linear(x, bias, *cores):
    return ops.tt_linear(x, cores, bias)


def additive_scores(*tensors):
    return ops.additive_scores(*tensors)


TWINS = {
    "graph_attention": (strips, [(2, 3, 300, 5), (2, 3, 300, 7)]),
    "nd_linear": (nd_linear, [(6, 5, 7), (3, 5), (4, 7), (3,), (4,)]),
    "nd_linear, full bias": (nd_linear_full, [(6, 5, 7), (3, 5), (4, 7), (3, 4)]),
    "nd_linear, descending": (nd_linear_descending, [(6, 5, 7), (3, 5), (4, 7), (3,), (4,)]),
    "nd_linear, terms": (nd_linear, [(6, 5, 7), (2, 3, 5), (2, 4, 7), (2, 3), (2, 4)]),
    "nd_linear, long": (nd_linear, [(6, 64, 64), (32, 64), (128, 64), (32,), (128,)]),
    "tt_linear": (tt_linear, [(6, 35), (12,), (1, 5, 3, 2), (2, 7, 4, 1)]),
    "additive_scores": (additive_scores, [(2, 3, 5, 7), (2, 3, 4, 7), (3, 7)]),
}


def leaves_of(shapes, dtype, generator):
    return [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]


def results(function, leaves, **options):
    out = function(*leaves)
    cotangent = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    return [out, *torch.autograd.grad(out, leaves, cotangent, **options)]


@pytest.fixture
def equations(monkeypatch):
    """Call it, and every equation is computed as it stands."""

    def close():
        monkeypatch.setattr(dispatch, "is_plain", lambda x: False)
        for name in ("nd_linear", "tt_linear", "additive_scores"):
            monkeypatch.setattr(ops, name, getattr(ops, name).__wrapped__)

    return close


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", TWINS)
def test_twins_agree(name, dtype, generator, equations):
    function, shapes = TWINS[name]
    leaves = leaves_of(shapes, dtype, generator)
    fast = results(function, leaves)
    equations()
    for ours, theirs in zip(fast, results(function, leaves), strict=True):
        scale = max(1.0, float(theirs.detach().abs().max()))
        torch.testing.assert_close(ours / scale, theirs / scale, **TOLERANCES[dtype])


@pytest.mark.parametrize("name", TWINS)
def test_gradients_for_second_derivatives_equal_plain_gradients(name, generator):
    """`gradgradcheck` compares the first with itself: it is right where the formula for training is wrong."""
    function, shapes = TWINS[name]
    leaves = leaves_of(shapes, torch.float64, generator)
    plain, repeated = results(function, leaves), results(function, leaves, create_graph=True)
    assert any(gradient.requires_grad for gradient in repeated[1:])
    for ours, theirs in zip(plain, repeated, strict=True):
        assert_same(ours, theirs)


@pytest.mark.skipif(library() is None, reason="no C compiler")
@pytest.mark.parametrize("name", [name for name in TWINS if name.startswith(("nd_linear", "tt_linear", "additive"))])
def test_compiled_gradients_equal_those_for_second_derivatives(name, generator, monkeypatch):
    monkeypatch.setattr(chains, "MARGIN", 0.0)
    for module, cached in (
        (chains, "nd_linear_chain"),
        (chains, "tensor_train_chain"),
        (dispatch, "nd_linear_way"),
        (dispatch, "tt_linear_way"),
    ):
        monkeypatch.setattr(module, cached, getattr(module, cached).__wrapped__)
    function, shapes = TWINS[name]
    leaves = leaves_of(shapes, torch.float64, generator)
    narrow = [leaf.detach().float().requires_grad_() for leaf in leaves]
    expected = [result.detach() for result in results(function, leaves)]
    for options in ({}, {"create_graph": True}):
        narrow_results = results(function, narrow, **options)
        assert narrow_results[0].grad_fn.name() == "_CompiledBackward"
        for ours, theirs in zip(narrow_results, expected, strict=True):
            torch.testing.assert_close(ours.double(), theirs, rtol=LONG32, atol=LONG32 * float(theirs.abs().max()))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # torch's own, within jvp
def test_where_the_gate_is_closed(monkeypatch):
    x = torch.ones(2)
    assert dispatch.is_plain(x) and not dispatch.is_plain(x.to("meta"))
    seen = []

    def look(row):
        seen.append(dispatch.is_plain(row))
        return row.sum()

    torch.func.vmap(look)(x[None])
    torch.func.grad(look)(x)
    torch.func.jvp(look, (x,), (x,))
    with forward_ad.dual_level():
        look(forward_ad.make_dual(x, x))
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert seen == [False] * 4 and not dispatch.is_plain(x) and dispatch.in_graph()


@pytest.mark.parametrize("inner", [nn.NdLinear((16, 16), (16, 8)), nn.TTLinear((4, 4), (4, 4), tt_ranks=2)])
def test_tensors_that_a_transform_does_not_wrap_have_values_and_gradients_within_it(inner, generator):
    sizes = (16, 16) if isinstance(inner, nn.NdLinear) else (16,)
    x = torch.randn(128, *sizes, generator=generator, requires_grad=True)
    within = torch.func.vmap(lambda scale: scale * inner(x).sum())(torch.ones(2))
    assert_same(within, inner(x).sum().expand(2))
    ours, theirs = (torch.autograd.grad(each, x)[0] for each in (within[0], inner(x).sum()))
    assert_same(ours, theirs)


def test_an_equation_is_what_its_function_wraps(generator):
    x, *weights = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in [(6, 5, 7), (3, 5), (4, 7)]
    )
    y = torch.einsum("bij,ki,lj->bkl", x, *weights)
    assert_same(ops.nd_linear.__wrapped__(x, weights), y)
    assert pickle.loads(pickle.dumps(ops.nd_linear)) is ops.nd_linear
    cores = [weights[0].mT[None, :, :, None], weights[1].mT[None, :, :, None]]
    assert_same(ops.tt_linear.__wrapped__(x.flatten(1), cores), y.flatten(1))


@pytest.mark.parametrize(
    ("length", "damping", "exporting", "banded", "expected"),
    [
        (400, 0.5, False, None, "banded"),
        (400, 0.5, True, None, "dense"),
        (400, 0.5, True, True, "banded"),
        (400, 0.5, False, False, "strips"),
        (400, 0.95, False, None, "strips"),
        (255, 0.5, False, False, "dense"),
        (256, 0.5, False, False, "strips"),
    ],
)
def test_a_graph_takes_the_cheapest_form_and_an_exported_one_the_dense(
    length, damping, exporting, banded, expected, monkeypatch
):
    value, taken = torch.ones(1, length, 3), []
    for form, name in (("banded", "banded_graph_filter"), ("strips", "strip_graph_filter"), ("dense", "graph_filter")):
        monkeypatch.setattr(dispatch, name, lambda *_, form=form, **options: (taken.append(form), value)[1])
    monkeypatch.setattr(torch.compiler, "is_exporting", lambda: exporting)
    monkeypatch.setattr(dispatch, "is_plain", lambda x: not exporting)
    ops.graph_attention(torch.ones(1, length, 2), value, damping, banded=banded)
    assert taken == [expected]
