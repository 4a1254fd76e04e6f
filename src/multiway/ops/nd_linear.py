"""NdLinear: a linear map per mode, in any order of products, and sums of several such maps."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.ops.kronecker import kronecker_product
from multiway.ops.kronecker_sum import Cut, kronecker_sum_apply, stack_product
from multiway.ops.plans import Step, is_in_turn


def multi_mode_linear(
    x: Float[Tensor, "batch *in_sizes"],
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    plan: Sequence[Step],
    *,
    full_bias: Tensor | None = None,
    descending: bool = False,
) -> Float[Tensor, "batch *out_sizes"]:
    """X ×₁ W₁ + b₁ ×₂ W₂ + b₂ ⋯ by the steps of a plan (NdLinear, Algorithm 1).

    Every plan gives the same result to rounding: where its order is not the one in which biases are added, they are
    folded into one first.

    Args:
        x: Input.
        weights: One `(out, in)` per mode.
        biases: One `(out,)` per mode, or none.
        plan: From `cheapest_plan`.
        full_bias: Added at the end, of the output's sizes; in place of biases per mode.
        descending: Biases belong to the products taken from the last mode to the first.
    """
    if biases and not is_in_turn(plan, descending):
        full_bias, biases = fold_biases(weights, biases, descending=descending), ()
    batch = x.shape[0]
    out_sizes = [weight.shape[0] for weight in weights]
    for step in plan[:-1]:
        x = _product(x, batch, step, _matrix(weights, step), _bias(weights, biases, step, descending))
    step, matrix = plan[-1], _matrix(weights, plan[-1])
    if full_bias is None:
        return _product(x, batch, step, matrix, _bias(weights, biases, step, descending)).view(batch, *out_sizes)
    if step.before == 1:
        return _product(x, batch, step, matrix, full_bias.reshape(step.columns, step.after)).view(batch, *out_sizes)
    out = _product(x, batch, step, matrix, None).view(batch, *out_sizes)
    return out + full_bias.to(out.dtype)


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
    right = join_terms(weights[cut.position :])
    left = join_terms(weights[: cut.position]) if cut.position else right.new_ones(len(right), 1, 1)
    flat = None if bias is None else bias.reshape(left.shape[1], right.shape[1])
    out = kronecker_sum_apply(x.reshape(-1, left.shape[2], right.shape[2]), left, right, flat, way=cut.way)
    return out.view(x.shape[0], *(weight.shape[1] for weight in weights))


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


def _matrix(weights: Sequence[Tensor], step: Step) -> Tensor:
    """Matrix of one step, `(columns, inner)`."""
    if step.is_single:
        return weights[step.start]
    matrix = kronecker_product(weights[step.start : step.stop])
    rest = step.columns // matrix.shape[0]
    return matrix if rest == 1 else torch.kron(matrix, torch.eye(rest, dtype=matrix.dtype, device=matrix.device))


def _bias(weights: Sequence[Tensor], biases: Sequence[Tensor], step: Step, descending: bool) -> Tensor | None:
    """Bias of one step's modes, `(columns,)`: the same along every mode that the step leaves as it is."""
    if not biases:
        return None
    if step.is_single:
        return biases[step.start]
    modes = slice(step.start, step.stop)
    bias = fold_biases(weights[modes], biases[modes], descending=descending).flatten()
    return bias.repeat_interleave(step.columns // bias.shape[0]) if step.end > step.stop else bias


def _product(x: Tensor, batch: int, step: Step, matrix: Tensor, bias: Tensor | None) -> Tensor:
    """One step, its bias `(columns,)` or `(columns, after)`; a product with nothing after it is a plain linear map."""
    rows = batch * step.before
    if step.after == 1:
        return F.linear(x.reshape(rows, step.inner), matrix, bias if bias is None or bias.ndim == 1 else bias.flatten())
    spread = bias if bias is None or bias.ndim == 2 else bias.unsqueeze(-1)
    return stack_product(matrix, x.reshape(rows, step.inner, step.after), spread)
