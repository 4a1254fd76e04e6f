"""Mode products and matricization (Kolda & Bader 2009), one batch axis first."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from multiway.errors import ShapeError


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
