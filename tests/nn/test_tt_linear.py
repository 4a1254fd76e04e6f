"""TTLinear against the paper's equations core by core, in values and gradients, whatever the input."""

import copy
import itertools
import math

import pytest
import tensorly
import torch
from tensorly.tt_matrix import tt_matrix_to_matrix
from torch.nn import functional as F

from multiway import ops
from multiway.nn import TTLinear
from reference import tga
from tolerances import LONG64, SUMS64, TOLERANCES, assert_same

CASES = [
    ((7,), (5,), (1, 1)),
    ((3, 5), (7, 2), (1, 4, 1)),
    ((3, 5), (1, 17), (1, 1, 1)),
    ((2, 3, 5), (7, 11, 13), (1, 2, 3, 1)),
    ((13, 11, 2), (1, 2, 3), (1, 5, 3, 1)),
    ((2, 1, 3, 5), (3, 2, 1, 7), (1, 3, 1, 2, 1)),
    ((2, 3, 1, 5, 2), (3, 1, 2, 2, 5), (1, 2, 3, 2, 1, 1)),
    ((2,) * 8, (2,) * 8, (1, *(2,) * 7, 1)),
]


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_layer(generator, in_sizes, out_sizes, tt_ranks, **options):
    """In float64, no parameter at zero."""
    layer = TTLinear(in_sizes, out_sizes, tt_ranks=tt_ranks, **options).double()
    for parameter in layer.parameters():
        parameter.data = normal(generator, *parameter.shape)
    return layer


def literal(layer, x):
    """Eq. 3, core by core, and the bias, for `(batch, features)`."""
    out = tga.apply_cores(x.reshape(len(x), *layer.in_sizes), list(layer.cores)).flatten(1)
    return out if layer.bias is None else out + layer.bias


def assert_same_with_gradients(fast, slow, inputs, generator):
    assert_same(fast, slow)
    cotangent = normal(generator, *fast.shape)
    grads, wanted = (torch.autograd.grad(out, inputs, cotangent, retain_graph=True) for out in (fast, slow))
    for grad, want in zip(grads, wanted, strict=True):
        torch.testing.assert_close(grad, want, rtol=SUMS64, atol=LONG64)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_layer_is_the_equations_forward_and_backward(case, bias, generator):
    layer = random_layer(generator, *case, bias=bias)
    x = normal(generator, 4, math.prod(case[0])).requires_grad_()
    assert_same_with_gradients(layer(x), literal(layer, x), [x, *layer.parameters()], generator)
    assert_same(layer.dense_weight(), tga.flat_matrix(list(layer.cores)))
    dense = layer.to_linear()
    assert_same(dense(x), layer(x))
    assert (dense.bias is None) == (not bias)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_weight_is_tensorlys(case, generator):
    layer = random_layer(generator, *case)
    with tensorly.backend_context("numpy"):
        theirs = tt_matrix_to_matrix([core.detach().numpy() for core in layer.cores])
    assert_same(ops.tt_matrix(list(layer.cores)).detach(), torch.from_numpy(theirs).T)


@pytest.mark.parametrize("case", CASES[1:7], ids=str)
def test_every_cut_and_way_is_the_same(case, generator):
    layer = random_layer(generator, *case)
    x = normal(generator, 4, math.prod(case[0])).requires_grad_()
    wanted = literal(layer, x)
    for position, way in itertools.product(range(1, len(case[0])), ("left", "right", "dense")):
        out = ops.tensor_train_product(x, list(layer.cores), layer.bias, ops.Cut(position, way))
        assert_same_with_gradients(out, wanted, [x, *layer.parameters()], generator)


def test_one_core_is_torchs_linear_and_rank_one_a_kronecker_product(generator):
    layer, x = random_layer(generator, (7,), (5,), 1), normal(generator, 4, 7)
    assert_same(layer(x), F.linear(x, layer.cores[0][0, :, :, 0].T, layer.bias))
    a, b, c = (core[0, :, :, 0].T for core in random_layer(generator, (2, 3, 5), (5, 2, 3), 1).cores)
    layer = random_layer(torch.Generator().manual_seed(0), (2, 3, 5), (5, 2, 3), 1)
    for core, factor in zip(layer.cores, (a, b, c), strict=True):
        core.data = factor.T.detach()[None, ..., None]
    assert_same(layer.dense_weight(), torch.kron(torch.kron(a, b), c))


@pytest.mark.parametrize("lead", [(), (1,), (4,), (2, 3), (2, 1, 3, 2), (0,), (3, 0)], ids=str)
@pytest.mark.parametrize("case", CASES[:4], ids=str)
def test_any_leading_axes(case, lead, generator):
    layer, x = random_layer(generator, *case), normal(generator, *lead, math.prod(case[0])).requires_grad_()
    rows = x.reshape(math.prod(lead), math.prod(case[0]))
    out = layer(x)
    assert_same(out, literal(layer, rows).reshape(*lead, math.prod(case[1])))
    out.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.parametrize("case", CASES[:4], ids=str)
def test_the_input_need_not_be_contiguous(case, generator):
    layer, x = random_layer(generator, *case), normal(generator, 4, math.prod(case[0]))
    for other in (x.T.contiguous().T, torch.stack([x, -x], -1)[..., 0], x[:1].expand_as(x), x.flip(1).flip(1)[::2]):
        assert_same(layer(other), literal(layer, other))
    together = normal(generator, 3, math.prod(case[0]), 2).mT
    assert_same(layer(together), literal(layer, together.reshape(6, -1)).reshape(3, 2, -1))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "case",
    [((3,), (2,), 1), ((2, 3), (3, 1), 2), ((2, 1, 2), (1, 3, 2), (1, 2, 3, 1)), ((2,) * 4, (2,) * 4, 2)],
    ids=str,
)
def test_first_and_second_derivatives(case, bias, generator):
    layer = random_layer(generator, *case, bias=bias)
    names = [name for name, _ in layer.named_parameters()]

    def run(x, *parameters):
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    inputs = (normal(generator, 2, math.prod(case[0])).requires_grad_(), *layer.parameters())
    assert torch.autograd.gradcheck(run, inputs)
    assert torch.autograd.gradgradcheck(run, inputs)


@pytest.mark.parametrize("case", CASES[1:5], ids=str)
def test_gradients_of_single_samples_through_vmap(case, generator):
    layer, x = random_layer(generator, *case), normal(generator, 3, math.prod(case[0]))
    parameters = dict(layer.named_parameters())

    def loss(given, sample):
        return torch.func.functional_call(layer, given, (sample,)).square().sum()

    together = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)
    for index, sample in enumerate(x):
        layer.zero_grad()
        literal(layer, sample[None]).square().sum().backward()
        for name, parameter in layer.named_parameters():
            torch.testing.assert_close(together[name][index], parameter.grad, rtol=SUMS64, atol=LONG64)


@pytest.mark.parametrize("frozen", ["cores", "one core", "bias", "input"])
def test_what_is_frozen_gets_no_gradient_and_the_rest_its_own(frozen, generator):
    layer = random_layer(generator, *CASES[3])
    x = normal(generator, 4, 30).requires_grad_(frozen != "input")
    chosen = {"cores": layer.cores, "one core": [layer.cores[1]], "bias": [layer.bias]}
    for parameter in chosen.get(frozen, []):
        parameter.requires_grad_(False)
    wanted = [leaf for leaf in (x, *layer.parameters()) if leaf.requires_grad]
    assert_same_with_gradients(layer(x), literal(layer, x), wanted, generator)


LOW = [*CASES, ((8, 8), (8, 8), (1, 2, 1)), ((32, 32), (32, 32), (1, 2, 1)), ((16, 4), (4, 64), (1, 3, 1))]


def assert_near(out, wanted, dtype, cores):
    """To the tolerance of a low precision per core and for the input: so many products, one after another."""
    tolerance = {name: (cores + 1) * value for name, value in TOLERANCES[dtype].items()}
    torch.testing.assert_close(out.to(wanted.dtype), wanted, **tolerance)


@pytest.mark.parametrize("case", LOW, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_low_precision_is_near_float64(dtype, case):
    torch.manual_seed(0)
    layer = TTLinear(case[0], case[1], tt_ranks=case[2]).to(dtype)
    x = torch.randn(4, math.prod(case[0])).to(dtype)
    out = layer(x)
    assert out.dtype == dtype
    assert_near(out, copy.deepcopy(layer).double()(x.double()), dtype, len(case[0]))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_gives_the_dtype_that_torchs_linear_gives(dtype):
    torch.manual_seed(0)
    for in_sizes, out_sizes, tt_ranks in LOW:
        layer, x = TTLinear(in_sizes, out_sizes, tt_ranks=tt_ranks), torch.randn(4, math.prod(in_sizes))
        with torch.autocast("cpu", dtype):
            out = layer(x)
        assert_near(out, layer(x), dtype, len(in_sizes))
        out.float().sum().backward()
        assert all(p.grad.dtype == torch.float32 and p.grad.isfinite().all() for p in layer.parameters())
        assert out.dtype == dtype, (in_sizes, out_sizes)
