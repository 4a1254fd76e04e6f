"""Penalties on mode-wise maps: against the sums they stand for, forward and backward."""

import pytest
import torch

from multiway import ops
from reference import ndlinear
from tolerances import assert_same

SHAPES = [(3, 5), (5, 2), (7, 7)]
FACTORS = [0.3, 2.0, 0.7]
PENALTIES = ("norm_penalty", "orthogonality_penalty")


def matrices(generator):
    return [torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in SHAPES]


@pytest.mark.parametrize("name", PENALTIES)
def test_a_penalty_is_its_sum_forward_and_backward(name, generator):
    weights = matrices(generator)
    found, wanted = getattr(ops, name)(weights, FACTORS), getattr(ndlinear, name)(weights, FACTORS)
    assert_same(found, wanted)
    grads, wanted_grads = (torch.autograd.grad(value, weights) for value in (found, wanted))
    for grad, wanted_grad in zip(grads, wanted_grads, strict=True):
        assert_same(grad, wanted_grad)


@pytest.mark.parametrize("name", PENALTIES)
def test_gradients_are_those_of_finite_differences(name, generator):
    assert torch.autograd.gradcheck(lambda *weights: getattr(ops, name)(weights, FACTORS), matrices(generator))


@pytest.mark.parametrize("name", PENALTIES)
def test_terms_add_up(name, generator):
    stacked = torch.randn(4, 5, 3, generator=generator, dtype=torch.float64)
    alone = sum(getattr(ops, name)([term], [0.5]) for term in stacked)
    assert_same(getattr(ops, name)([stacked], [0.5]), alone)


def test_orthonormal_rows_cost_nothing_and_columns_the_difference(generator):
    basis = torch.linalg.qr(torch.randn(7, 3, generator=generator, dtype=torch.float64)).Q
    assert_same(ops.orthogonality_penalty([basis.mT], [2.0]), torch.zeros((), dtype=torch.float64))
    assert_same(ops.orthogonality_penalty([basis], [2.0]), torch.tensor(8.0, dtype=torch.float64))


def test_norms_are_squared_and_weighed():
    weights = [torch.full((2, 3), 2.0), torch.ones(5, 1)]
    assert float(ops.norm_penalty(weights, [0.5, 10.0])) == 0.5 * 24 + 50
