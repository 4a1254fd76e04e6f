"""What Kronecker attention refuses, in words: each check names the rule, the values and the fix."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from multiway.errors import ConfigError, DtypeError, ShapeError, closest
from multiway.nn.precision import check_dtype


def choose(argument: str, name: str, known: Collection[str], layer: str = "KroneckerAttention") -> str:
    """Refuse a name that is not known."""
    if name not in known:
        raise ConfigError(f"{layer}: {argument}={name!r} is not one of {', '.join(known)}{closest(name, known)}")
    return name


def check_heads(dim: int, num_heads: int, num_modes: int, rotary: bool) -> None:
    """Refuse heads that do not divide the features, odd ones where pairs are turned, and no modes."""
    if num_modes < 1:
        raise ShapeError(f"KroneckerAttention: at least one mode is needed. Got num_modes={num_modes}.")
    if num_heads < 1 or dim % num_heads:
        raise ShapeError(f"KroneckerAttention: num_heads must divide dim. Got dim={dim}, num_heads={num_heads}.")
    if rotary and dim // num_heads % 2:
        raise ShapeError(
            f"KroneckerAttention: rotary modes need an even head size. Got dim={dim} / num_heads={num_heads} = "
            f"{dim // num_heads}."
        )


def check_modes(name: str, modes: Sequence[int], num_modes: int, layer: str = "KroneckerAttention") -> tuple[int, ...]:
    """Refuse modes that are none; each once, in order."""
    chosen = tuple(sorted(set(modes)))
    if any(not 0 <= mode < num_modes for mode in chosen):
        raise ShapeError(f"{layer}: {name}={tuple(modes)} must lie in 0..{num_modes - 1}; modes skip the batch axis.")
    return chosen


def check_pairs(layer: str, dim: int, num_heads: int, rotary_modes: Sequence[int]) -> None:
    """Refuse heads with an odd number of features, or fewer pairs of them than modes that turn."""
    head_dim, wanted = dim // num_heads, 2 * len(rotary_modes)
    if rotary_modes and (head_dim % 2 or head_dim < wanted):
        raise ShapeError(
            f"{layer}: {len(rotary_modes)} rotary modes need an even head size of at least {wanted}, a pair of "
            f"features each. Got dim={dim} / num_heads={num_heads} = {head_dim}."
        )


def refuse_leak(causal_modes: Sequence[int], attended_modes: Sequence[int]) -> None:
    """Refuse modes that attend beside a causal one: their queries and keys are pooled over its later positions."""
    for causal in causal_modes:
        others = [mode for mode in attended_modes if mode != causal]
        if others:
            raise ConfigError(
                f"KroneckerAttention: with causal_modes={causal_modes}, modes {others} may not attend: they "
                f"pool over later positions of mode {causal}. Attend only mode {causal}, or accept the leak with "
                f"pool_over_causal=True."
            )


def check_tokens(name: str, x: Tensor, valid: Tensor | None, num_modes: int, weight: Tensor) -> None:
    """Refuse tokens of another shape or type than the layer's weight takes, and a mask that is not theirs."""
    dim = weight.shape[1]
    if x.ndim != num_modes + 2 or x.shape[-1] != dim:
        raise ShapeError(
            f"KroneckerAttention: {name} needs a batch axis, {num_modes} modes and {dim} features, in "
            f"this order. Got {tuple(x.shape)}."
        )
    check_dtype("KroneckerAttention", name, x, weight)
    if valid is not None and valid.shape != x.shape[:-1]:
        raise ShapeError(
            f"KroneckerAttention: the mask of valid tokens of {name} is {tuple(valid.shape)} but the tokens are "
            f"{tuple(x.shape[:-1])}, batch first."
        )
    if valid is not None and valid.dtype != torch.bool:
        raise DtypeError(
            f"KroneckerAttention: the mask of valid tokens of {name} must be boolean, True for real tokens. Got "
            f"{valid.dtype}; convert it with .bool()."
        )


def check_sizes(x: Tensor, context: Tensor, attended_modes: Sequence[int]) -> None:
    """Refuse a context of another size along a mode that does not attend."""
    for mode in set(range(x.ndim - 2)) - set(attended_modes):
        if x.shape[mode + 1] != context.shape[mode + 1]:
            raise ShapeError(
                f"KroneckerAttention: mode {mode} does not attend, so x and context need the same size there. Got "
                f"{x.shape[mode + 1]} and {context.shape[mode + 1]}; add it to attended_modes."
            )


def check_masks(masks: Sequence[Tensor | None] | None, num_modes: int) -> Sequence[Tensor | None]:
    """Refuse masks that are not one per mode."""
    if masks is None:
        return [None] * num_modes
    if len(masks) != num_modes:
        raise ShapeError(
            f"KroneckerAttention: mode_masks needs one entry per mode, None for no mask. Got {len(masks)} for "
            f"{num_modes} modes."
        )
    return masks


def expand_mask(mask: Tensor, mode: int, batch: int, rows: int, columns: int) -> Tensor:
    """Bring a mask to `(batch or 1, 1, rows or 1, columns)`; `(q, k)` wins where `(batch, k)` has the same shape."""
    if mask.dtype == torch.bool:
        if mask.shape == (rows, columns):
            return mask[None, None]
        if mask.shape == (batch, columns):
            return mask[:, None, None, :]
        if mask.shape == (batch, rows, columns):
            return mask[:, None]
    raise ShapeError(
        f"KroneckerAttention: the mask of mode {mode} must be boolean and ({rows}, {columns}), ({batch}, {columns}) or "
        f"({batch}, {rows}, {columns}), batch first. Got {tuple(mask.shape)} of {mask.dtype}."
    )
