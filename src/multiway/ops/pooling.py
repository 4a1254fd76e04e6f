"""Pooling a tensor over all of its modes but one (HOT sec. 4.2, g_pool), with a mask of real tokens."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F


def pool_modes(
    x: Float[Tensor, "batch *sizes dim"], mode: int, *, valid: Bool[Tensor, "batch *sizes"] | None = None
) -> tuple[Float[Tensor, "batch size dim"], Float[Tensor, "batch size 1"] | float]:
    """Sum over every mode but one, in float32 or wider, and count what was summed.

    Float16 sums overflow from about 64 tokens on, hence the width. Sum pooling is the paper's; divide by the
    count for the mean.

    Args:
        x: Tokens.
        mode: The mode that stays.
        valid: True for real tokens; the others add nothing.

    Returns:
        The sums, and the counts: one number without `valid`, else `(batch, size, 1)`.
    """
    others = [axis for axis in range(1, x.ndim - 1) if axis != mode + 1]
    wide = torch.promote_types(x.dtype, torch.float32)
    if valid is None:
        count = 1.0
        for axis in others:  # a plain loop, which torch.compile can follow
            count *= x.shape[axis]
        return (x.sum(others, dtype=wide) if others else x.to(wide)), count
    kept = torch.where(valid[..., None], x, 0)
    return (kept.sum(others, dtype=wide) if others else kept.to(wide)), count_valid(valid, mode).to(wide)


def count_valid(valid: Bool[Tensor, "batch *sizes"], mode: int) -> Int[Tensor, "batch size 1"]:
    """Count the real tokens at each position of one mode."""
    others = [axis for axis in range(1, valid.ndim) if axis != mode + 1]
    return (valid.sum(others) if others else valid.long())[..., None]


def project_and_pool(
    x: Float[Tensor, "batch *sizes dim"], weight: Float[Tensor, "out dim"]
) -> tuple[Float[Tensor, "batch *sizes out"], list[tuple[Float[Tensor, "batch size dim"], float]]]:
    """X Wᵀ, and for each mode `pool_modes` of X: in the fewest passes over X and its gradient.

    The gradients of the sums are spread once and the projection's are added to them by the matrix product itself,
    where autograd would make a tensor of full size for each.
    """
    if x.ndim == 3 or _others_at_work(x):  # a single mode is its own sum
        return F.linear(x, weight), [pool_modes(x, mode) for mode in range(x.ndim - 2)]  # type: ignore[misc]
    values, *sums = _ProjectAndPool.apply(x, weight)  # type: ignore[no-untyped-call]
    tokens = math.prod(x.shape[1:-1])
    return values, [(each, tokens / max(each.shape[1], 1)) for each in sums]


def _others_at_work(x: Tensor) -> bool:
    """Compilers, autocast and vmap follow plain operations best."""
    transformed = torch._C._are_functorch_transforms_active()
    return torch.compiler.is_compiling() or transformed or torch.is_autocast_enabled(x.device.type)


class _ProjectAndPool(torch.autograd.Function):
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
