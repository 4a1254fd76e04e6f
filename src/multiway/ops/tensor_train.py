"""Matrices as tensor trains (matrix product operators): from a dense matrix, to one, and applied without one."""

import math
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from multiway.errors import ConfigError, DataError, ShapeError
from multiway.ops.dispatch import fast_tt_linear, faster
from multiway.ops.products import merge_cores


def tt_matrix(cores: Sequence[Tensor]) -> Float[Tensor, "out in"]:
    """Form the dense matrix of a tensor train, `(Π out, Π in)`, row-major in the order of the cores.

    W[j₁…j_N, i₁…i_N] = G₁[i₁, j₁] G₂[i₂, j₂] ⋯ G_N[i_N, j_N], products of rank × rank matrices (TGA eq. 2).

    Raises:
        ShapeError: Cores are not (rank, in, out, next rank) with ranks that meet and ends of 1.
    """
    check_cores(cores)
    return merge_cores(cores)[0, :, :, 0].mT


@faster(fast_tt_linear)
def tt_linear(
    x: Float[Tensor, "batch in"], cores: Iterable[Tensor], bias: Tensor | None = None
) -> Float[Tensor, "batch out"]:
    r"""Y = X Wᵀ + b for the W of a tensor train, core by core (TGA eqs. 1-3).

    $$y_{j_1 \ldots j_N} = \sum_{i_1 \ldots i_N} x_{i_1 \ldots i_N} \, G_1[i_1, j_1] \cdots G_N[i_N, j_N]$$

    Args:
        x: Rows, features flattened row-major over the cores' sizes.
        cores: `(rank, in, out, next_rank)`.
        bias: `(out,)`.

    Raises:
        ShapeError: Rows, cores and bias do not fit each other.
    """
    y = x[..., None, None]  # (batch, inputs to come, outputs so far, rank)
    for core in cores:
        y = torch.unflatten(y, 1, (core.shape[1], -1))
        y = torch.einsum("bisjr,rikq->bsjkq", y, core).flatten(2, 3)
    y = y[:, 0, :, 0]
    return y if bias is None else y + bias.to(y.dtype)


def tt_svd(
    matrix: Float[Tensor, "out in"],
    in_sizes: Sequence[int],
    out_sizes: Sequence[int],
    *,
    tt_ranks: Sequence[int] | None = None,
    max_error: float | None = None,
) -> tuple[list[Tensor], list[float]]:
    """Bring a matrix into tensor-train form by singular value decompositions, one per bond (Oseledets 2011).

    The error is at most the root of the sum of squares of what each bond dropped, and at most √(N-1) times the
    best error that the same ranks allow.

    Args:
        matrix: Weight `(Π out_sizes, Π in_sizes)`.
        in_sizes: Factors of the number of columns.
        out_sizes: Factors of the number of rows, as many.
        tt_ranks: N + 1 ranks with ends of 1; those that exceed what a bond can hold are lowered.
        max_error: Relative Frobenius error to stay within, in place of ranks.

    Returns:
        The cores `(rank, in, out, next_rank)`, and per bond the norm of the dropped singular values.

    Raises:
        ShapeError: The sizes do not multiply to the matrix's.
        ConfigError: Neither or both of ranks and error are given, or they are out of range.
        DataError: The matrix has a NaN or an infinity.
    """
    _check_target(matrix, in_sizes, out_sizes)
    ranks = _limits(tt_ranks, max_error, len(in_sizes))
    pairs = [axis for mode in range(len(in_sizes)) for axis in (mode + len(in_sizes), mode)]
    rest = matrix.reshape(*out_sizes, *in_sizes).permute(pairs).reshape(1, -1)
    budget = 0.0 if max_error is None else (max_error * float(matrix.norm())) ** 2
    cores, dropped, rank = [], list[float](), 1
    for in_, out, limit in zip(in_sizes[:-1], out_sizes[:-1], ranks, strict=True):
        left, values, right = torch.linalg.svd(rest.reshape(rank * in_ * out, -1), full_matrices=False)
        left_over = max(budget - math.fsum(error**2 for error in dropped), 0.0)
        tails = values.double().square().flip(0).cumsum(0).sqrt()  # norm of the last 1, 2, … values
        allowed = math.sqrt(left_over / (len(ranks) - len(dropped)))
        keep = max(1, len(values) - int((tails <= allowed).sum())) if limit is None else min(limit, len(values))
        cores.append(left[:, :keep].reshape(rank, in_, out, keep))
        dropped.append(float(values[keep:].norm()))
        rest, rank = values[:keep, None] * right[:keep], keep
    cores.append(rest.reshape(rank, in_sizes[-1], out_sizes[-1], 1))
    norms = torch.stack([core.norm() for core in cores])
    if bool((norms > 0).all()):  # one norm for all, so that one learning rate suits them
        common = norms.clamp_min(torch.finfo(norms.dtype).tiny).log().mean().exp()
        cores = [core * (common / norm) for core, norm in zip(cores, norms, strict=True)]
    return cores, dropped


def tt_norm(cores: Sequence[Tensor]) -> Float[Tensor, ""]:
    """Frobenius norm of a train's matrix, without forming it: R² numbers go from core to core."""
    check_cores(cores)
    gram = torch.ones(1, 1, dtype=cores[0].dtype, device=cores[0].device)
    for core in cores:
        gram = torch.einsum("ab,aijc,bijd->cd", gram, core, core)
    return gram[0, 0].clamp_min(0).sqrt()


def check_cores(cores: Sequence[Tensor]) -> None:
    """Refuse cores that do not make a train."""
    shapes = [tuple(core.shape) for core in cores]
    right = bool(shapes) and all(len(shape) == 4 for shape in shapes)
    if not right or [1, *(s[3] for s in shapes)] != [*(s[0] for s in shapes), 1]:
        raise ShapeError(
            f"tensor train: cores are (rank, in, out, next rank), each next rank is the following rank, and the "
            f"ends are 1. Got {shapes}."
        )


def _limits(tt_ranks: Sequence[int] | None, max_error: float | None, count: int) -> list[int | None]:
    if (tt_ranks is None) == (max_error is None):
        raise ConfigError(
            f"tt_svd: give either tt_ranks or max_error. Got tt_ranks={tt_ranks} and max_error={max_error}."
        )
    if tt_ranks is None:
        if not (max_error is not None and 0 <= max_error < 1):
            raise ConfigError(f"tt_svd: max_error is relative and lies in [0, 1). Got {max_error}.")
        return [None] * (count - 1)
    if len(tt_ranks) != count + 1 or tt_ranks[0] != 1 or tt_ranks[-1] != 1 or min(tt_ranks) < 1:
        raise ConfigError(
            f"tt_svd: {count} cores need {count + 1} positive ranks, the first and the last 1. Got {list(tt_ranks)}."
        )
    return list(tt_ranks[1:-1])


def _check_target(matrix: Tensor, in_sizes: Sequence[int], out_sizes: Sequence[int]) -> None:
    shape = (math.prod(out_sizes), math.prod(in_sizes))
    if not in_sizes or len(in_sizes) != len(out_sizes) or tuple(matrix.shape) != shape:
        raise ShapeError(
            f"tt_svd: in_sizes {tuple(in_sizes)} and out_sizes {tuple(out_sizes)} must be as many and multiply to the "
            f"matrix's columns and rows. Got a matrix {tuple(matrix.shape)}, stored (out, in)."
        )
    if not bool(matrix.isfinite().all()):
        raise DataError(f"tt_svd: every entry must be finite. Got {int((~matrix.isfinite()).sum())} that are not.")
