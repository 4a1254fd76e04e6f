"""Σ_r A_r X B_rᵀ in every way, against `torch.kron`."""

import itertools

import pytest
import torch

from multiway import ops
from multiway.errors import ShapeError
from multiway.ops.chains import round_rows
from tolerances import assert_same

WAYS = ("right", "left", "dense")


def factors(terms, out1, in1, out2, in2, generator):
    shapes = [(3, in1, in2), (terms, out1, in1), (terms, out2, in2), (out1, out2)]
    return [torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_() for shape in shapes]


def dense(x, left, right, bias):
    weight = sum(torch.kron(a, b) for a, b in zip(left, right, strict=True))
    return (x.flatten(1) @ weight.T).view(len(x), left.shape[1], right.shape[1]) + bias


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sizes", [(1, 7, 5, 11, 2), (3, 2, 5, 7, 13), (2, 1, 3, 5, 1), (4, 1, 1, 1, 1)], ids=str)
def test_every_way_is_the_dense_product(sizes, way, generator):
    inputs = factors(*sizes, generator)
    ours, theirs = ops.kronecker_sum_apply(*inputs, way=way), dense(*inputs)
    assert_same(ours, theirs)
    cotangent = torch.randn(theirs.shape, dtype=torch.float64, generator=generator)
    for mine, other in zip(*(torch.autograd.grad(out, inputs, cotangent) for out in (ours, theirs)), strict=True):
        assert_same(mine, other)


@pytest.mark.parametrize("way", WAYS)
def test_no_bias_and_no_rows(way, generator):
    x, left, right, bias = factors(2, 3, 5, 7, 11, generator)
    without = ops.kronecker_sum_apply(x, left, right, way=way)
    assert_same(without + bias, ops.kronecker_sum_apply(x, left, right, bias, way=way))
    assert ops.kronecker_sum_apply(x[:0], left, right, bias, way=way).shape == (0, 3, 7)


def test_the_matrix_is_the_sum_of_krons(generator):
    _, left, right, _ = factors(3, 2, 5, 7, 11, generator)
    assert_same(ops.kronecker_sum_matrix(left, right), sum(torch.kron(a, b) for a, b in zip(left, right, strict=True)))


def test_the_input_is_never_copied(generator):
    """The largest tensor made is one of the products, whichever comes first."""
    from torch.utils._python_dispatch import TorchDispatchMode

    made = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            storage = out.untyped_storage()
            made.extend([storage.nbytes() // 4] if storage.data_ptr() != x.untyped_storage().data_ptr() else [])
            return out

    x = torch.randn(50, 31, 29, generator=generator)
    left, right = torch.randn(1, 2, 31, generator=generator), torch.randn(1, 3, 29, generator=generator)
    for way, largest in (("right", 50 * 31 * 3), ("left", 50 * 2 * 29)):
        made.clear()
        with torch.no_grad(), Watch():
            ops.kronecker_sum_apply(x, left, right, way=way)
        assert max(made) == largest


@pytest.mark.parametrize(
    ("in_sizes", "out_sizes", "terms", "way"),
    [
        ((64, 64), (64, 64), (1, 2, 1), "right"),
        ((64, 64), (64, 64), (1, 64, 1), "dense"),
        ((64, 64), (2, 64), (1, 1, 1), "left"),
        ((64, 64), (64, 2), (1, 1, 1), "right"),
    ],
)
def test_the_cheapest_way_shrinks_first_and_forms_what_is_full(in_sizes, out_sizes, terms, way):
    assert ops.cheapest_cut(in_sizes, out_sizes, terms, 256) == ops.Cut(1, way)


def test_a_cut_balances_the_halves():
    sizes = (2,) * 12
    assert ops.cheapest_cut(sizes, sizes, (1, *[2] * 11, 1), 64).position == 6
    assert ops.cheapest_cut((5,), (7,), (1, 1)) == ops.Cut(0, "right")


def test_factors_that_do_not_fit_are_named(generator):
    x, left, right, _ = factors(2, 3, 5, 7, 11, generator)
    with pytest.raises(ShapeError, match=r"x \(3, 5, 11\), batch first, needs left factors \(terms, out, 5\)"):
        ops.kronecker_sum_apply(x, right, left)
    with pytest.raises(ShapeError, match=r"as many right ones .* Got \(2, 3, 5\) and \(1, 7, 11\)"):
        ops.kronecker_sum_apply(x, left, right[:1])


def test_batches_are_told_apart_by_powers_of_four():
    rounded = [round_rows(rows) for rows in range(0, 5000)]
    assert set(rounded) == {4**power for power in range(7)}
    assert rounded == sorted(rounded)
    assert all(rows / 4 < found <= 4 * rows for rows, found in itertools.islice(enumerate(rounded), 1, None))
