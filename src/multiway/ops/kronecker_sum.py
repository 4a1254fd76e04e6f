"""A matrix that is a sum of Kronecker products of two factors, applied from both sides: Σ_r A_r X B_rᵀ.

Everything factorised comes down to this: NdLinear of rank R split between two modes, and a tensor train cut at a
bond of rank R.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.errors import ShapeError
from multiway.ops.costs import ROWS, forming_cost, product_cost


class Cut(NamedTuple):
    """Where a list of modes or cores is cut in two, and the way to apply the halves."""

    position: int
    way: str


def kronecker_sum_apply(
    x: Float[Tensor, "batch left_in right_in"],
    left: Float[Tensor, "terms left_out _"],
    right: Float[Tensor, "_ right_out _"],
    bias: Float[Tensor, "left_out right_out"] | None = None,
    *,
    way: str = "right",
) -> Float[Tensor, "batch left_out right_out"]:
    """Σ_r A_r X B_rᵀ + bias in one of three ways, none of which moves the input's axes.

    Args:
        x: Rows, their features seen as a matrix.
        left: Factors A_r.
        right: Factors B_r.
        bias: Added to every row.
        way: "right" factors first, "left" factors first, or "dense", which forms the sum; see `cheapest_cut`.

    Cost per sample, multiply-adds: R i₁ o₂ (i₂ + o₁), R i₂ o₁ (i₁ + o₂), or i₁ i₂ o₁ o₂.

    Raises:
        ShapeError: The factors do not fit each other or the input.
    """
    if len(left) != len(right) or x.shape[1:] != (left.shape[2], right.shape[2]):
        raise ShapeError(
            f"kronecker_sum_apply: x {tuple(x.shape)}, batch first, needs left factors (terms, out, {x.shape[1]}) "
            f"and as many right ones (terms, out, {x.shape[2]}). Got {tuple(left.shape)} and {tuple(right.shape)}."
        )
    return _WAYS[way](x, left, right, bias)


@functools.lru_cache(maxsize=4096)
def cheapest_cut(
    in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], terms: tuple[int, ...], rows: int = ROWS
) -> Cut:
    """Cut and way that take the least time, forward and backward, by a model of the machine.

    Args:
        in_sizes: Factors of the number of inputs.
        out_sizes: Factors of the number of outputs.
        terms: Terms of a cut before each mode; for a tensor train its ranks.
        rows: Size of the batch, roughly.

    Returns:
        The cut; for a single mode position 0, the left half empty.
    """
    return priced_cut(in_sizes, out_sizes, terms, rows)[1]


@functools.lru_cache(maxsize=4096)
def priced_cut(
    in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], terms: tuple[int, ...], rows: int
) -> tuple[float, Cut]:
    """`cheapest_cut` with its cost; infinite for a single mode, which leaves no choice."""
    best, found = math.inf, Cut(0, "right")
    for position in range(1, len(in_sizes)):
        left = (terms[position], math.prod(out_sizes[:position]), math.prod(in_sizes[:position]))
        right = (terms[position], math.prod(out_sizes[position:]), math.prod(in_sizes[position:]))
        forming = forming_cost(math.prod(left)) + forming_cost(math.prod(right))
        for way, cost in _way_costs(left, right, rows).items():
            if cost + forming < best:
                best, found = cost + forming, Cut(position, way)
    return best, found


def _way_costs(left: Sequence[int], right: Sequence[int], rows: int) -> dict[str, float]:
    terms, out1, in1 = left
    _, out2, in2 = right
    return {
        "right": product_cost(rows * in1, terms * out2, in2) + product_cost(out1, out2, in1 * terms, stack=rows),
        "left": product_cost(out1 * terms, in2, in1, stack=rows) + product_cost(rows * out1, out2, terms * in2),
        "dense": product_cost(rows, out1 * out2, in1 * in2) + forming_cost(out1 * out2 * in1 * in2),
    }


def _right_first(x: Tensor, left: Tensor, right: Tensor, bias: Tensor | None) -> Tensor:
    terms, out1, in1 = left.shape
    out2 = right.shape[1]
    # (batch, in1, terms · out2), seen as (batch, in1 · terms, out2): one matrix for all terms
    mixed = F.linear(x, right.flatten(0, 1)).view(x.shape[0], in1 * terms, out2)
    return stack_product(left.permute(1, 2, 0).reshape(out1, in1 * terms), mixed, bias)


def _left_first(x: Tensor, left: Tensor, right: Tensor, bias: Tensor | None) -> Tensor:
    terms, out1, in1 = left.shape
    out2, in2 = right.shape[1:]
    mixed = stack_product(left.transpose(0, 1).reshape(out1 * terms, in1), x, None)
    out = F.linear(mixed.view(x.shape[0], out1, terms * in2), right.transpose(0, 1).reshape(out2, terms * in2))
    return out if bias is None else out + bias.to(out.dtype)


def _dense(x: Tensor, left: Tensor, right: Tensor, bias: Tensor | None) -> Tensor:
    out1, out2 = left.shape[1], right.shape[1]
    flat = F.linear(x.flatten(1), kronecker_sum_matrix(left, right), None if bias is None else bias.flatten())
    return flat.view(x.shape[0], out1, out2)


def kronecker_sum_matrix(
    left: Float[Tensor, "terms left_out left_in"], right: Float[Tensor, "terms right_out right_in"]
) -> Float[Tensor, "out in"]:
    """Form Σ_r A_r ⊗ B_r: one product, and one copy to bring the sizes into place."""
    out1, in1 = left.shape[1:]
    out2, in2 = right.shape[1:]
    pairs = left.flatten(1).mT @ right.flatten(1)
    return pairs.view(out1, in1, out2, in2).transpose(1, 2).reshape(out1 * out2, in1 * in2)


def stack_product(
    matrix: Float[Tensor, "out in"], stack: Float[Tensor, "batch in columns"], bias: Tensor | None
) -> Float[Tensor, "batch out columns"]:
    """One matrix times every member of a stack. bmm, not matmul: that one transposes the stack for the gradient."""
    each = matrix.expand(stack.shape[0], -1, -1)
    return torch.bmm(each, stack) if bias is None else torch.baddbmm(bias, each, stack)


_WAYS = {"right": _right_first, "left": _left_first, "dense": _dense}
