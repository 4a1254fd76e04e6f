"""Attention along modes in few passes over memory: weights, pooled tokens, and the values they mix."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

Factor = Tensor | tuple[Tensor, Tensor] | None
"""Attention of one mode: a row-stochastic matrix, a pair (A, B) of normalised features, or None for identity."""


def flushed_softmax(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Fast path of `ops.masked_softmax`: equal to within 2e-13."""
    weights: Tensor = _FlushedSoftmax.apply(logits, mask)  # type: ignore[no-untyped-call]
    return weights


class _FlushedSoftmax(torch.autograd.Function):
    """Softmax with vanishing weights set to zero: processors multiply denormal numbers ten times slower.

    Rows near one-hot, as the paper's sum pooling makes them, are full of weights that are denormal or become so in
    the product over modes. The limit is the cube root of the smallest normal number, 2e-13 in float32: far below
    rounding, and products over three modes stay normal. Weights that the mask forbids are zero, and so is then their
    part of the gradient: nothing of the mask is needed again.
    """

    @staticmethod
    def forward(logits: Tensor, mask: Tensor | None) -> Tensor:
        smallest = min(torch.finfo(logits.dtype).tiny, torch.finfo(torch.float32).tiny)  # float16's would cut deep
        if mask is not None:
            # The smallest finite number, not -inf: a row of -inf alone is NaN.
            logits = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
        weights = F.threshold(torch.softmax(logits, -1), smallest ** (1 / 3), 0.0, inplace=True)
        return weights if mask is None else weights.mul_(mask)  # rows that may see nothing

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        (weights,) = ctx.saved_tensors
        return torch._softmax_backward_data(grad, weights, -1, weights.dtype), None


def project_and_sum(x: Tensor, weight: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Fast path of `ops.project_and_pool` for two modes or more: X Wᵀ, and the sums that leave each mode.

    The gradients of the sums are spread once and the projection's are added to them by the matrix product itself,
    where autograd would make a tensor of full size for each.
    """
    values, *sums = _ProjectAndSum.apply(x, weight)  # type: ignore[no-untyped-call]
    return values, sums


class _ProjectAndSum(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
        return F.linear(x, weight), *_sums(x, torch.promote_types(x.dtype, torch.float32))

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad, *sum_grads):  # type: ignore[no-untyped-def]
        x, weight = ctx.saved_tensors
        rows = grad.reshape(-1, grad.shape[-1])
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            spread = _spread(sum_grads).to(x.dtype).reshape(-1, x.shape[-1])
            grad_x = spread.addmm_(rows, weight).view(x.shape)  # in place: the spread belongs to nobody else
        if ctx.needs_input_grad[1]:
            grad_weight = rows.mT @ x.flatten(0, -2)
        return grad_x, grad_weight


def _sums(x: Tensor, dtype: torch.dtype) -> list[Tensor]:
    """The sums of every mode; those of all but the last share one pass."""
    if x.ndim == 3:
        return [x]
    return [*_sums(x.sum(-2, dtype=dtype), dtype), x.sum(list(range(1, x.ndim - 2)), dtype=dtype)]


def _spread(grads: Sequence[Tensor]) -> Tensor:
    """The gradient of `_sums`: each entry over all modes but its own, all of them added."""
    *first, last = grads
    if not first:
        return last
    ones = [1] * len(first)
    return _spread(first).unsqueeze(-2) + last.view(len(last), *ones, *last.shape[1:])


def mix_by_modes(value: Tensor, factors: Sequence[Factor], order: Sequence[int], num_heads: int) -> Tensor:
    """Fast path of `ops.apply_factors` for a product over modes, taken in some order.

    The values are laid out once as (batch, heads, N₁, …, head_dim, N_last), in which the first mode and the last,
    usually the long ones, are each a single batched GEMM on a view.
    """
    laid = _to_heads(value, num_heads)
    for mode in order:
        laid = _apply(laid, factors[mode], mode)
    return _from_heads(laid)


def mix_and_add(value: Tensor, factors: Sequence[Factor], num_heads: int) -> Tensor:
    """Fast path of the same for a sum over the modes that have a factor."""
    laid = _to_heads(value, num_heads)
    parts = [_apply(laid, factor, mode) for mode, factor in enumerate(factors) if factor is not None]
    return _from_heads(torch.stack(parts).sum(0) if len(parts) > 1 else parts[0])


def _to_heads(value: Tensor, num_heads: int) -> Tensor:
    split = torch.unflatten(value, -1, (num_heads, -1))  # (batch, *sizes, heads, head_dim)
    count = value.ndim - 2
    order = [0, count + 1, *range(1, count), count + 2, count]
    laid: Tensor = split.permute(order).contiguous()  # (batch, heads, *first sizes, head_dim, last size)
    return laid


def _from_heads(laid: Tensor) -> Tensor:
    count = laid.ndim - 3
    order = [0, *range(2, count + 1), count + 2, 1, count + 1]
    merged: Tensor = laid.permute(order).flatten(-2)
    return merged


def _apply(laid: Tensor, factor: Factor, mode: int) -> Tensor:
    """Multiply one mode of values laid out by `_to_heads`; a pair is applied one after the other (eq. 12)."""
    if factor is None:
        return laid
    if isinstance(factor, tuple):
        queries, keys = factor
        return _apply(_apply(laid, keys.mT, mode), queries, mode)
    factor = factor.to(laid.dtype)
    return _apply_last(laid, factor) if mode == laid.ndim - 4 else _apply_inner(laid, factor, mode)


def _apply_last(laid: Tensor, factor: Tensor) -> Tensor:
    groups, before = math.prod(laid.shape[:2]), math.prod(laid.shape[2:-1])
    rows = laid.reshape(groups, before, laid.shape[-1])
    out = torch.bmm(rows, factor.reshape(groups, *factor.shape[2:]).mT)
    return out.reshape(*laid.shape[:-1], factor.shape[-2])


def _apply_inner(laid: Tensor, factor: Tensor, mode: int) -> Tensor:
    groups, before = math.prod(laid.shape[:2]), math.prod(laid.shape[2 : mode + 2])
    after = laid.shape[mode + 3 :]
    rows = laid.reshape(groups * before, laid.shape[mode + 2], math.prod(after))
    factors = factor.reshape(groups, 1, *factor.shape[2:]).expand(-1, before, -1, -1)
    out = torch.bmm(factors.reshape(groups * before, *factor.shape[2:]), rows)
    return out.reshape(*laid.shape[: mode + 2], factor.shape[-2], *after)
