"""Pooling a tensor over all of its modes but one (HOT sec. 4.2, g_pool), with a mask of real tokens."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


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
    counts = (valid.sum(others) if others else valid).to(wide)[..., None]
    kept = torch.where(valid[..., None], x, 0)
    return (kept.sum(others, dtype=wide) if others else kept.to(wide)), counts
