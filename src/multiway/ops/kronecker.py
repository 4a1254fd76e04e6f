"""Kronecker products: applying them without forming them, and finding them in a matrix."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from multiway.errors import ConfigError, DataError, ShapeError
from multiway.ops.multilinear import multi_mode_product


def kronecker_apply(
    x: Float[Tensor, "batch *in_sizes"], factors: Sequence[Tensor]
) -> Float[Tensor, "batch *out_sizes"]:
    """Multiply the flattened modes of `x` by A₁ ⊗ ⋯ ⊗ Aₖ without forming it (HOT eqs. 8-9, proposition 1).

    Raises:
        ShapeError: Not one factor per mode, or a factor's columns differ from its mode's size.
    """
    return multi_mode_product(x, factors)


def nearest_kronecker(
    matrix: Float[Tensor, "rows columns"],
    row_sizes: tuple[int, int],
    column_sizes: tuple[int, int],
    num_terms: int = 1,
) -> tuple[list[tuple[Tensor, Tensor]], Float[Tensor, " rank"]]:
    """Best sum of `num_terms` Kronecker products of two factors, in the Frobenius norm.

    Van Loan & Pitsianis (1993): M reshaped to (R₁, R₂, C₁, C₂) and permuted to (R₁C₁, R₂C₂) has rank one exactly
    for a Kronecker product, so its truncated SVD is the answer; error² is the sum of the dropped singular values².

    Returns:
        The terms `(left (R₁, C₁), right (R₂, C₂))`, largest first, at most min(R₁C₁, R₂C₂) of them, and all
        singular values.

    Raises:
        ShapeError: The sizes do not multiply to the matrix's.
        ConfigError: Fewer than one term.
        DataError: The matrix has a NaN or an infinity.
    """
    _check_target("nearest_kronecker", matrix, row_sizes, column_sizes, num_terms)
    (r1, r2), (c1, c2) = row_sizes, column_sizes
    rearranged = matrix.reshape(r1, r2, c1, c2).permute(0, 2, 1, 3).reshape(r1 * c1, r2 * c2)
    left, values, right = torch.linalg.svd(rearranged, full_matrices=False)
    roots = values.sqrt()
    terms = [
        ((left[:, i] * roots[i]).reshape(r1, c1), (right[i] * roots[i]).reshape(r2, c2))
        for i in range(min(num_terms, len(values)))
    ]
    return terms, values


def exact_kronecker_decomposition(matrix: Float[Tensor, "n n"], sizes: Sequence[int]) -> list[tuple[Tensor, ...]]:
    """Write any square matrix as a sum of R = min_j Π_{i≠j} Nᵢ² Kronecker products (HOT, theorem of sec. 4.2).

    The constructive proof: split the matrix along every mode but the largest into blocks; each block stands
    at one pair of basis indices per other mode, whose factors are the matrices with a single one there.

    Raises:
        ShapeError: The sizes do not multiply to the matrix's, or there are none.
    """
    _check_factors("exact_kronecker_decomposition", matrix, sizes, sizes)
    widest = max(range(len(sizes)), key=lambda mode: sizes[mode])
    paired = _pair_modes(matrix, sizes, sizes).movedim(widest, -1)  # (others' pairs..., pair of the widest)
    others = [size for mode, size in enumerate(sizes) if mode != widest]
    terms = []
    for block, index in zip(paired.reshape(-1, sizes[widest] ** 2), _all_indices(others), strict=True):
        factors = [_unit(size * size, i, block).reshape(size, size) for size, i in zip(others, index, strict=True)]
        factors.insert(widest, block.reshape(sizes[widest], sizes[widest]))
        terms.append(tuple(factors))
    return terms


def kronecker_decompose(
    matrix: Float[Tensor, "rows columns"],
    sizes: Sequence[int],
    num_terms: int,
    *,
    column_sizes: Sequence[int] | None = None,
    starts: int = 8,
    iterations: int = 500,
    tolerance: float = 1e-10,
    generator: torch.Generator | None = None,
) -> list[tuple[Tensor, ...]]:
    """Approximate a matrix by a sum of Kronecker products of one factor per mode.

    HOT appendix B: S reshaped to (N₁², …, Nₖ²), each mode's row and column index side by side, has a CP decomposition
    whose rank-one terms are the Kronecker products. It is found by alternating least squares, which lowers the error
    at every step but may stop at a local minimum: the best of several random starts is kept. One mode is the matrix
    itself, and two are solved exactly by `nearest_kronecker`; these may need fewer terms than requested.

    Args:
        matrix: `(prod(sizes), prod(column_sizes))`.
        sizes: Rows of each mode's factor.
        num_terms: Kronecker rank R (HOT: number of heads).
        column_sizes: Columns of each mode's factor; as many as rows if not given.
        starts: Random starts at most; no further one follows an error below 100 times the tolerance.
        iterations: Sweeps over all modes at most, per start.
        tolerance: Stop when a sweep lowers the relative error by less.
        generator: Source of the random starts.

    Raises:
        ShapeError: The sizes do not multiply to the matrix's, or there are none.
        ConfigError: Fewer than one term or start.
        DataError: The matrix has a NaN or an infinity.
    """
    columns = sizes if column_sizes is None else column_sizes
    _check_target("kronecker_decompose", matrix, sizes, columns, num_terms)
    if starts < 1:
        raise ConfigError(f"kronecker_decompose: at least one start is needed. Got starts={starts}.")
    if len(sizes) == 1:
        return [(matrix,)]
    if len(sizes) == 2:
        return list(nearest_kronecker(matrix, (sizes[0], sizes[1]), (columns[0], columns[1]), num_terms)[0])
    target = _pair_modes(matrix, sizes, columns)
    best, factors = math.inf, list[Tensor]()
    for _ in range(starts):
        error, candidate = _alternate(target, num_terms, iterations, tolerance, generator)
        if error < best or not factors:
            best, factors = error, candidate
        if best < 100 * tolerance:
            break
    return [
        tuple(factor[:, term].reshape(pair) for factor, *pair in zip(factors, sizes, columns, strict=True))
        for term in range(num_terms)
    ]


def _alternate(
    target: Tensor, rank: int, iterations: int, tolerance: float, generator: torch.Generator | None
) -> tuple[float, list[Tensor]]:
    """CP by alternating least squares, and its relative error; columns keep equal norms so that none runs away."""
    factors = [
        torch.randn(size, rank, generator=generator, dtype=target.dtype).to(target.device) for size in target.shape
    ]
    error = previous = math.inf
    for _ in range(iterations):
        for mode in range(target.ndim):
            factors[mode] = _solve_mode(target, factors, mode)
        norms = torch.stack([factor.norm(dim=0) for factor in factors])
        common = norms.log().mean(0).exp()
        for mode, factor in enumerate(factors):
            factors[mode] = factor * torch.where(common > 0, common / norms[mode], 0)  # a term of zeros stays zeros
        error = (_compose(factors) - target).norm().item() / max(target.norm().item(), 1e-300)
        if previous - error < tolerance:
            break
        previous = error
    return error, factors


def _solve_mode(target: Tensor, factors: list[Tensor], mode: int) -> Tensor:
    """Least squares for one factor with the others fixed, on their orthonormal bases: small, and well conditioned.

    With the others' factors Qₘ Rₘ, the columns of the problem are (⊗ Qₘ) (Khatri-Rao of Rₘ).
    """
    columns = torch.ones(1, factors[0].shape[1], dtype=target.dtype, device=target.device)
    for other, factor in enumerate(factors):
        if other != mode:
            basis, triangle = torch.linalg.qr(factor)
            target = torch.tensordot(target, basis, dims=([other], [0])).movedim(-1, other)
            columns = (columns[:, None] * triangle[None]).reshape(-1, columns.shape[1])  # Khatri-Rao, row-major
    driver = "gelsd" if columns.device.type == "cpu" else None  # the usual one varies where columns are dependent
    solution: Tensor = torch.linalg.lstsq(columns, target.movedim(mode, 0).flatten(1).mT, driver=driver).solution
    return solution.mT


def _compose(factors: list[Tensor]) -> Tensor:
    total = factors[0]
    for factor in factors[1:]:
        total = total[..., None, :] * factor
    return total.sum(-1)


def _pair_modes(matrix: Tensor, row_sizes: Sequence[int], column_sizes: Sequence[int]) -> Tensor:
    """Reshape `(ΠR, ΠC)` to `(R₁C₁, …, RₖCₖ)`: each mode's row and column index side by side."""
    count = len(row_sizes)
    order = [axis for mode in range(count) for axis in (mode, mode + count)]
    pairs = [rows * columns for rows, columns in zip(row_sizes, column_sizes, strict=True)]
    return matrix.reshape(*row_sizes, *column_sizes).permute(order).reshape(pairs)


def _all_indices(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    ranges = [torch.arange(size * size) for size in sizes]
    return [tuple(row) for row in torch.cartesian_prod(*ranges).reshape(-1, len(sizes)).tolist()] if sizes else [()]


def _unit(length: int, index: int, like: Tensor) -> Tensor:
    vector = like.new_zeros(length)
    vector[index] = 1
    return vector


def _check_target(
    where: str, matrix: Tensor, row_sizes: Sequence[int], column_sizes: Sequence[int], num_terms: int
) -> None:
    _check_factors(where, matrix, row_sizes, column_sizes)
    if num_terms < 1:
        raise ConfigError(f"{where}: at least one term is needed. Got num_terms={num_terms}.")
    if not bool(matrix.isfinite().all()):
        count = int((~matrix.isfinite()).sum())
        raise DataError(f"{where}: every entry must be finite. Got {count} NaN or infinite in {tuple(matrix.shape)}.")


def _check_factors(where: str, matrix: Tensor, row_sizes: Sequence[int], column_sizes: Sequence[int]) -> None:
    if (
        not row_sizes
        or len(row_sizes) != len(column_sizes)
        or tuple(matrix.shape) != (math.prod(row_sizes), math.prod(column_sizes))
    ):
        raise ShapeError(
            f"{where}: factors of {tuple(row_sizes)} rows and {tuple(column_sizes)} columns make a matrix "
            f"{(math.prod(row_sizes), math.prod(column_sizes))}. Got {tuple(matrix.shape)}."
        )
