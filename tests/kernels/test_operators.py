"""Operators of torch for the compiled kernels: what torch needs of one, and the same numbers however it is called."""

import pytest
import torch
from torch.library import opcheck

import children
from fewer import few
from multiway.kernels import operators
from multiway.kernels.library import library
from multiway.ops import chains, dispatch
from tolerances import LONG32, assert_same

ND = [(6, 5, 7), [(3, 5), (4, 7), (3,), (4,)]]
CASES = {
    "nd_linear": ("nd_linear", *ND, (2, "ascending")),
    "nd_linear, descending": ("nd_linear", *ND, (2, "descending")),
    "nd_linear, full bias": ("nd_linear", (6, 5, 7), [(3, 5), (4, 7), (3, 4)], (2, "full")),
    "nd_linear, terms": ("nd_linear", (6, 5, 7), [(2, 3, 5), (2, 4, 7)], (2, "")),
    "tt_linear": ("tt_linear", (6, 35), [(1, 5, 3, 2), (2, 7, 4, 1), (12,)], (2,)),
    "tt_linear, no bias": ("tt_linear", (6, 35), [(1, 5, 3, 2), (2, 7, 4, 1)], (2,)),
    "additive_scores": ("additive_scores", (2, 3, 5, 7), [(2, 3, 4, 7), (3, 7)], ()),
}
GRAPHS = """
import torch
from multiway import nn, ops
from multiway.kernels.library import library

torch.manual_seed(0)
calls, chain = [], library().chain
library().chain = lambda call: (calls.append(call), chain(call))[1]

def gradients(function, x, parameters):
    result = function(x)
    return [result, *torch.autograd.grad(result.square().sum(), [x, *parameters])]

for layer, shape, name in (
    (nn.NdLinear((16, 16), (16, 8)), (16, 16), "nd_linear"),
    (nn.TTLinear((16, 16), (8, 16), tt_ranks=2), (256,), "tt_linear"),
):
    torch.compiler.reset()
    function = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)
    x, rows, parameters = torch.randn(3, *shape), ({0: torch.export.Dim("rows", min=2)},), list(layer.parameters())
    plain = torch.export.export(layer, (x,), dynamic_shapes=rows)
    with ops.exported_operators():
        kept = torch.export.export(layer, (x,), dynamic_shapes=rows)
    assert "multiway" not in plain.graph_module.code and f"multiway.{name}" in kept.graph_module.code
    for count in (5, 9):
        x = torch.randn(count, *shape, requires_grad=True)
        expected = gradients(layer, x, parameters)
        calls.clear()
        torch.testing.assert_close(gradients(function, x, parameters), expected, rtol=1e-4, atol=1e-4)
        assert len(calls) == 2
        for program in (plain, kept):
            torch.testing.assert_close(program.module()(x), expected[0], rtol=1e-4, atol=1e-4)
    print(type(layer).__name__)
"""
"""Run in a process of its own, without shape checks."""
needs_library = pytest.mark.skipif(library() is None, reason="the install found no C compiler")


@pytest.fixture(params=CASES)
def case(request):
    """An operator, and makers of its tensors in a type and of its constants."""
    name, shape, shapes, constants = CASES[request.param]

    def drawn(dtype):
        draw = torch.Generator().manual_seed(3)
        wide = (torch.randn(size, generator=draw, dtype=torch.float64) for size in (shape, *shapes))
        x, *parameters = (tensor.to(dtype).requires_grad_() for tensor in wide)
        return x, parameters

    return name, drawn, constants


@pytest.fixture
def always(monkeypatch):
    """The chain is used whatever it costs."""
    monkeypatch.setattr(chains, "MARGIN", 0.0)
    for name in ("nd_linear_chain", "tensor_train_chain"):
        monkeypatch.setattr(chains, name, getattr(chains, name).__wrapped__)


def called(name, constants):
    return lambda x, *parameters: operators.call_operator(name, x, list(parameters), *constants)


def results(function, x, parameters, **options):
    out = function(x, *parameters)
    cotangent = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    return [out, *torch.autograd.grad(out, [x, *parameters], cotangent, **options)]


@pytest.mark.parametrize("case", few(CASES, *(name for name in CASES if "," not in name)), indirect=True)
@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.float64, marks=pytest.mark.slow)])
def test_torch_accepts_the_operator_and_its_passes(case, dtype, always):
    name, drawn, constants = case
    x, parameters = drawn(dtype)
    opcheck(getattr(torch.ops.multiway, name).default, (x, parameters, *constants))
    x, parameters = x.detach(), [each.detach() for each in parameters]
    grad = torch.ones_like(operators.call_operator(name, x, parameters, *constants))
    needed = [True, False, *[True] * (len(parameters) - 1)]
    backward = getattr(torch.ops.multiway, f"{name}_backward").default
    opcheck(backward, (grad, x, parameters, needed, *constants))


def test_derivatives(case):
    name, drawn, constants = case
    x, parameters = drawn(torch.float64)
    assert torch.autograd.gradcheck(called(name, constants), (x, *parameters))
    assert torch.autograd.gradgradcheck(called(name, constants), (x, *parameters), fast_mode=True)


@needs_library
def test_kernel_and_plain_form_agree_in_both_formulas_of_the_gradient(case, always):
    name, drawn, constants = case
    expected = results(called(name, constants), *drawn(torch.float64))
    for options in ({}, {"create_graph": True}):
        narrow = results(called(name, constants), *drawn(torch.float32), **options)
        for ours, exact in zip(narrow, expected, strict=True):
            scale = float(exact.detach().abs().max())
            torch.testing.assert_close(ours.detach().double(), exact.detach(), rtol=LONG32, atol=LONG32 * scale)


def passes(name, x, parameters, constants):
    """The result, and the gradients of it that are needed: not the second."""
    out = operators.call_operator(name, x, parameters, *constants)
    needed = [True, False, *[True] * (len(parameters) - 1)]
    cotangent = torch.linspace(-1, 1, out.numel()).view(out.shape)
    backward = getattr(torch.ops.multiway, f"{name}_backward").default
    return [out, *backward(cotangent, x, parameters, needed, *constants)]


@pytest.fixture
def plain_case(case, always):
    """An operator's name, tensors without gradients, and constants."""
    name, drawn, constants = case
    x, parameters = drawn(torch.float32)
    return name, x.detach(), [each.detach() for each in parameters], constants


@needs_library
def test_passes_of_other_layouts(plain_case):
    name, x, parameters, constants = plain_case
    expected = passes(name, x, parameters, constants)
    turned = [each.movedim(0, -1).contiguous().movedim(-1, 0) for each in parameters]
    given = x.movedim(0, -1).contiguous().movedim(-1, 0)
    assert not given.is_contiguous() and any(not each.is_contiguous() for each in turned)
    for ours, each in zip(passes(name, given, turned, constants), expected, strict=True):
        assert torch.equal(ours, each)


@needs_library
def test_passes_without_a_kernel_are_those_of_the_kernel(plain_case, monkeypatch):
    name, x, parameters, constants = plain_case
    expected = passes(name, x, parameters, constants)
    monkeypatch.setattr(operators, "can_run", lambda tensors: False)
    for ours, each in zip(passes(name, x, parameters, constants), expected, strict=True):
        torch.testing.assert_close(ours, each, rtol=LONG32, atol=LONG32)


def test_rows_of_another_size_are_refused(plain_case):
    name, x, parameters, constants = plain_case
    if name == "additive_scores":
        pytest.skip("the annotations of its equation refuse them first")
    with pytest.raises((RuntimeError, ValueError)):
        operators.call_operator(name, x[..., :-1], parameters, *constants)


def test_vmap_over_rows_and_over_parameters(case):
    name, drawn, constants = case
    x, parameters = (drawn(torch.float64)[0], [each.detach() for each in drawn(torch.float64)[1]])
    function, stacked = called(name, constants), torch.stack([x.detach(), 2 * x.detach()])
    others = [torch.stack([each, each + 1]) for each in parameters]
    for axes in ((0, *[None] * len(parameters)), (None, *[0] * len(parameters))):
        given = [stacked if axes[0] == 0 else x.detach(), *(parameters if axes[0] == 0 else others)]
        members = (
            [each if axis is None else each[index] for each, axis in zip(given, axes, strict=True)] for index in (0, 1)
        )
        assert_same(torch.vmap(function, in_dims=axes)(*given), torch.stack([function(*each) for each in members]))


def test_autocast_computes_in_its_type(case):
    name, drawn, constants = case
    x, parameters = drawn(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = called(name, constants)(x, *parameters)
    expected = called(name, constants)(x.bfloat16(), *(each.bfloat16() for each in parameters))
    assert result.dtype == torch.bfloat16 and torch.equal(result, expected)


def test_what_cannot_be_pointed_at(case):
    name, drawn, constants = case
    x, parameters = drawn(torch.float32)
    result = operators.call_operator(name, x.to("meta"), [each.to("meta") for each in parameters], *constants)
    assert result.is_meta and result.shape == operators.call_operator(name, x, parameters, *constants).shape
    none = [parameters[0][:0], *parameters[1:]] if name == "additive_scores" else parameters
    assert operators.call_operator(name, x[:0], none, *constants).numel() == 0


@pytest.mark.slow
@needs_library
def test_graphs_call_the_kernel_for_any_batch_and_exports_by_choice(tmp_path):
    done = children.run_program(GRAPHS, tmp_path)
    assert done.stdout.split() == ["NdLinear", "TTLinear"], done.stderr


@pytest.mark.parametrize("reason", ["no library", "autocast", "float64"])
def test_a_graph_takes_operations_of_torch_where_no_kernel_can_run(reason, monkeypatch):
    x = torch.ones(2, dtype=torch.float64 if reason == "float64" else torch.float32)
    monkeypatch.setattr(dispatch, "has_kernels", lambda: reason != "no library")
    with torch.autocast("cpu", enabled=reason == "autocast"):
        assert not dispatch.may_be_operator(x)
    monkeypatch.setattr(dispatch, "has_kernels", lambda: True)
    assert dispatch.may_be_operator(x.float())
