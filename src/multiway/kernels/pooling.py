"""Projection and sums over modes in the fewest passes over the input and its gradient."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


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
        rows = grad.flatten(0, -2)
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
