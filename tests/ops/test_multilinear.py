"""Mode products against definitions, torch.kron and tensorly."""

import itertools
import math

import pytest
import tensorly
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from multiway import ops
from multiway.errors import ShapeError
from reference import hot
from tolerances import assert_same

SIZES = [(7,), (3, 5), (2, 3, 5), (2, 1, 3, 5)]
BATCH = 4


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_unfold_is_tensorlys_and_fold_undoes_it(sizes, generator):
    x = normal(generator, BATCH, *sizes)
    for mode in range(len(sizes)):
        matrix = ops.unfold(x, mode)
        assert_same(matrix, torch.stack([torch.from_numpy(tensorly.unfold(each.numpy(), mode)) for each in x]))
        assert_same(ops.fold(matrix, mode, sizes), x)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_mode_product_is_the_definition_forward_and_backward(sizes, generator):
    for mode, out in itertools.product(range(len(sizes)), (1, 2, 11)):
        x = normal(generator, BATCH, *sizes).requires_grad_()
        matrix = normal(generator, out, sizes[mode]).requires_grad_()
        fast = ops.mode_product(x, matrix, mode)
        slow = torch.stack([hot.mode_product(each, matrix, mode) for each in x])
        assert_same(fast, slow)
        cotangent = normal(generator, *fast.shape)
        grads = torch.autograd.grad(fast, [x, matrix], cotangent)
        for grad, want in zip(grads, torch.autograd.grad(slow, [x, matrix], cotangent), strict=True):
            assert_same(grad, want)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_mode_product_has_right_second_derivatives(sizes, generator):
    for mode in range(len(sizes)):
        inputs = [normal(generator, 2, *sizes).requires_grad_(), normal(generator, 2, sizes[mode]).requires_grad_()]
        function = lambda x, matrix, mode=mode: ops.mode_product(x, matrix, mode)  # noqa: E731
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs)


def test_mode_product_takes_views_and_empty_batches(generator):
    x, matrix = normal(generator, 5, 3, 4).transpose(1, 2), normal(generator, 2, 4)
    assert_same(ops.mode_product(x, matrix, 0), torch.einsum("bij,ai->baj", x, matrix))
    assert ops.mode_product(x[:0], matrix, 0).shape == (0, 2, 3)


def test_mode_product_follows_autocast():
    x, matrix = torch.ones(2, 16, 3), torch.ones(5, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert {ops.mode_product(x, matrix, 0).dtype, ops.mode_product(x.mT, matrix, 1).dtype} == {torch.bfloat16}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_multi_mode_product_is_a_kronecker_product(sizes, generator):
    x = normal(generator, BATCH, *sizes)
    matrices = [normal(generator, size + 2, size) for size in sizes]
    out = ops.multi_mode_product(x, matrices)
    assert_same(out.flatten(1), x.flatten(1) @ hot.kronecker(matrices).T)
    theirs = [tensorly.tenalg.multi_mode_dot(each.numpy(), [matrix.numpy() for matrix in matrices]) for each in x]
    assert_same(out, torch.stack([torch.from_numpy(each) for each in theirs]))


def test_multi_mode_product_leaves_a_mode_alone(generator):
    x, matrix = normal(generator, 2, 3, 5), normal(generator, 7, 5)
    assert_same(ops.multi_mode_product(x, [None, matrix]), ops.mode_product(x, matrix, 1))
    assert ops.multi_mode_product(x, [None, None]) is x


size = st.integers(1, 9)


@settings(deadline=None, max_examples=60)
@given(pairs=st.lists(st.tuples(size, size), min_size=1, max_size=4))
def test_the_order_of_products_is_the_cheapest(pairs):
    """Against every order; the count is what `torch`'s own counter sees."""
    x = torch.ones(1, *(in_ for in_, _ in pairs))
    matrices = [torch.ones(out, in_) for in_, out in pairs]
    with FlopCounterMode(display=False) as counter:
        ops.multi_mode_product(x, matrices)
    best = min(sum(costs(pairs, order)) for order in itertools.permutations(range(len(pairs))))
    assert counter.get_total_flops() == 2 * best


def costs(pairs, order):
    sizes = [in_ for in_, _ in pairs]
    for mode in order:
        yield math.prod(sizes) * pairs[mode][1]
        sizes[mode] = pairs[mode][1]


def test_errors_name_both_sizes():
    x = torch.zeros(1, 2, 4)
    with pytest.raises(ShapeError, match=r"mode 1 of x has size 4 but matrix has 3 columns. Got x \(1, 2, 4\)"):
        ops.mode_product(x, torch.zeros(9, 3), 1)
    with pytest.raises(ShapeError, match=r"unfold: mode 2 is not one of the 2 modes of x \(1, 2, 4\); modes count"):
        ops.unfold(x, 2)
    with pytest.raises(ShapeError, match="unfold: mode 1 is not one of the 1 modes"):
        ops.unfold(x[0], 1)
    with pytest.raises(ShapeError, match="mode -1 is not one of the 2 modes"):
        ops.mode_product(x, torch.zeros(9, 3), -1)
    with pytest.raises(ShapeError, match=r"give one matrix or None per mode. Got 1 for x"):
        ops.multi_mode_product(x, [None])
    with pytest.raises(ShapeError, match=r"mode 2 is not one of the 2 modes of sizes \(3, 4\)"):
        ops.fold(x, 2, (3, 4))
    with pytest.raises(ShapeError, match=r"need a matrix \(3, 4\) per sample. Got \(1, 2, 4\), batch first"):
        ops.fold(x, 0, (3, 4))
