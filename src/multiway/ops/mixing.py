"""Project values, attend along every mode, project back: one step with a hand-written backward pass (HOT eq. 9).

The values are kept features first, `(batch, dim, *sizes)`: both projections write and read this layout at no cost,
because a matrix product takes either operand transposed. In it the last mode is one batched product on a view. The
other modes need their positions outermost, so one copy goes there and one comes back, whatever the number of modes;
both move whole lines of the last mode. Kept for the backward pass are the input, the projected values and what the
output projection reads; the steps between are repeated. `ops.apply_factors` computes the same one product at a time.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from multiway.ops.attention import Factor, apply_factors

Weights = tuple[Tensor, Tensor | None]
"""Weight `(out, in)` and bias of a linear map."""

HALF = (torch.float16, torch.bfloat16)

MIN_TOKENS = 32
"""Below this the products of single samples are too small to run at speed, and one product of the batch wins."""


def mix_values(
    x: Float[Tensor, "batch *sizes dim"],
    factors: Sequence[Factor],
    num_heads: int,
    value: Weights,
    out: Weights,
    *,
    combine: str = "product",
    valid: Bool[Tensor, "batch *sizes"] | None = None,
) -> Float[Tensor, "batch *out_sizes dim"]:
    """((X W_V) ×₁ S₁ ×₂ S₂ ⋯) W_O, with S differing by head.

    Args:
        x: Tokens.
        factors: One per mode, as for `apply_factors`.
        num_heads: Divides `dim`.
        value: W_V and its bias.
        out: W_O and its bias.
        combine: "product" or "sum" over the modes.
        valid: True for real tokens; the values of the others are zero.
    """
    tensors = _autocast(x, valid, *value, *out)
    if _fits(x, factors, combine):
        same = [factor.to(tensors[0].dtype) if isinstance(factor, Tensor) else None for factor in factors]
        together: Tensor = _MixValues.apply(*tensors, num_heads, *same)[0]  # type: ignore[no-untyped-call]
        return together
    return _step_by_step(*tensors, num_heads, *factors, combine=combine)


def _fits(x: Tensor, factors: Sequence[Factor], combine: str) -> bool:
    """Whether the fused step applies: a product of square matrices on samples of some size, outside a compiler."""
    sizes = x.shape[1:-1]
    square = [
        factor is None or (isinstance(factor, Tensor) and factor.shape[-2:] == (size, size))
        for factor, size in zip(factors, sizes, strict=True)
    ]
    attended = sum(factor is not None for factor in factors)
    product = attended > 0 and (combine == "product" or attended == 1)
    return product and all(square) and math.prod(sizes) >= MIN_TOKENS and not torch.compiler.is_compiling()


def _autocast(*tensors: Any) -> list[Any]:
    """What autocast does to the arguments of a matrix product; a function with its own backward has to ask."""
    present = next(tensor for tensor in tensors if tensor is not None)
    if not torch.is_autocast_enabled(present.device.type):
        return list(tensors)
    narrow = torch.get_autocast_dtype(present.device.type)
    return [t.to(narrow) if t is not None and t.dtype in (torch.float32, *HALF) else t for t in tensors]


def _step_by_step(
    x: Tensor,
    valid: Tensor | None,
    value_weight: Tensor,
    value_bias: Tensor | None,
    out_weight: Tensor,
    out_bias: Tensor | None,
    num_heads: int,
    *factors: Factor,
    combine: str = "product",
) -> Tensor:
    """The same in steps that autograd follows: for compilers, small inputs and second derivatives."""
    values = torch.nn.functional.linear(x, value_weight, value_bias)
    values = values if valid is None else torch.where(valid[..., None], values, 0)
    return torch.nn.functional.linear(apply_factors(values, factors, num_heads, combine), out_weight, out_bias)


class _MixValues(torch.autograd.Function):
    """Returns the output, and for the backward pass the values before and after the factors."""

    @staticmethod
    def forward(
        x: Tensor,
        valid: Tensor | None,
        value_weight: Tensor,
        value_bias: Tensor | None,
        out_weight: Tensor,
        out_bias: Tensor | None,
        num_heads: int,
        *factors: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        rows = x.reshape(len(x), -1, x.shape[-1])
        values = _features_first(rows, value_weight, value_bias)
        if valid is not None:
            values *= valid.flatten(1)[:, None]
        mixed = _mix(values, x.shape[1:-1], num_heads, factors)
        out = _features_last(mixed, out_weight, out_bias)
        return out.view(*x.shape[:-1], len(out_weight)), values, mixed

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        x, valid, value_weight, value_bias, out_weight, out_bias, num_heads, *factors = inputs
        _, values, mixed = output
        ctx.mark_non_differentiable(values, mixed)
        ctx.set_materialize_grads(False)
        ctx.num_heads = num_heads
        ctx.save_for_backward(
            x, valid, value_weight, value_bias, out_weight, out_bias, values, mixed, *factors
        )

    @staticmethod
    def backward(ctx, grad, *_):  # type: ignore[no-untyped-def]
        x, valid, value_weight, value_bias, out_weight, out_bias, values, mixed, *factors = ctx.saved_tensors
        arguments = (x, valid, value_weight, value_bias, out_weight, out_bias, ctx.num_heads, *factors)
        if torch.is_grad_enabled():  # a second derivative is wanted: what was saved on the way cannot give it
            return _differentiable_backward(arguments, ctx.needs_input_grad, grad)
        rows, grad_rows = (tokens.reshape(len(x), -1, tokens.shape[-1]) for tokens in (x, grad))
        need = ctx.needs_input_grad
        grads: list[Tensor | None] = [None] * len(need)
        grads[4] = torch.bmm(grad_rows.mT, mixed.mT).sum(0) if need[4] else None
        grads[5] = grad_rows.sum((0, 1)) if need[5] else None
        grad_mixed = _features_first(grad_rows, out_weight.mT, None)
        grad_values, grads[7:] = _mix_backward(values, grad_mixed, x.shape[1:-1], ctx.num_heads, factors)
        if valid is not None:
            grad_values *= valid.flatten(1)[:, None]
        grads[2] = torch.bmm(grad_values, rows).sum(0) if need[2] else None
        grads[3] = grad_values.sum((0, 2)) if need[3] else None
        grads[0] = _features_last(grad_values, value_weight.mT, None).view(x.shape) if need[0] else None
        return tuple(grads)


def _differentiable_backward(arguments, needed, grad):  # type: ignore[no-untyped-def]
    wanted = [place for place, need in enumerate(needed) if need]
    with torch.enable_grad():
        out = _step_by_step(*arguments)
        found = torch.autograd.grad(out, [arguments[place] for place in wanted], grad, create_graph=True)
    grads: list[Tensor | None] = [None] * len(needed)
    for place, each in zip(wanted, found, strict=True):
        grads[place] = each
    return tuple(grads)


def _features_first(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """(batch, tokens, in) to (batch, out, tokens)."""
    each = weight.expand(len(rows), -1, -1)
    return torch.bmm(each, rows.mT) if bias is None else torch.baddbmm(bias[:, None], each, rows.mT)


def _features_last(values: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """(batch, in, tokens) to (batch, tokens, out)."""
    each = weight.mT.expand(len(values), -1, -1)
    return torch.bmm(values.mT, each) if bias is None else torch.baddbmm(bias, values.mT, each)


def _mix(values: Tensor, sizes: Sequence[int], num_heads: int, factors: Sequence[Tensor | None]) -> Tensor:
    """Every factor on values `(batch, dim, tokens)`: the last mode, then the others with positions outermost."""
    *inner, last = _grouped(factors)
    laid = values.view(len(values) * num_heads, -1, sizes[-1])
    laid = laid if last is None else torch.bmm(laid, last.mT)
    if any(factor is not None for factor in inner):
        outer = _positions_first(laid, sizes)
        for mode, factor in enumerate(inner):
            outer = outer if factor is None else _inner_product(outer, factor, sizes, mode)
        laid = _features_outermost(outer, sizes)
    return laid.reshape(values.shape)


def _mix_backward(
    values: Tensor, grad: Tensor, sizes: Sequence[int], num_heads: int, factors: Sequence[Tensor | None]
) -> tuple[Tensor, list[Tensor | None]]:
    """Gradients of `_mix`; what the inner modes read is computed again."""
    *inner, last = _grouped(factors)
    before_last = values.view(len(values) * num_heads, -1, sizes[-1])
    grad = grad.view(before_last.shape)
    grads: list[Tensor | None] = [None] * len(sizes)
    attended = [mode for mode, factor in enumerate(inner) if factor is not None]
    if attended:
        laid = before_last if last is None else torch.bmm(before_last, last.mT)
        reads = [_positions_first(laid, sizes)]
        for mode in attended[:-1]:
            reads.append(_inner_product(reads[-1], inner[mode], sizes, mode))
        outer = _positions_first(grad, sizes)
        for mode, read in zip(reversed(attended), reversed(reads), strict=True):
            grads[mode] = _inner_factor_grad(outer, read, sizes, mode)
            outer = _inner_product(outer, inner[mode].mT, sizes, mode)
        grad = _features_outermost(outer, sizes)
    if last is not None:
        grads[-1] = torch.bmm(grad.mT, before_last)
        grad = torch.bmm(grad, last)
    return grad.reshape(values.shape), [
        None if each is None else each.view(factor.shape) for each, factor in zip(grads, factors, strict=True)
    ]


def _grouped(factors: Sequence[Tensor | None]) -> list[Tensor | None]:
    """(batch, heads, q, k) to (batch * heads, q, k)."""
    return [None if factor is None else factor.flatten(0, 1) for factor in factors]


def _positions_first(laid: Tensor, sizes: Sequence[int]) -> Tensor:
    """(group, head_dim, *sizes) to (group, inner positions, head_dim, last size)."""
    return laid.view(len(laid), -1, math.prod(sizes[:-1]), sizes[-1]).transpose(1, 2).contiguous()


def _features_outermost(outer: Tensor, sizes: Sequence[int]) -> Tensor:
    """Back again."""
    return outer.view(len(outer), math.prod(sizes[:-1]), -1, sizes[-1]).transpose(1, 2).reshape(len(outer), -1, sizes[-1])


def _split(outer: Tensor, sizes: Sequence[int], mode: int) -> Tensor:
    return outer.view(len(outer) * math.prod(sizes[:mode]), sizes[mode], -1)


def _inner_product(outer: Tensor, factor: Tensor, sizes: Sequence[int], mode: int) -> Tensor:
    """Multiply one inner mode; its factor serves every position of the modes before it."""
    lines = _split(outer, sizes, mode)
    if mode:
        factor = factor.repeat_interleave(len(lines) // len(factor), 0)
    return torch.bmm(factor, lines).view(outer.shape)


def _inner_factor_grad(grad: Tensor, read: Tensor, sizes: Sequence[int], mode: int) -> Tensor:
    each = torch.bmm(_split(grad, sizes, mode), _split(read, sizes, mode).mT)
    return each.view(len(grad), -1, *each.shape[1:]).sum(1) if mode else each
