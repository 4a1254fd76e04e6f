"""NdLinear: a linear map per mode, the biases folded into one, in the cheapest order of products."""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.ops.kronecker import kronecker_product
from multiway.ops.kronecker_sum import ROWS, Cut, forming_cost, kronecker_sum_apply, product_cost, stack_product

LONGEST_REST = 8
"""A product over a rest up to this long is widened by the identity into one large product."""


class Step(NamedTuple):
    """One product of a plan: modes `start` to `stop` at once, seen as one axis that runs to `end`.

    `end` beyond `stop` takes the following modes in as they are (their factor is the identity), so that a product
    over a short rest becomes one large product.
    """

    start: int
    stop: int
    end: int


def multi_mode_linear(
    x: Float[Tensor, "batch *in_sizes"],
    weights: Sequence[Tensor],
    bias: Tensor | None,
    plan: Sequence[Step],
) -> Float[Tensor, "batch *out_sizes"]:
    """X ×₁ W₁ ×₂ W₂ ⋯ + bias, by the steps of a plan (NdLinear, Algorithm 1, with biases folded).

    Args:
        x: Input.
        weights: One `(out, in)` per mode.
        bias: Of the output's sizes, as `fold_biases` makes it.
        plan: From `cheapest_plan`; every plan gives the same result to rounding.
    """
    batch, sizes = len(x), list(x.shape[1:])
    for step in plan[:-1]:
        x = _apply(x.reshape(batch, *sizes), sizes, weights, step, None)
    return _apply(x.reshape(batch, *sizes), sizes, weights, plan[-1], bias).view(batch, *sizes)


def multi_mode_linear_terms(
    x: Float[Tensor, "batch *in_sizes"],
    weights: Sequence[Tensor],
    bias: Tensor | None,
    cut: Cut,
) -> Float[Tensor, "batch *out_sizes"]:
    """Σ_r X ×₁ W₁ʳ ×₂ W₂ʳ ⋯ + bias: modes before the cut joined into one factor per term, the others into another.

    Args:
        x: Input.
        weights: One `(terms, out, in)` per mode.
        bias: Of the output's sizes.
        cut: From `cheapest_cut`.
    """
    left, right = join_terms(weights[: cut.position]), join_terms(weights[cut.position :])
    flat = None if bias is None else bias.reshape(left.shape[1], right.shape[1])
    out = kronecker_sum_apply(x.reshape(-1, left.shape[2], right.shape[2]), left, right, flat, way=cut.way)
    return out.view(len(x), *(weight.shape[1] for weight in weights))


def join_terms(weights: Sequence[Tensor]) -> Float[Tensor, "terms out in"]:
    """Kronecker product of the modes' weights, term by term."""
    joined = weights[0]
    for weight in weights[1:]:
        pairs = joined[:, :, None, :, None] * weight[:, None, :, None, :]
        joined = pairs.flatten(3, 4).flatten(1, 2)
    return joined


def fold_biases(
    weights: Sequence[Tensor], biases: Sequence[Tensor], *, descending: bool = False
) -> Float[Tensor, "*out_sizes"]:
    """The sum of all that the biases of single modes come to at the output.

    A bias goes through the products after it, where a mode's matrix acts on a constant by its row sums:
    T ← T ⊗ (W 1) + b, mode after mode. Exact, so products may then run in any order.

    Args:
        weights: `(out, in)` per mode, or `(terms, out, in)`; terms are added up.
        biases: `(out,)` per mode, or `(terms, out)`.
        descending: The last mode first.
    """
    order = list(range(len(weights)))[:: -1 if descending else 1]
    folded = biases[order[0]]
    for mode in order[1:]:
        sums, bias = weights[mode].sum(-1), biases[mode]
        if descending:
            inner = folded.ndim - bias.ndim + 1
            tail = bias.shape + (1,) * inner
            folded = torch.addcmul(bias.view(tail), folded.unsqueeze(bias.ndim - 1), sums.view(tail))
        else:
            head = bias.shape[:-1] + (1,) * (folded.ndim - bias.ndim + 1) + bias.shape[-1:]
            folded = torch.addcmul(bias.view(head), folded.unsqueeze(-1), sums.view(head))
    return folded.sum(0) if weights[0].ndim == 3 else folded


@functools.lru_cache(maxsize=1024)
def cheapest_plan(in_sizes: tuple[int, ...], out_sizes: tuple[int, ...]) -> tuple[Step, ...]:
    """Order and grouping of the products that takes the least time, forward and backward, by a model of the machine.

    Every way to join neighbouring modes and to order the joined products is priced; there are a few hundred for
    five modes.
    """
    return min(_plans(in_sizes, out_sizes, frozenset()), key=lambda priced: priced[0])[1]


_Priced = tuple[float, tuple[Step, ...]]


def _plans(sizes: tuple[int, ...], out_sizes: tuple[int, ...], done: frozenset[int]) -> list[_Priced]:
    if len(done) == len(sizes):
        return [(0.0, ())]
    found = []
    for step in _steps(sizes, done):
        modes = range(step.start, step.stop)
        after = tuple(out_sizes[mode] if mode in modes else size for mode, size in enumerate(sizes))
        cost, rest = min(_plans(after, out_sizes, done | set(modes)), key=lambda priced: priced[0])
        found.append((cost + _step_cost(sizes, out_sizes, step), (step, *rest)))
    return found


def _steps(sizes: tuple[int, ...], done: frozenset[int]) -> list[Step]:
    """Every next product: a run of modes still to do, and the rest taken in where it is short."""
    count, steps = len(sizes), []
    for start, stop in itertools.combinations(range(count + 1), 2):
        if not done.intersection(range(start, stop)):
            steps.append(Step(start, stop, stop))
            if stop < count and 1 < math.prod(sizes[stop:]) <= LONGEST_REST:
                steps.append(Step(start, stop, count))
    return steps


def _step_cost(sizes: tuple[int, ...], out_sizes: tuple[int, ...], step: Step) -> float:
    before, rest = math.prod(sizes[: step.start]), math.prod(sizes[step.stop : step.end])
    columns, inner = (math.prod(part[step.start : step.stop]) * rest for part in (out_sizes, sizes))
    after = math.prod(sizes[step.end :])
    forming = forming_cost(columns * inner) if step.end - step.start > 1 else 0.0
    if after == 1:
        return forming + product_cost(ROWS * before, columns, inner)
    return forming + product_cost(columns, after, inner, stack=ROWS * before)


def _apply(x: Tensor, sizes: list[int], weights: Sequence[Tensor], step: Step, bias: Tensor | None) -> Tensor:
    """One step; `sizes` becomes those of the result."""
    matrix = kronecker_product(weights[step.start : step.stop])
    rest = math.prod(sizes[step.stop : step.end])
    if rest > 1:
        matrix = torch.kron(matrix, torch.eye(rest, dtype=matrix.dtype, device=matrix.device))
    before, after = math.prod(sizes[: step.start]), math.prod(sizes[step.end :])
    fused = bias if before == 1 else None
    if after == 1:
        rows = x.reshape(len(x), before, matrix.shape[1])
        out = F.linear(rows, matrix, None if fused is None else fused.flatten())
    else:
        stack = x.reshape(len(x) * before, matrix.shape[1], after)
        out = stack_product(matrix, stack, None if fused is None else fused.reshape(-1, after))
    sizes[step.start : step.stop] = [weight.shape[0] for weight in weights[step.start : step.stop]]
    if bias is None or before == 1:
        return out
    return out.view(len(x), *sizes) + bias
