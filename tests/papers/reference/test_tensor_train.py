"""The oracle itself: against products of matrices, tensorly, Oseledets' theorem and the paper's counts."""

import pytest
import tensorly
import torch
from tensorly.decomposition import tensor_train_matrix
from tensorly.tt_matrix import tt_matrix_to_matrix, tt_matrix_to_tensor

from reference import tga
from tolerances import ROUNDING64, assert_same

CASES = [
    ((5,), (3,), (1, 1)),
    ((3, 5), (7, 2), (1, 4, 1)),
    ((2, 3, 5), (5, 2, 3), (1, 2, 3, 1)),
    ((2, 1, 3, 2), (3, 2, 1, 2), (1, 3, 1, 2, 1)),
    ((2,) * 5, (2,) * 5, (1, 2, 2, 2, 2, 1)),
]


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_cores(generator, in_sizes, out_sizes, tt_ranks):
    shapes = zip(tt_ranks[:-1], in_sizes, out_sizes, tt_ranks[1:], strict=True)
    return [normal(generator, *shape) for shape in shapes]


def apart(tensor):
    """(I_1, J_1, …, I_N, J_N) as tensorly has it: (I_1, …, I_N, J_1, …, J_N)."""
    return tensor.permute(*range(0, tensor.ndim, 2), *range(1, tensor.ndim, 2))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equation_2_is_a_product_of_matrices_and_tensorlys(case, generator):
    cores = random_cores(generator, *case)
    tensor = tga.full_tensor(cores)
    assert_same(tensor, tga.full_entries(cores))
    arrays = [core.numpy() for core in cores]
    with tensorly.backend_context("numpy"):
        assert_same(apart(tensor), torch.from_numpy(tt_matrix_to_tensor(arrays)))
        assert_same(tga.flat_matrix(cores).T, torch.from_numpy(tt_matrix_to_matrix(arrays)))
    assert_same(tga.paired(tga.flat_matrix(cores), *case[:2]), tensor)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equation_3_is_equation_1_is_the_flat_layer(case, generator):
    cores, x = random_cores(generator, *case), normal(generator, 7, *case[0])
    flat = x.flatten(1) @ tga.flat_matrix(cores).T
    assert_same(tga.apply_full(x, cores), flat.reshape(7, *case[1]))
    assert_same(tga.apply_cores(x, cores), flat.reshape(7, *case[1]))


def test_a_contraction_keeps_the_modes_in_the_order_of_section_2(generator):
    left, right = normal(generator, 2, 3, 5), normal(generator, 7, 3, 2)
    assert_same(tga.contraction(left, right, [2], [2]), torch.einsum("anc,dnf->acdf", left, right))
    assert_same(tga.contraction(left, right, [2, 1], [2, 3]), torch.einsum("amc,dma->cd", left, right))


@pytest.mark.parametrize("case", CASES[1:], ids=str)
def test_the_best_error_lies_between_oseledets_bounds(case, generator):
    in_sizes, out_sizes, tt_ranks = case
    matrix = normal(generator, torch.Size(out_sizes).numel(), torch.Size(in_sizes).numel())
    tensor = apart(tga.paired(matrix, in_sizes, out_sizes))
    with tensorly.backend_context("numpy"):
        found = tt_matrix_to_tensor(tensor_train_matrix(tensor.numpy(), tt_ranks))
    error = (tensor - torch.from_numpy(found)).norm().item()
    tails = tga.tails(matrix, in_sizes, out_sizes, tt_ranks)
    assert max(tails) - ROUNDING64 <= error <= sum(tail**2 for tail in tails) ** 0.5 + ROUNDING64
    assert error > 0.1 * matrix.norm().item()  # the ranks are too small for a random matrix, or nothing was tested


@pytest.mark.parametrize("modes", range(2, 9))
def test_the_count_of_remark_5(modes):
    count = tga.num_entries((2,) * modes, (2,) * modes, (1, *(2,) * (modes - 1), 1))
    assert count == 16 * (modes - 1)


def test_the_count_of_remark_4():
    assert tga.num_entries((2, 3, 5), (7, 11, 13), (1, 4, 6, 1)) == 14 * 4 + 4 * 33 * 6 + 6 * 65
