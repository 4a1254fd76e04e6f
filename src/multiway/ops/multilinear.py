"""Mode products and matricization (Kolda & Bader 2009), and NdLinear, a linear map per mode; one batch axis first."""

import math
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from multiway.errors import ShapeError
from multiway.ops.dispatch import fast_nd_linear, faster


def unfold(x: Float[Tensor, "batch *sizes"], mode: int) -> Float[Tensor, "batch size rest"]:
    """Matricize: bring one mode first and merge the others, row-major.

    X_(n) of Kolda & Bader, sec. 2.4, except that the columns run in torch's order: the last mode fastest.

    Raises:
        ShapeError: `mode` is out of range.
    """
    moved = x.movedim(_axis(x, mode, "unfold"), 1)
    return moved.reshape(*moved.shape[:2], math.prod(moved.shape[2:]))  # an empty product is 1: one mode, one column


def fold(matrix: Float[Tensor, "batch size rest"], mode: int, sizes: Sequence[int]) -> Float[Tensor, "batch *sizes"]:
    """Undo `unfold`: `sizes` are those of the whole tensor, batch excluded.

    Raises:
        ShapeError: `sizes` do not belong to the matrix.
    """
    if not 0 <= mode < len(sizes):
        raise ShapeError(f"fold: mode {mode} is not one of the {len(sizes)} modes of sizes {tuple(sizes)}.")
    rest = [size for other, size in enumerate(sizes) if other != mode]
    if tuple(matrix.shape[1:]) != (sizes[mode], math.prod(rest)):
        raise ShapeError(
            f"fold: sizes {tuple(sizes)} with mode {mode} first need a matrix "
            f"{(sizes[mode], math.prod(rest))} per sample. Got {tuple(matrix.shape)}, batch first."
        )
    return matrix.reshape(matrix.shape[0], sizes[mode], *rest).movedim(1, mode + 1)


def mode_product(
    x: Float[Tensor, "batch *in_sizes"], matrix: Float[Tensor, "out in"], mode: int
) -> Float[Tensor, "batch *out_sizes"]:
    """Multiply one mode of `x` by `matrix`, leaving every other axis in place.

    Written X ×ₙ A by Kolda & Bader, sec. 2.5 (HOT, definition 5). One batched GEMM on a view; where the axes after
    the mode are short, one GEMM on the transpose instead, as the gradient of the matrix would be a sum over large
    stacks. Cost: `x.numel() * out` multiply-adds.

    Raises:
        ShapeError: `mode` is out of range, `matrix` is no matrix, or the mode's size is not `in`.
    """
    axis = _axis(x, mode, "mode_product")
    if matrix.ndim != 2:
        raise ShapeError(f"mode_product: matrix must have two axes, (out, in). Got {tuple(matrix.shape)}.")
    if x.shape[axis] != matrix.shape[1]:
        raise ShapeError(
            f"mode_product: mode {mode} of x has size {x.shape[axis]} but matrix has {matrix.shape[1]} columns. "
            f"Got x {tuple(x.shape)}, batch first, and matrix {tuple(matrix.shape)}; matrices are stored (out, in)."
        )
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    if not after or math.prod(after) < min(matrix.shape):
        return torch.nn.functional.linear(x.movedim(axis, -1), matrix).movedim(-1, axis)
    stack = x.reshape(math.prod(before), x.shape[axis], math.prod(after))
    # bmm, not matmul: that one transposes the stack whenever the matrix needs a gradient
    return torch.bmm(matrix.expand(len(stack), -1, -1), stack).reshape(*before, matrix.shape[0], *after)


def multi_mode_product(
    x: Float[Tensor, "batch *in_sizes"], matrices: Sequence[Tensor | None]
) -> Float[Tensor, "batch *out_sizes"]:
    """Multiply every mode by its matrix: X ×₁ A₁ ×₂ A₂ ⋯; None leaves a mode as it is.

    The products commute, so they run in the order that costs least: ascending 1/in - 1/out.

    Raises:
        ShapeError: Not one entry per mode, or a matrix does not fit its mode.
    """
    if len(matrices) != x.ndim - 1:
        raise ShapeError(
            f"multi_mode_product: give one matrix or None per mode. Got {len(matrices)} for x {tuple(x.shape)}, "
            f"which has {x.ndim - 1} modes after the batch."
        )
    given = [(mode, matrix) for mode, matrix in enumerate(matrices) if matrix is not None]
    for mode, matrix in sorted(given, key=_order):
        x = mode_product(x, matrix, mode)
    return x


@faster(fast_nd_linear)
def nd_linear(
    x: Float[Tensor, "batch *in_sizes"],
    weights: Iterable[Tensor],
    biases: Iterable[Tensor] = (),
    *,
    full_bias: Tensor | None = None,
    descending: bool = False,
) -> Float[Tensor, "batch *out_sizes"]:
    """Y = X ×₁ W₁ + b₁ ×₂ W₂ + b₂ ⋯: a linear map per mode, applied in turn (NdLinear, Algorithm 1).

    Args:
        x: Input.
        weights: One `(out, in)` per mode; or `(terms, out, in)`, whose maps are added up.
        biases: One `(out,)` per mode, or `(terms, out)`; or none.
        full_bias: Added at the end, of the output's sizes.
        descending: Take the last mode first, which only the biases notice.

    Raises:
        ShapeError: Sizes of the input, the weights and the biases do not fit mode by mode.
    """
    weights, biases = list(weights), list(biases)
    if weights[0].ndim == 2:
        y = _in_turn(x, weights, biases, descending)
    else:
        y = torch.zeros((), dtype=x.dtype, device=x.device)
        for term in range(len(weights[0])):
            y = y + _in_turn(x, [weight[term] for weight in weights], [bias[term] for bias in biases], descending)
    return y if full_bias is None else y + full_bias.to(y.dtype)


def low_rank_linear(
    x: Float[Tensor, "batch in"],
    down: Float[Tensor, "rank in"],
    up: Float[Tensor, "out rank"],
    bias: Float[Tensor, " out"] | None = None,
) -> Float[Tensor, "batch out"]:
    """Y = (X Vᵀ) Uᵀ + b: a dense map through a bottleneck."""
    return torch.nn.functional.linear(torch.nn.functional.linear(x, down), up, bias)


def _in_turn(x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor], descending: bool) -> Tensor:
    modes = range(len(weights))
    for mode in reversed(modes) if descending else modes:
        x = mode_product(x, weights[mode], mode)
        if biases:
            x = x + biases[mode].to(x.dtype).view(-1, *[1] * (x.ndim - mode - 2))
    return x


def _order(item: tuple[int, Tensor]) -> float:
    """Sizes a, b to α, β: a first costs αab + αβb, b first βab + αβa; divide by abαβ and compare."""
    out, in_ = item[1].shape
    return 1 / max(in_, 1) - 1 / max(out, 1)


def _axis(x: Tensor, mode: int, where: str) -> int:
    if not 0 <= mode < x.ndim - 1:
        raise ShapeError(
            f"{where}: mode {mode} is not one of the {x.ndim - 1} modes of x {tuple(x.shape)}; "
            f"modes count from 0 and skip the batch, axis 0."
        )
    return mode + 1


def norm_penalty(weights: Iterable[Tensor], factors: Sequence[float]) -> Tensor:
    """Σᵢ λᵢ ‖Wᵢ‖², squared Frobenius norms; a stack of terms `(rank, out, in)` adds up.

    Args:
        weights: One of each mode, `(out, in)` or `(rank, out, in)`.
        factors: λᵢ of each mode.
    """
    terms = [factor * weight.square().sum() for weight, factor in zip(weights, factors, strict=True)]
    return torch.stack(terms).sum()


def orthogonality_penalty(weights: Iterable[Tensor], factors: Sequence[float]) -> Tensor:
    """Σᵢ λᵢ ‖Wᵢ Wᵢᵀ - I‖², of each term where there are several.

    A matrix with more rows than columns has no orthonormal rows; its penalty is least, out - in, where its columns are
    orthonormal. Computed on the shorter side: ‖W Wᵀ - I‖² = ‖Wᵀ W - I‖² + out - in.

    Args:
        weights: One of each mode, `(out, in)` or `(rank, out, in)`.
        factors: λᵢ of each mode.
    """
    terms = []
    for weight, factor in zip(weights, factors, strict=True):
        longer = max(weight.shape[-2] - weight.shape[-1], 0)
        short = weight.mT if longer else weight
        identity = torch.eye(short.shape[-2], dtype=weight.dtype, device=weight.device)
        distance = (short @ short.mT - identity).square().sum() + longer * weight.shape[:-2].numel()
        terms.append(factor * distance)
    return torch.stack(terms).sum()
