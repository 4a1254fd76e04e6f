"""Kronecker products and their sums, formed and applied by a plan or a cut of `plans`.

A sum of Kronecker products of two factors, applied from both sides as Σ_r A_r X B_rᵀ, is what factorised maps come down
to: NdLinear of R terms split between two modes, and a tensor train cut at a bond of rank R.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from multiway.errors import ShapeError
from multiway.ops.plans import Cut, Step


def kronecker_product(factors: Sequence[Tensor]) -> Float[Tensor, "rows columns"]:
    """Form A₁ ⊗ A₂ ⊗ ⋯ ⊗ Aₖ, row-major: the last factor's index runs fastest.

    Raises:
        ShapeError: No factor, or one that is no matrix.
    """
    if not factors or any(factor.ndim != 2 for factor in factors):
        raise ShapeError(
            f"kronecker_product: give one matrix or more. Got shapes {[tuple(factor.shape) for factor in factors]}."
        )
    product = factors[0]
    for factor in factors[1:]:
        product = torch.kron(product, factor)
    return product


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


def is_in_turn(plan: Sequence[Step], descending: bool) -> bool:
    """Whether the steps take the modes in the order in which biases are added."""
    starts = [step.start for step in plan]
    return starts == sorted(starts, reverse=descending)


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


def run_plan(
    way: Cut | Sequence[Step],
    x: Tensor,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    full_bias: Tensor | None,
    descending: bool,
) -> Tensor:
    """By a cut for several terms, by a plan for one."""
    if isinstance(way, Cut):
        bias = fold_biases(weights, biases, descending=descending) if biases else full_bias
        return multi_mode_linear_terms(x, weights, bias, way)
    return multi_mode_linear(x, weights, biases, way, full_bias=full_bias, descending=descending)


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


def tensor_train_product(
    x: Float[Tensor, "batch in"], cores: Sequence[Tensor], bias: Tensor | None, cut: Cut
) -> Float[Tensor, "batch out"]:
    """X Wᵀ + bias for the W of a tensor train, in two halves: `tt_linear` in few products.

    The cores before `cut` are contracted into A (i₁, j₁, r), the others into B (r, i₂, j₂): small, and independent of
    the batch. Then W = Σ_r A_r ⊗ B_r, which `kronecker_sum_apply` applies without moving an axis of X, or forms where
    the dense product is cheaper. Core by core, every step would pass over the whole batch.

    Args:
        x: Rows, features flattened row-major over the cores' sizes.
        cores: `(rank, in, out, next_rank)`.
        bias: `(out,)`.
        cut: From `cheapest_cut`; position 0 for a single core, which is a matrix.
    """
    right = merge_cores(cores[cut.position :])[..., 0].transpose(1, 2)  # (r, out, in)
    left = merge_cores(cores[: cut.position])[0].permute(2, 1, 0) if cut.position else right.new_ones(1, 1, 1)
    folded = None if bias is None else bias.view(left.shape[1], right.shape[1])
    return kronecker_sum_apply(x.view(-1, left.shape[2], right.shape[2]), left, right, folded, way=cut.way).flatten(1)


def merge_cores(cores: Sequence[Tensor]) -> Float[Tensor, "rank in out next_rank"]:
    """Contract neighbouring cores into one core over the products of their sizes."""
    merged = cores[0]
    for core in cores[1:]:
        rank, in_, out, _ = merged.shape
        _, next_in, next_out, last = core.shape
        flat = merged.reshape(-1, merged.shape[3]) @ core.reshape(core.shape[0], -1)
        apart = flat.reshape(rank, in_, out, next_in, next_out, last).permute(0, 1, 3, 2, 4, 5)
        merged = apart.reshape(rank, in_ * next_in, out * next_out, last)
    return merged


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
    (terms, out1, in1), (_, out2, in2) = left.shape, right.shape
    if way == "dense":
        flat = F.linear(x.flatten(1), kronecker_sum_matrix(left, right), None if bias is None else bias.flatten())
        return flat.view(x.shape[0], out1, out2)
    if way == "right":
        # (batch, in1, terms · out2), seen as (batch, in1 · terms, out2): one matrix for all terms
        mixed = F.linear(x, right.flatten(0, 1)).view(x.shape[0], in1 * terms, out2)
        return stack_product(left.permute(1, 2, 0).reshape(out1, in1 * terms), mixed, bias)
    mixed = stack_product(left.transpose(0, 1).reshape(out1 * terms, in1), x, None)
    out = F.linear(mixed.view(x.shape[0], out1, terms * in2), right.transpose(0, 1).reshape(out2, terms * in2))
    return out if bias is None else out + bias.to(out.dtype)


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
    matrices = matrix.expand(stack.shape[0], -1, -1)
    return torch.bmm(matrices, stack) if bias is None else torch.baddbmm(bias, matrices, stack)
