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
    return x.movedim(_axis(x, mode, "unfold"), 1).flatten(2) if x.ndim > 2 else x[:, :, None]


def fold(
    matrix: Float[Tensor, "batch size rest"], mode: int, sizes: Sequence[int]
) -> Float[Tensor, "batch *sizes"]:
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

    Written X ×ₙ A by Kolda & Bader, sec. 2.5 (HOT, definition 5). One GEMM on a view when the mode is the
    last, otherwise a batched one; no transpose is made. Cost: `x.numel() * out` multiply-adds.

    Raises:
        ShapeError: `mode` is out of range, or that mode's size is not `in`.
    """
    axis = _axis(x, mode, "mode_product")
    if x.shape[axis] != matrix.shape[1]:
        raise ShapeError(
            f"mode_product: mode {mode} of x has size {x.shape[axis]} but matrix has {matrix.shape[1]} columns. "
            f"Got x {tuple(x.shape)}, batch first, and matrix {tuple(matrix.shape)}; matrices are stored (out, in)."
        )
    if axis == x.ndim - 1:
        return torch.nn.functional.linear(x, matrix)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    product = torch.matmul(matrix, x.reshape(math.prod(before), x.shape[axis], math.prod(after)))
    return product.reshape(*before, matrix.shape[0], *after)


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
