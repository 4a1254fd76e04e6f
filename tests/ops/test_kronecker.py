"""Kronecker products applied and found; the universality theorem of HOT sec. 4.2 as a test."""

import math

import pytest
import tensorly
import torch
from tensorly.decomposition import parafac

from multiway import ops
from multiway.errors import ConfigError, DataError, ShapeError
from reference import hot
from tolerances import assert_same

SIZES = [(7,), (3, 5), (2, 3, 5), (2, 1, 3, 5)]


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def total(terms):
    return torch.stack([hot.kronecker(term) for term in terms]).sum(0)


def relative_error(terms, matrix):
    return ((total(terms) - matrix).norm() / matrix.norm()).item()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_apply_is_the_formed_product_forward_and_backward(sizes, generator):
    x = normal(generator, 4, *sizes).requires_grad_()
    factors = [normal(generator, size + 2, size).requires_grad_() for size in sizes]
    fast = ops.kronecker_apply(x, factors)
    slow = (x.flatten(1) @ hot.kronecker(factors).T).reshape(fast.shape)
    assert_same(fast, slow)
    assert_same(ops.kronecker_product(factors), hot.kronecker(factors))
    cotangent = normal(generator, *fast.shape)
    grads = torch.autograd.grad(fast, [x, *factors], cotangent)
    for grad, want in zip(grads, torch.autograd.grad(slow, [x, *factors], cotangent), strict=True):
        assert_same(grad, want)


@pytest.mark.parametrize("sizes", [(3,), (1, 3), (2, 1, 3), (2, 3, 1, 2)], ids=str)
def test_apply_passes_gradcheck(sizes, generator):
    inputs = [normal(generator, 2, *sizes), *(normal(generator, 2, size) for size in sizes)]
    inputs = [each.requires_grad_() for each in inputs]
    assert torch.autograd.gradcheck(lambda x, *factors: ops.kronecker_apply(x, factors), inputs)


def test_apply_works_where_the_product_could_not_be_formed():
    factors = [torch.eye(300) for _ in range(3)]  # formed: 7e14 entries
    x = torch.ones(1, 300, 300, 300)
    assert torch.equal(ops.kronecker_apply(x, factors), x)


@pytest.mark.parametrize(("rows", "columns"), [((3, 5), (3, 5)), ((2, 7), (5, 3)), ((1, 5), (3, 2))], ids=str)
def test_the_nearest_error_is_the_dropped_singular_values(rows, columns, generator):
    matrix = normal(generator, math.prod(rows), math.prod(columns))
    for num_terms in (1, 2, 3):
        terms, values = ops.nearest_kronecker(matrix, rows, columns, num_terms)
        assert [left.shape for left, _ in terms] == [(rows[0], columns[0])] * num_terms
        assert_same((total(terms) - matrix).square().sum(), values[num_terms:].square().sum())


def test_the_nearest_is_no_worse_than_any_other(generator):
    matrix = normal(generator, 6, 10)
    term, values = ops.nearest_kronecker(matrix, (2, 3), (5, 2))
    best = (total(term) - matrix).norm()
    for _ in range(50):
        left, right = (part + 0.1 * normal(generator, *part.shape) for part in term[0])
        assert (torch.kron(left, right) - matrix).norm() > best
    assert len(values) == 6


def test_the_nearest_finds_a_kronecker_product_and_passes_gradients(generator):
    left, right = normal(generator, 2, 5), normal(generator, 3, 7)
    [(found_left, found_right)], values = ops.nearest_kronecker(torch.kron(left, right), (2, 3), (5, 7))
    assert_same(torch.kron(found_left, found_right), torch.kron(left, right))
    assert values[1] < 1e-12 * values[0]
    matrix = normal(generator, 6, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda m: total(ops.nearest_kronecker(m, (2, 3), (2, 2))[0]), [matrix])


@pytest.mark.parametrize("sizes", [(5,), (2, 3), (3, 2), (2, 5, 3), (3, 3, 2), (2, 1, 3, 2), (1, 1)], ids=str)
def test_any_matrix_is_a_sum_of_kronecker_products_at_the_theorems_rank(sizes, generator):
    matrix = normal(generator, math.prod(sizes), math.prod(sizes))
    terms = ops.exact_kronecker_decomposition(matrix, sizes)
    bound = min(math.prod(n * n for i, n in enumerate(sizes) if i != j) for j in range(len(sizes)))
    assert len(terms) == bound
    assert all(tuple(len(factor) for factor in term) == sizes for term in terms)
    assert torch.equal(total(terms), matrix)


@pytest.mark.parametrize("sizes", [(2, 3, 2), (2, 5, 3), (2, 2, 3, 2)], ids=str)
@pytest.mark.parametrize("rank", [1, 3])
def test_als_recovers_a_matrix_of_that_kronecker_rank(sizes, rank, generator):
    terms = [tuple(normal(generator, size, size) for size in sizes) for _ in range(rank)]
    found = ops.kronecker_decompose(total(terms), sizes, rank, generator=generator)
    assert len(found) == rank
    assert relative_error(found, total(terms)) < 1e-7


@pytest.mark.slow
def test_als_falls_with_the_rank_and_is_as_good_as_tensorlys(generator):
    sizes = (2, 3, 2)
    matrix = normal(generator, 12, 12)
    by_rank = [
        relative_error(ops.kronecker_decompose(matrix, sizes, rank, generator=generator), matrix)
        for rank in (1, 2, 4, 16)
    ]
    assert by_rank == sorted(by_rank, reverse=True)
    assert by_rank[-1] < 1e-4  # (2·2)² = 16 suffices: the theorem
    paired = matrix.reshape(*sizes, *sizes).permute(0, 3, 1, 4, 2, 5).reshape(4, 9, 4)
    cp = parafac(paired.numpy(), 4, n_iter_max=500, init="random", tol=1e-10, random_state=0)
    theirs = (torch.from_numpy(tensorly.cp_to_tensor(cp)) - paired).norm() / paired.norm()
    assert by_rank[2] <= theirs + 0.02


def test_two_modes_are_solved_exactly(generator):
    matrix = normal(generator, 15, 15)
    _, values = ops.nearest_kronecker(matrix, (3, 5), (3, 5))
    terms = ops.kronecker_decompose(matrix, (3, 5), 4)
    assert_same((total(terms) - matrix).norm(), values[4:].norm())


def test_one_mode_is_the_matrix(generator):
    matrix = normal(generator, 3, 3)
    [(factor,)] = ops.kronecker_decompose(matrix, (3,), 2)
    assert_same(factor, matrix)


def test_als_repeats_with_its_generator_and_survives_zeros(generator):
    matrix = normal(generator, 12, 12)
    first, second = (
        ops.kronecker_decompose(matrix, (2, 3, 2), 2, generator=torch.Generator().manual_seed(3)) for _ in range(2)
    )
    assert_same(total(first), total(second))
    assert not total(ops.kronecker_decompose(torch.zeros(12, 12), (2, 3, 2), 2, generator=generator)).any()


def test_softmax_attention_is_within_reach_of_the_theorem_but_not_of_one_term(generator):
    full = torch.softmax(normal(generator, 12, 12), dim=1)
    errors = [relative_error(ops.nearest_kronecker(full, (3, 4), (3, 4), terms)[0], full) for terms in (1, 9)]
    assert errors[0] > 0.1
    assert errors[1] < 1e-12


def test_errors_say_what_fits():
    with pytest.raises(ShapeError, match=r"factors of \(2, 3\) rows and \(2, 3\) columns make a matrix \(6, 6\)"):
        ops.nearest_kronecker(torch.zeros(5, 6), (2, 3), (2, 3))
    with pytest.raises(ShapeError, match=r"exact_kronecker_decomposition: factors of \(2, 2\) rows"):
        ops.exact_kronecker_decomposition(torch.zeros(6, 6), (2, 2))
    with pytest.raises(ShapeError, match=r"Got \(1, 1\)"):
        ops.exact_kronecker_decomposition(torch.zeros(1, 1), ())
    with pytest.raises(ConfigError, match=r"kronecker_decompose: at least one term is needed. Got num_terms=0"):
        ops.kronecker_decompose(torch.zeros(6, 6), (2, 3), 0)
    with pytest.raises(ConfigError, match=r"at least one start is needed. Got starts=0"):
        ops.kronecker_decompose(torch.zeros(6, 6), (2, 3), 1, starts=0)
    with pytest.raises(DataError, match=r"every entry must be finite. Got 1 NaN or infinite in \(6, 6\)"):
        ops.kronecker_decompose(torch.tensor([torch.nan] + [0.0] * 35).reshape(6, 6), (2, 3), 1)
    with pytest.raises(ShapeError, match=r"kronecker_product: give one matrix or more. Got shapes \[\]"):
        ops.kronecker_product([])
    with pytest.raises(ShapeError, match="mode 1 of x has size 4 but matrix has 3 columns"):
        ops.kronecker_apply(torch.zeros(1, 2, 4), [torch.zeros(2, 2), torch.zeros(2, 3)])
