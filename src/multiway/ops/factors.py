"""Factors of Kronecker attention, one per mode, and their application to the values (HOT eqs. 8, 9 and 12)."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from multiway.errors import ShapeError
from multiway.kernels.gate import in_graph

Factor = Tensor | tuple[Tensor, Tensor] | None
"""Attention of one mode: a row-stochastic matrix, a pair (A, B) of normalised features, or None for identity."""

MAX_MERGED = 64
"""Neighbouring modes up to this size together are attended by one matrix."""


def apply_factors(
    value: Float[Tensor, "batch *sizes dim"],
    factors: Sequence[Factor],
    num_heads: int,
    combine: str = "product",
) -> Float[Tensor, "batch *out_sizes dim"]:
    """Multiply every mode of the values by its factor, head by head, never forming their Kronecker product.

    product: V ×₁ S₁ ×₂ S₂ ⋯ (HOT eq. 9). sum: V ×₁ S₁ + V ×₂ S₂ + ⋯ over the modes with a factor.
    The values are laid out once as (batch, heads, N₁, …, head_dim, N_last), in which the first mode and the
    last, usually the long ones, are each a single batched GEMM on a view.

    Args:
        value: Values of all heads, concatenated.
        factors: One per mode, in order.
        num_heads: Divides `dim`.
        combine: "product" or "sum".

    Raises:
        ShapeError: Sizes of factors and values differ, or a sum over modes would change their sizes.
    """
    sizes: Sequence[int] = value.shape[1:-1]
    _check_sizes(sizes, factors, combine)
    out_sizes = [size if factor is None else _shape(factor)[0] for size, factor in zip(sizes, factors, strict=True)]
    if all(factor is None for factor in factors):
        return value
    if combine == "product":
        sizes, factors = merge_small(sizes, factors)
    laid = _to_heads(value.reshape(value.shape[0], *sizes, value.shape[-1]), num_heads)
    if combine == "product":
        for mode in _cheapest_order(sizes, factors):
            laid = _apply(laid, factors[mode], mode)
    else:
        parts = [_apply(laid, factor, mode) for mode, factor in enumerate(factors) if factor is not None]
        laid = torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]
    return _from_heads(laid).reshape(value.shape[0], *out_sizes, value.shape[-1])


def merge_small(sizes: Sequence[int], factors: Sequence[Factor]) -> tuple[list[int], list[Factor]]:
    """Join small square factors of neighbouring modes into their Kronecker product, the first mode never.

    Products of 7 x 7 matrices run at a tenth of the speed of 49 x 49 ones, so seven times the operations pay.
    """
    sizes, factors = list(sizes), list(factors)
    for mode in reversed(range(1, len(sizes) - 1)):
        pair, joined = factors[mode : mode + 2], sizes[mode] * sizes[mode + 1]
        if joined <= MAX_MERGED and all(map(_is_square, pair, sizes[mode : mode + 2])):
            sizes[mode : mode + 2], factors[mode : mode + 2] = [joined], [_kronecker(*pair)]  # type: ignore[arg-type]
    return sizes, factors


def _is_square(factor: Factor, size: int) -> bool:
    return isinstance(factor, Tensor) and factor.shape[-2:] == (size, size)


def _kronecker(left: Tensor, right: Tensor) -> Tensor:
    joined = left[..., :, None, :, None] * right[..., None, :, None, :]
    return joined.flatten(-4, -3).flatten(-2)


def _to_heads(value: Tensor, num_heads: int) -> Tensor:
    split = value.unflatten(-1, (num_heads, -1))  # (batch, *sizes, heads, head_dim)
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
    each = factor.reshape(groups, 1, *factor.shape[2:]).expand(-1, before, -1, -1)
    out = torch.bmm(each.reshape(groups * before, *factor.shape[2:]), rows)
    return out.reshape(*laid.shape[: mode + 2], factor.shape[-2], *after)


def _shape(factor: Tensor | tuple[Tensor, Tensor]) -> tuple[int, int]:
    """Rows and columns of a factor: queries and keys."""
    if isinstance(factor, tuple):
        return factor[0].shape[-2], factor[1].shape[-2]
    return factor.shape[-2], factor.shape[-1]


def _cheapest_order(sizes: Sequence[int], factors: Sequence[Factor]) -> list[int]:
    """Last mode first while it is in place, unless cross-attention changes sizes: then the one that shrinks most."""
    given = [(mode, factor) for mode, factor in enumerate(factors) if factor is not None]
    if in_graph():  # sizes may be symbols, which cannot be ordered
        return [mode for mode, _ in reversed(given)]

    def growth(item: tuple[int, Factor]) -> tuple[float, int]:
        rows, columns = _shape(item[1])  # type: ignore[arg-type]  # None was filtered above
        return 1 / max(columns, 1) - 1 / max(rows, 1), -item[0]

    return [mode for mode, _ in sorted(given, key=growth)]


def _check_sizes(sizes: Sequence[int], factors: Sequence[Factor], combine: str) -> None:
    if len(factors) != len(sizes):
        raise ShapeError(
            f"attention: give one factor or None per mode. Got {len(factors)} for values with sizes {tuple(sizes)}."
        )
    for mode, (size, factor) in enumerate(zip(sizes, factors, strict=True)):
        if factor is not None and _shape(factor)[1] != size:
            raise ShapeError(
                f"attention: mode {mode} of the values has size {size} but its factor has {_shape(factor)[1]} keys."
            )
    attended = [factor for factor in factors if factor is not None]
    if combine == "sum" and len(attended) > 1 and any(_shape(factor)[0] != _shape(factor)[1] for factor in attended):
        raise ShapeError(
            "attention: a sum over modes needs as many queries as keys on every attended mode; "
            f"got {[_shape(factor) for factor in attended]}. Use combine='product'."
        )
