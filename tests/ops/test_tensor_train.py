"""Tensor trains: the matrix against tensorly, the decomposition against its bound, the product against the matrix."""

import math

import pytest
import tensorly
import torch
from tensorly.tt_matrix import TTMatrix

from multiway import ops
from multiway.errors import ConfigError, DataError, ShapeError
from tolerances import ROUNDING64, assert_same

TRAINS = [
    ((7,), (5,), (1, 1)),
    ((2, 7), (5, 3), (1, 4, 1)),
    ((2, 3, 5), (7, 2, 3), (1, 3, 2, 1)),
    ((1, 2, 3, 2), (2, 1, 5, 3), (1, 2, 5, 2, 1)),
]


def cores_of(in_sizes, out_sizes, ranks, generator):
    shapes = zip(ranks[:-1], in_sizes, out_sizes, ranks[1:], strict=True)
    return [torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_() for shape in shapes]


@pytest.mark.parametrize(("in_sizes", "out_sizes", "ranks"), TRAINS, ids=str)
def test_the_matrix_is_tensorlys(in_sizes, out_sizes, ranks, generator):
    cores = cores_of(in_sizes, out_sizes, ranks, generator)
    theirs = TTMatrix([core.detach().numpy() for core in cores])  # (rank, in, out, next): rows are the inputs
    expected = torch.as_tensor(tensorly.tt_matrix.tt_matrix_to_matrix(theirs))
    assert_same(ops.tt_matrix(cores).detach(), expected.T)


@pytest.mark.parametrize("way", ["right", "left", "dense"])
@pytest.mark.parametrize(("in_sizes", "out_sizes", "ranks"), TRAINS, ids=str)
def test_every_cut_is_the_product_with_the_matrix(in_sizes, out_sizes, ranks, way, generator):
    cores = cores_of(in_sizes, out_sizes, ranks, generator)
    x = torch.randn(3, math.prod(in_sizes), dtype=torch.float64, generator=generator).requires_grad_()
    bias = torch.randn(math.prod(out_sizes), dtype=torch.float64, generator=generator).requires_grad_()
    expected = x @ ops.tt_matrix(cores).T + bias
    leaves = [x, bias, *cores]
    gradients = torch.autograd.grad(expected.square().sum(), leaves)
    for position in range(len(in_sizes)) if len(in_sizes) == 1 else range(1, len(in_sizes)):
        found = ops.tensor_train_product(x, cores, bias, ops.Cut(position, way))
        assert_same(found, expected)
        for mine, other in zip(torch.autograd.grad(found.square().sum(), leaves), gradients, strict=True):
            assert_same(mine, other)


@pytest.mark.parametrize(("in_sizes", "out_sizes"), [((7,), (5,)), ((2, 7), (5, 3)), ((2, 3, 5), (3, 2, 4))], ids=str)
def test_full_ranks_are_exact(in_sizes, out_sizes, generator):
    matrix = torch.randn(math.prod(out_sizes), math.prod(in_sizes), dtype=torch.float64, generator=generator)
    cores, dropped = ops.tt_svd(matrix, in_sizes, out_sizes, tt_ranks=[1, *[1000] * (len(in_sizes) - 1), 1])
    assert_same(ops.tt_matrix(cores), matrix)
    assert dropped == [0.0] * (len(in_sizes) - 1)


def test_two_cores_are_the_best_that_a_rank_allows(generator):
    """Two cores at rank R are a truncated singular value decomposition of the rearranged matrix: nothing is better."""
    matrix = torch.randn(15, 14, dtype=torch.float64, generator=generator)
    cores, (dropped,) = ops.tt_svd(matrix, (2, 7), (5, 3), tt_ranks=(1, 4, 1))
    error = (ops.tt_matrix(cores) - matrix).norm()
    _, values = ops.nearest_kronecker(matrix, (5, 3), (2, 7), 4)
    assert_same(error, values[4:].norm())
    assert abs(dropped - float(error)) < ROUNDING64


def test_the_error_stays_within_its_bound(generator):
    matrix = torch.randn(3 * 2 * 4, 2 * 3 * 5, dtype=torch.float64, generator=generator)
    for rank in (1, 2, 3, 5):
        cores, dropped = ops.tt_svd(matrix, (2, 3, 5), (3, 2, 4), tt_ranks=(1, rank, rank, 1))
        assert float((ops.tt_matrix(cores) - matrix).norm()) <= math.hypot(*dropped) + ROUNDING64
    counts = []
    for allowed in (0.0, 0.1, 0.5, 0.9):
        cores, _ = ops.tt_svd(matrix, (2, 3, 5), (3, 2, 4), max_error=allowed)
        assert float((ops.tt_matrix(cores) - matrix).norm()) <= allowed * float(matrix.norm()) + ROUNDING64
        counts.append(sum(core.numel() for core in cores))
    assert counts == sorted(counts, reverse=True) and len(set(counts)) == 4  # more error, fewer parameters


def test_cores_have_one_norm(generator):
    matrix = 100 * torch.randn(24, 30, dtype=torch.float64, generator=generator)
    cores, _ = ops.tt_svd(matrix, (2, 3, 5), (3, 2, 4), tt_ranks=(1, 2, 2, 1))
    norms = torch.stack([core.norm() for core in cores])
    assert_same(norms, norms[:1].expand(3))
    zeros, _ = ops.tt_svd(torch.zeros(6, 6), (2, 3), (3, 2), tt_ranks=(1, 2, 1))
    assert bool((ops.tt_matrix(zeros) == 0).all())


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda m: ops.tt_svd(m, (2, 4), (5, 3), tt_ranks=(1, 2, 1)),
            ShapeError,
            "in_sizes (2, 4) and out_sizes (5, 3)",
        ),
        (lambda m: ops.tt_svd(m, (2, 7), (15,), tt_ranks=(1, 2, 1)), ShapeError, "must be as many"),
        (lambda m: ops.tt_svd(m, (2, 7), (5, 3)), ConfigError, "either tt_ranks or max_error"),
        (lambda m: ops.tt_svd(m, (2, 7), (5, 3), tt_ranks=(1, 2, 1), max_error=0.1), ConfigError, "either"),
        (lambda m: ops.tt_svd(m, (2, 7), (5, 3), max_error=1.5), ConfigError, "lies in [0, 1). Got 1.5"),
        (lambda m: ops.tt_svd(m, (2, 7), (5, 3), tt_ranks=(1, 2)), ConfigError, "2 cores need 3 positive ranks"),
        (lambda m: ops.tt_svd(m / 0, (2, 7), (5, 3), max_error=0.1), DataError, "every entry must be finite"),
        (lambda m: ops.tt_matrix([torch.zeros(1, 2, 3, 2)]), ShapeError, "the ends are 1. Got [(1, 2, 3, 2)]"),
        (lambda m: ops.tt_matrix([]), ShapeError, "cores are (rank, in, out, next rank)"),
    ],
)
def test_a_misuse_names_rule_and_values(call, error, text):
    with pytest.raises(error) as caught:
        call(torch.ones(15, 14))
    assert text in str(caught.value) and "\n" not in str(caught.value)


CORES = [torch.zeros(1, 2, 3, 2), torch.zeros(2, 3, 5, 1)]


@pytest.mark.parametrize(
    ("x", "cores", "bias"),
    [
        (torch.zeros(4, 12), CORES, None),
        (torch.zeros(4, 5, 6), CORES, None),
        (torch.zeros(4, 6), CORES, torch.zeros(4)),
        (torch.zeros(4, 6), [CORES[0], torch.zeros(3, 3, 5, 1)], None),
        (torch.zeros(4, 6), [CORES[0]], None),
        (torch.zeros(4, 6), [], None),
    ],
)
def test_rows_cores_and_a_bias_that_do_not_fit_are_refused(x, cores, bias):
    with pytest.raises(ShapeError, match=r"tt_linear: x is \(batch, in\), .* Got sizes \(\d") as caught:
        ops.tt_linear(x, cores, bias)
    assert "\n" not in str(caught.value)
