"""Weights in tensor-train form as printed, slow and literal: the oracle of `multiway.nn.TTLinear`.

Equations (1) to (3) of *Low-Complexity Attention Modelling via Graph Tensor Networks* (TGA); core n is
`(R_n-1, I_n, J_n, R_n)`. Axes count from 1, as in print, in `contraction` alone. Use float64.
"""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor


def contraction(left: Tensor, right: Tensor, left_modes: Sequence[int], right_modes: Sequence[int]) -> Tensor:
    """×_n^m of section 2: n are modes of the left tensor, m of the right, from 1; the left's other modes come first."""
    kept = [mode for mode in range(left.ndim) if mode + 1 not in left_modes]
    right_kept = [mode for mode in range(right.ndim) if mode + 1 not in right_modes]
    rows = left.permute(*kept, *(mode - 1 for mode in left_modes))
    columns = right.permute(*(mode - 1 for mode in right_modes), *right_kept)
    summed = math.prod(left.shape[mode - 1] for mode in left_modes)
    product = rows.reshape(rows.numel() // summed, summed) @ columns.reshape(summed, columns.numel() // summed)
    return product.reshape(*rows.shape[: len(kept)], *columns.shape[len(right_modes) :])


def full_tensor(cores: Sequence[Tensor]) -> Tensor:
    """Eq. 2, core by core: `(I_1, J_1, …, I_N, J_N)`."""
    tensor = cores[0]
    for core in cores[1:]:
        tensor = contraction(tensor, core, [tensor.ndim], [1])  # the open rank is the last mode: 4 for the first
    return tensor.squeeze(-1).squeeze(0)


def full_entries(cores: Sequence[Tensor]) -> Tensor:
    """The same, entry by entry: W[i_1, j_1, …] = G_1[:, i_1, j_1, :] ⋯ G_N[:, i_N, j_N, :], a product of matrices."""
    sizes = [size for core in cores for size in core.shape[1:3]]
    entries = []
    for index in itertools.product(*map(range, sizes)):
        product = cores[0].new_ones(1, 1)
        for site, core in enumerate(cores):
            product = product @ core[:, index[2 * site], index[2 * site + 1], :]
        entries.append(product.squeeze())
    return torch.stack(entries).reshape(sizes)


def flat_matrix(cores: Sequence[Tensor]) -> Tensor:
    """W of the flat layer, `(J, I)` as `torch.nn.Linear` stores it: rows j_1 … j_N, columns i_1 … i_N, last fastest."""
    tensor = full_tensor(cores)
    outs, ins = range(1, tensor.ndim, 2), range(0, tensor.ndim, 2)
    rows = math.prod(core.shape[2] for core in cores)
    return tensor.permute(*outs, *ins).reshape(rows, -1)


def apply_full(x: Tensor, cores: Sequence[Tensor]) -> Tensor:
    """Eq. 1: X ×_{2, 3, …, N+1}^{1, 3, …, 2N-1} W, for `(L, I_1, …, I_N)`."""
    count = len(cores)
    return contraction(x, full_tensor(cores), range(2, count + 2), range(1, 2 * count, 2))


def apply_cores(x: Tensor, cores: Sequence[Tensor]) -> Tensor:
    """Eq. 3: X ×_2^2 G_1 ×_{2, N+3}^{2, 1} G_2 ⋯; the result's R_0 and R_N, both 1, are taken away."""
    count = len(cores)
    out = contraction(x, cores[0], [2], [2])  # (L, I_2, …, I_N, R_0, J_1, R_1)
    for core in cores[1:]:
        out = contraction(out, core, [2, count + 3], [2, 1])  # (L, I_n+1, …, I_N, R_0, J_1, …, J_n, R_n)
    return out.squeeze(-1).squeeze(1)


def paired(matrix: Tensor, in_sizes: Sequence[int], out_sizes: Sequence[int]) -> Tensor:
    """Tensorise a matrix `(J, I)` to `(I_1, J_1, …, I_N, J_N)`: the inverse of `flat_matrix`."""
    count = len(in_sizes)
    order = [axis for mode in range(count) for axis in (count + mode, mode)]
    return matrix.reshape(*out_sizes, *in_sizes).permute(order)


def tails(matrix: Tensor, in_sizes: Sequence[int], out_sizes: Sequence[int], tt_ranks: Sequence[int]) -> list[float]:
    """Per inner bond, the norm of the singular values that a rank leaves out, of the tensor unfolded there.

    No tensor train of these ranks is closer than the largest of them; TT-SVD is no farther than the root of the sum of
    their squares (Oseledets 2011, theorem 2.2).
    """
    tensor, norms = paired(matrix, in_sizes, out_sizes), []
    for bond in range(1, len(in_sizes)):
        rows = math.prod(tensor.shape[: 2 * bond])
        values = torch.linalg.svdvals(tensor.reshape(rows, -1))
        norms.append(values[tt_ranks[bond] :].norm().item())
    return norms


def num_entries(in_sizes: Sequence[int], out_sizes: Sequence[int], tt_ranks: Sequence[int]) -> int:
    """Count Σ R_n-1 I_n J_n R_n (remark 4); 16 (N - 1) if all sizes and inner ranks are 2 (remark 5)."""
    pairs = zip(in_sizes, out_sizes, itertools.pairwise(tt_ranks), strict=True)
    return sum(before * i * j * after for i, j, (before, after) in pairs)
