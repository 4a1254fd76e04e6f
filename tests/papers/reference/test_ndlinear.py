"""The oracle itself: against the sum it stands for, torch's layer, the package, tensorly and identities."""

import ndlinear as package
import pytest
import tensorly
import torch
from tensorly.tenalg import multi_mode_dot
from torch.nn import functional as F

from reference import ndlinear
from tolerances import assert_same

SIZES = [((5,), (3,)), ((3, 5), (7, 2)), ((2, 3, 5), (5, 2, 3)), ((2, 1, 3, 2), (3, 2, 1, 2)), ((2, 1, 3, 2, 1),) * 2]


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_terms(generator, in_sizes, out_sizes):
    weights = [normal(generator, h, d) for d, h in zip(in_sizes, out_sizes, strict=True)]
    return weights, [normal(generator, h) for h in out_sizes]


@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES, ids=str)
def test_the_algorithm_is_the_sum_over_all_indices(in_sizes, out_sizes, generator):
    weights, _ = random_terms(generator, in_sizes, out_sizes)
    x = normal(generator, 2, *in_sizes)
    wanted = ndlinear.ndlinear_entries(x, weights)
    assert_same(ndlinear.ndlinear(x, weights), wanted)
    assert_same(ndlinear.ndlinear(x, weights, descending=True), wanted)
    modes = list(range(1, len(weights) + 1))
    with tensorly.backend_context("numpy"):
        found = multi_mode_dot(x.numpy(), [weight.numpy() for weight in weights], modes)
    assert_same(torch.from_numpy(found), wanted)


@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES, ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_the_algorithm_is_the_packages_forward_and_backward(in_sizes, out_sizes, descending, generator):
    layer = package.NdLinear(in_sizes, out_sizes, transform_outer=not descending).double()
    parameters = [p for linear in layer.align_layers for p in (linear.weight, linear.bias)]
    x = normal(generator, 2, *in_sizes).requires_grad_()
    out = ndlinear.ndlinear(x, parameters[::2], parameters[1::2], descending=descending)
    wanted = layer(x)
    assert_same(out, wanted)
    cotangent = normal(generator, *out.shape)
    grads, wanted_grads = (torch.autograd.grad(y, [x, *parameters], cotangent) for y in (out, wanted))
    for grad, wanted_grad in zip(grads, wanted_grads, strict=True):
        assert_same(grad, wanted_grad)


def test_one_mode_is_torchs_linear(generator):
    (weight,), (bias,) = random_terms(generator, (5,), (3,))
    x = normal(generator, 7, 5)
    assert_same(ndlinear.ndlinear(x, [weight], [bias]), F.linear(x, weight, bias))


def test_the_order_of_modes_matters_for_the_biases_only(generator):
    weights, biases = random_terms(generator, (3, 5), (7, 2))
    x = normal(generator, 2, 3, 5)
    up, down = (ndlinear.ndlinear(x, weights, biases, descending=descending) for descending in (False, True))
    (first, second), (b1, b2) = (weight.sum(1) for weight in weights), biases
    assert_same(up - down, (torch.outer(b1, second) + b2 - torch.outer(first, b2) - b1[:, None]).expand(2, 7, 2))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("in_sizes", "out_sizes"), SIZES, ids=str)
def test_the_flat_layer_does_the_same(in_sizes, out_sizes, descending, generator):
    weights, biases = random_terms(generator, in_sizes, out_sizes)
    x = normal(generator, 2, *in_sizes)
    full, bias = ndlinear.dense(weights, biases, descending=descending)
    wanted = ndlinear.ndlinear(x, weights, biases, descending=descending)
    assert_same(F.linear(x.flatten(1), full, bias), wanted.flatten(1))


def test_the_bias_of_three_modes_in_closed_form(generator):
    weights, (b1, b2, b3) = random_terms(generator, (2, 3, 5), (5, 2, 3))
    _, c2, c3 = (weight.sum(1) for weight in weights)
    wanted = torch.einsum("i,j,k->ijk", b1, c2, c3) + torch.outer(b2, c3) + b3
    assert_same(ndlinear.dense(weights, [b1, b2, b3])[1], wanted.flatten())


def test_a_sum_of_terms_has_kronecker_rank_r(generator):
    weights = [normal(generator, 3, 7, 5), normal(generator, 3, 5, 7)]
    x = normal(generator, 2, 5, 7)
    full = sum(torch.kron(weights[0][term], weights[1][term]) for term in range(3))
    assert_same(ndlinear.ndlinear_sum(x, weights).flatten(1), x.flatten(1) @ full.T)
    rearranged = full.reshape(7, 5, 5, 7).transpose(1, 2).reshape(35, 35)
    assert torch.linalg.matrix_rank(rearranged) == 3


def test_parameters_are_counted():
    assert ndlinear.num_parameters((2, 3, 5), (7, 11, 13)) == 2 * 7 + 7 + 3 * 11 + 11 + 5 * 13 + 13
    assert ndlinear.num_parameters((4, 4, 4), (4, 4, 4), bias=False) == 3 * 4**2  # section 2.2: 3 D²
