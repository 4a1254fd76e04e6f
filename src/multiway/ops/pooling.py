"""Pooling a tensor over all of its modes but one (HOT sec. 4.2, g_pool), and masks: of real tokens, of the future."""

import functools
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from multiway.ops.attention import from_steps, masked_softmax


def pool_modes(
    x: Float[Tensor, "batch *sizes dim"],
    mode: int,
    *,
    valid: Bool[Tensor, "batch *sizes"] | None = None,
    steps: int | None = None,
) -> tuple[Float[Tensor, "batch size dim"], Float[Tensor, "batch size 1"] | float]:
    """Sum over every mode but one, in float32 or wider, and count what was summed.

    Float16 sums overflow from about 64 tokens on, hence the width. Sum pooling is the paper's; divide by the
    count for the mean.

    Args:
        x: Tokens.
        mode: The mode that stays.
        valid: True for real tokens; the others add nothing.
        steps: Of a mode that was taken apart by `by_step`; each step then adds up all that come before it, too.

    Returns:
        The sums, and the counts: one number without `valid` and `steps`, else `(batch, size, 1)`.
    """
    others = [axis for axis in range(1, x.ndim - 1) if axis != mode + 1]
    kept, wide = blank(x, valid), torch.promote_types(x.dtype, torch.float32)
    sums, count = (kept.sum(others, dtype=wide) if others else kept.to(wide)), _count_pooled(x, mode, valid)
    if steps is None:
        return sums, count
    counts = count if isinstance(count, Tensor) else sums.new_full((*sums.shape[:-1], 1), count)
    sums, counts = (from_steps(each, 0, steps).cumsum(1).flatten(0, 1) for each in (sums, counts))
    return sums, counts


def pool_every_mode(
    x: Float[Tensor, "batch *sizes dim"], *, valid: Bool[Tensor, "batch *sizes"] | None = None
) -> list[tuple[Float[Tensor, "batch size dim"], Float[Tensor, "batch size 1"] | float]]:
    """`pool_modes` of each mode in turn, where the sums of all modes but the last share a pass over the tokens."""
    totals = _sum_every_mode(blank(x, valid), torch.promote_types(x.dtype, torch.float32))
    return [(total, _count_pooled(x, mode, valid)) for mode, total in enumerate(totals)]


def _sum_every_mode(x: Tensor, wide: torch.dtype) -> list[Tensor]:
    if x.ndim == 3:
        return [x.to(wide)]
    return [*_sum_every_mode(x.sum(-2, dtype=wide), wide), x.sum(list(range(1, x.ndim - 2)), dtype=wide)]


def _count_pooled(x: Tensor, mode: int, valid: Tensor | None) -> Tensor | float:
    """Tokens that are summed at each position of a mode."""
    if valid is not None:
        return count_valid(valid, mode).to(torch.promote_types(x.dtype, torch.float32))
    count = 1.0
    for axis in range(1, x.ndim - 1):  # a plain loop, which torch.compile can follow
        count *= x.shape[axis] if axis != mode + 1 else 1
    return count


def count_valid(valid: Bool[Tensor, "batch *sizes"], mode: int) -> Int[Tensor, "batch size 1"]:
    """Count the real tokens at each position of one mode."""
    others = [axis for axis in range(1, valid.ndim) if axis != mode + 1]
    return (valid.sum(others) if others else valid.long())[..., None]


def max_over_modes(
    x: Float[Tensor, "batch *sizes dim"],
    mode: int,
    *,
    valid: Bool[Tensor, "batch *sizes"] | None = None,
    steps: int | None = None,
) -> tuple[Float[Tensor, "batch size dim"], Float[Tensor, "batch size 1"] | float]:
    """Take the largest of each feature over every mode but one, and count it: once, or never where nothing is valid.

    Args:
        x: Tokens, projected: a maximum does not commute with a projection, as sums do.
        mode: The mode that stays.
        valid: True for real tokens; positions without any are zero.
        steps: As of `pool_modes`; a step has the largest of all that come before it, too.
    """
    others = [axis for axis in range(1, x.ndim - 1) if axis != mode + 1]
    wide = torch.promote_types(x.dtype, torch.float32)
    if x.numel() == 0:  # of nothing there is no maximum
        return pool_modes(x, mode)[0], 1.0
    candidates = x if valid is None else torch.where(valid[..., None], x, -math.inf)
    largest = candidates.amax(others) if others else candidates
    if steps is not None:
        largest = from_steps(largest, 0, steps).cummax(1).values.flatten(0, 1)
    if valid is None:
        return largest.to(wide), 1.0
    seen = valid_keys(valid, mode, steps)[:, 0, 0, :, None]
    return torch.where(seen, largest, 0).to(wide), seen.to(wide)


def weighted_over_modes(
    x: Float[Tensor, "batch *sizes dim"],
    vector: Float[Tensor, " dim"],
    mode: int,
    *,
    valid: Bool[Tensor, "batch *sizes"] | None = None,
    steps: int | None = None,
) -> tuple[Float[Tensor, "batch size dim"], Float[Tensor, "batch size 1"] | float]:
    r"""Mean over every mode but one under learned weights, in float32 or wider, counted like a maximum.

    $$\tilde x_i = \sum_n w_{in} x_{in}, \qquad w_{in} = \operatorname{softmax}_n(u^\top x_{in})$$

    over the valid tokens n at position i; a vector of zeros makes it the mean.

    Args:
        x: Tokens.
        vector: What a token's features are weighed by (u).
        mode: The mode that stays.
        valid: True for real tokens; positions without any are zero.
        steps: As of `pool_modes`; tokens of all steps that come before weigh in, too.
    """
    wide = torch.promote_types(x.dtype, torch.float32)
    tokens = _lines(blank(x, valid), mode).to(wide).contiguous()  # laid out once, for both products
    mask = None if valid is None else _lines(valid[..., None], mode)[..., 0]
    scores = tokens @ vector.to(tokens.dtype)
    means = (masked_softmax(scores, mask).unsqueeze(-2) @ tokens).squeeze(-2)
    if steps is not None:
        smallest = torch.finfo(scores.dtype).min
        masses = (scores if mask is None else scores.masked_fill(~mask, smallest)).logsumexp(-1)
        means = _weigh_steps(means, masses, None if mask is None else mask.any(-1), steps)
    return means, 1.0 if valid is None else valid_keys(valid, mode, steps)[:, 0, 0, :, None].to(means.dtype)


def _weigh_steps(means: Tensor, masses: Tensor, seen: Tensor | None, steps: int) -> Tensor:
    """Of the means of each step, those up to it, by the logarithms of what their weights sum to."""
    rows, logs = (from_steps(each, 0, steps).transpose(1, 2) for each in (means, masses))
    allowed = causal_mask(steps, steps, means.device)
    if seen is not None:
        allowed = allowed & from_steps(seen, 0, steps).transpose(1, 2)[..., None, :]
    weights = masked_softmax(logs[..., None, :].expand(*logs.shape, steps), allowed)
    return (weights @ rows).transpose(1, 2).flatten(0, 1)


def _lines(x: Tensor, mode: int) -> Tensor:
    """All tokens at each position of one mode, `(batch, size, others, dim)`."""
    return x.movedim(mode + 1, 1).unsqueeze(2).flatten(2, -2)


def mean_of_sums(
    sums: Float[Tensor, "batch size dim"], count: Float[Tensor, "batch size 1"] | float
) -> tuple[Float[Tensor, "batch size dim"], Float[Tensor, "batch size 1"] | float]:
    """Means over what was summed, zero where that was nothing, and how often each counts now: once or never."""
    if not isinstance(count, Tensor) or not count.ndim:  # torch.jit.trace makes a tensor of every size
        return sums / count, 1.0
    return sums / count.clamp_min(1), (count > 0).to(sums.dtype)


def centre_positions(
    tokens: Float[Tensor, "batch size dim"], count: Float[Tensor, "batch size 1"] | float
) -> Float[Tensor, "batch size dim"]:
    """Subtract the mean over the positions that have any token; the others stay zero."""
    if not isinstance(count, Tensor) or not count.ndim:
        return tokens - tokens.sum(-2, keepdim=True) / tokens.shape[-2]
    seen = (count > 0).to(tokens.dtype)
    total = seen.sum(-2, keepdim=True).clamp_min(1)
    return (tokens - (tokens * seen).sum(-2, keepdim=True) / total) * seen


def project_pooled(
    tokens: Float[Tensor, "batch size dim"],
    count: Float[Tensor, "batch size 1"] | float,
    weight: Float[Tensor, "out dim"],
    bias: Float[Tensor, " out"] | None,
) -> Float[Tensor, "batch size out"]:
    """Project pooled tokens as if each had been projected before: a bias counts as often as tokens were pooled."""
    out = F.linear(tokens, weight.to(tokens.dtype))
    return out if bias is None else out + count * bias.to(tokens.dtype)


def blank(x: Tensor, valid: Bool[Tensor, "batch *sizes"] | None) -> Tensor:
    """Zeros where nothing is valid, whatever stands there."""
    return x if valid is None else torch.where(valid[..., None], x, 0)


def causal_mask(rows: int, columns: int, device: torch.device | str | None = None) -> Bool[Tensor, "1 1 rows columns"]:
    """Let a position see itself and what comes before."""
    return torch.ones(rows, columns, dtype=torch.bool, device=device).tril()[None, None]


def valid_keys(
    valid: Bool[Tensor, "batch *sizes"], mode: int, steps: int | None = None
) -> Bool[Tensor, "batch 1 1 size"]:
    """Hide positions of one mode that hold no real token, or have held none up to each step."""
    others = [axis for axis in range(1, valid.ndim) if axis != mode + 1]
    seen = valid.any(others) if others else valid
    if steps is not None:
        seen = (from_steps(seen, 0, steps).cumsum(1) > 0).flatten(0, 1)
    return seen[:, None, None, :]


def all_of(masks: list[Tensor]) -> Tensor | None:
    """What every mask allows; None if there is none."""
    return functools.reduce(torch.logical_and, masks) if masks else None
