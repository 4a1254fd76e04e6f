"""Gate and norm against torch's own."""

import pytest
import torch
from torch.nn import functional as F

from multiway import nn, ops
from tolerances import TOLERANCES, assert_same

EPS = 1e-6


def inputs(generator: torch.Generator, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float64):
    return [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]


def silu_gate(gate_up):
    gate, up = gate_up.chunk(2, dim=-1)
    return F.silu(gate) * up


@pytest.mark.parametrize("sizes", [(), (3,), (2, 5, 3)], ids=str)
def test_rms_norm_is_torch_s_forward_and_backward(generator, sizes):
    x, weight = inputs(generator, (*sizes, 7), (7,))
    out, expected = ops.rms_norm(x, weight, EPS), F.rms_norm(x, (7,), weight, EPS)
    assert_same(out, expected)
    cotangent = torch.randn(out.shape, generator=generator, dtype=out.dtype)
    for ours, theirs in zip(
        torch.autograd.grad(out, [x, weight], cotangent),
        torch.autograd.grad(expected, [x, weight], cotangent),
        strict=True,
    ):
        assert_same(ours, theirs)


def test_gated_is_the_formula_to_the_bit(generator):
    (gate_up,) = inputs(generator, (2, 5, 3, 22), dtype=torch.float32)
    out, expected = ops.gated(gate_up), silu_gate(gate_up)
    cotangent = torch.randn(out.shape, generator=generator)
    assert torch.equal(out, expected)
    ours, theirs = (torch.autograd.grad(each, gate_up, cotangent)[0] for each in (out, expected))
    assert torch.equal(ours, theirs)


def test_second_derivatives_are_right(generator):
    x, weight = inputs(generator, (2, 3), (3,))
    assert torch.autograd.gradgradcheck(lambda *each: ops.rms_norm(*each, EPS), (x, weight))
    assert torch.autograd.gradgradcheck(ops.gated, inputs(generator, (2, 6)))


def test_autocast_narrows_without_a_warning_and_keeps_the_weights_gradient_wide(generator):
    norm, ffn = nn.make_norm("rms", 8), nn.SwiGLU(8, 16)
    x = torch.randn(3, 8, generator=generator)
    with torch.autocast("cpu", torch.bfloat16):
        out = ffn(norm(x.bfloat16()))
    out.float().sum().backward()
    assert out.dtype == torch.bfloat16
    assert norm.weight.grad.dtype == ffn.down.weight.grad.dtype == torch.float32
    torch.testing.assert_close(out.float(), ffn(norm(x)), **TOLERANCES[torch.bfloat16])


def test_vmap_and_compilers_see_plain_operations(generator):
    x, weight = inputs(generator, (4, 3, 7), (7,))
    mapped = torch.func.vmap(lambda each: ops.rms_norm(each, weight, EPS))(x)
    assert_same(mapped, ops.rms_norm(x, weight, EPS))
    assert_same(torch.func.vmap(ops.gated)(x[..., :6]), ops.gated(x[..., :6]))
