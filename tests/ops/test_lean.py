"""Operations that keep less for the backward pass, against torch's own, which keep more."""

import pytest
import torch
from benchmarks.timing import saved_bytes
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


def test_only_requested_inputs_have_a_gradient(generator):
    x, weight = inputs(generator, (4, 7), (7,))
    ops.rms_norm(x.detach(), weight, EPS).sum().backward()
    ops.rms_norm(x, weight.detach(), EPS).sum().backward()
    assert x.grad is not None
    assert weight.grad is not None


def test_autocast_narrows_without_a_warning_and_keeps_the_weights_gradient_wide(generator):
    norm, ffn = nn.make_norm("rms", 8), nn.SwiGLU(8, 16)
    x = torch.randn(3, 8, generator=generator)
    with torch.autocast("cpu", torch.bfloat16):
        out = ffn(norm(x.bfloat16()))
    out.float().sum().backward()
    assert out.dtype == torch.bfloat16
    assert norm.weight.grad.dtype == ffn.down.weight.grad.dtype == torch.float32
    torch.testing.assert_close(out.float(), ffn(norm(x)), **TOLERANCES[torch.bfloat16])


def test_less_is_kept(generator):
    x = torch.randn(50, 8, generator=generator).requires_grad_()
    ours, theirs = nn.make_norm("rms", 8), torch.nn.RMSNorm(8, EPS)
    assert saved_bytes(ours, x) == 4 * 50 * (8 + 1) < saved_bytes(theirs, x)
    assert saved_bytes(nn.SwiGLU(8, 16), x) == 4 * 50 * (8 + 2 * 16 + 16)


def test_vmap_and_compilers_see_plain_operations(generator):
    x, weight = inputs(generator, (4, 3, 7), (7,))
    mapped = torch.func.vmap(lambda each: ops.rms_norm(each, weight, EPS))(x)
    assert_same(mapped, ops.rms_norm(x, weight, EPS))
    assert_same(torch.func.vmap(ops.gated)(x[..., :6]), ops.gated(x[..., :6]))


def test_a_batch_of_cotangents_is_one_after_another(generator):
    """`is_grads_batched`, as vectorised Jacobians take it, in which tensors have no memory of their own."""
    x, weight = torch.randn(3, 4, 5, 6, generator=generator).requires_grad_(), torch.randn(7, 6, generator=generator)
    for function in (ops.gated, lambda x: sum(each.sum(1) for each, _ in ops.project_and_pool(x, weight)[1])):
        out = function(x)
        cotangents = torch.randn(2, *out.shape, generator=generator)
        (found,) = torch.autograd.grad(out, x, cotangents, is_grads_batched=True, retain_graph=True)
        wanted = [torch.autograd.grad(out, x, each, retain_graph=True)[0] for each in cotangents]
        assert_same(found, torch.stack(wanted))
