"""Pooling: against loops, with masks, and in low precision."""

import itertools

import pytest
import torch

from multiway import ops
from tolerances import assert_same

SIZES = [(5,), (3, 5), (2, 3, 5), (2, 3, 1, 5)]
DIM = 7


def tokens(generator, sizes, dtype=torch.float64):
    return torch.randn(2, *sizes, DIM, dtype=dtype, generator=generator)


def summed_by_loops(x, mode, valid):
    sums = torch.zeros(x.shape[0], x.shape[mode + 1], x.shape[-1], dtype=x.dtype)
    counts = torch.zeros(*sums.shape[:2], 1, dtype=x.dtype)
    for place in itertools.product(*map(range, x.shape[:-1])):
        if valid[place]:
            here = (place[0], place[mode + 1])
            sums[here], counts[here] = sums[here] + x[place], counts[here] + 1
    return sums, counts


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("masked", [True, False])
def test_pooling_is_a_loop_over_tokens(sizes, masked, generator):
    x = tokens(generator, sizes).requires_grad_()
    valid = torch.rand(x.shape[:-1], generator=generator) < (0.6 if masked else 2)
    for mode in range(len(sizes)):
        sums, counts = ops.pool_modes(x, mode, valid=valid if masked else None)
        expected, expected_counts = summed_by_loops(x, mode, valid)
        cotangent = torch.randn(expected.shape, dtype=expected.dtype, generator=generator)
        assert_same(sums, expected)
        assert_same(*(torch.autograd.grad(each, x, cotangent)[0] for each in (sums, expected)))
        assert_same(torch.as_tensor(counts, dtype=x.dtype).expand_as(expected_counts), expected_counts)


def test_an_invalid_token_gets_no_gradient(generator):
    x = tokens(generator, (3, 5)).requires_grad_()
    valid = torch.rand(x.shape[:-1], generator=generator) < 0.5
    ops.pool_modes(x, 0, valid=valid)[0].sum().backward()
    assert_same(x.grad, valid[..., None].to(x.dtype).expand_as(x))


def test_pooling_has_exact_derivatives(generator):
    x = tokens(generator, (2, 3)).requires_grad_()
    valid = torch.rand(x.shape[:-1], generator=generator) < 0.6
    assert torch.autograd.gradcheck(lambda x: ops.pool_modes(x, 1, valid=valid)[0], x)


def test_an_invalid_token_may_be_nan():
    x = torch.ones(1, 2, 3, DIM)
    x[0, 1, 2] = torch.nan
    sums, counts = ops.pool_modes(x, 0, valid=~x.isnan().any(-1))
    assert_same(sums, counts.expand_as(sums))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_counts_are_exact_in_low_precision(dtype):
    x = torch.ones(1, 3, 2053, 1, dtype=dtype)  # a number that neither holds
    _, counts = ops.pool_modes(x, 0, valid=x[..., 0] > 0)
    assert_same(counts, torch.full((1, 3, 1), 2053.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_sum_may_leave_the_range_of_its_terms(dtype):
    x = torch.full((1, 3, 67, 1), 2048.0, dtype=dtype)  # 67 of them are beyond 65504, and even in no half precision
    for valid in (None, x[..., 0] > 0):
        sums, _ = ops.pool_modes(x, 0, valid=valid)
        assert_same(sums, torch.full((1, 3, 1), 67 * 2048.0))


def pool_otherwise(kind, x, mode, valid=None, vector=None):
    """Pooling that is no sum; learned with a vector that is not zero unless one is given."""
    if kind == "max":
        return ops.max_over_modes(x, mode, valid=valid)
    vector = torch.linspace(-1, 1, x.shape[-1], dtype=x.dtype) if vector is None else vector
    return ops.weighted_over_modes(x, vector, mode, valid=valid)


def pooled_by_loops(kind, x, mode, valid):
    vector, rows = torch.linspace(-1, 1, x.shape[-1], dtype=x.dtype), []
    for sample, position in itertools.product(range(len(x)), range(x.shape[mode + 1])):
        line = x[sample].select(mode, position)[valid[sample].select(mode, position)]
        if not len(line):
            rows.append(x.new_zeros(x.shape[-1]))
        else:
            rows.append(line.amax(0) if kind == "max" else torch.softmax(line @ vector, 0) @ line)
    return torch.stack(rows).reshape(len(x), -1, x.shape[-1])


@pytest.mark.parametrize("kind", ["max", "learned"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("masked", [True, False])
def test_maxima_and_weighted_means_are_a_loop_over_positions(kind, sizes, masked, generator):
    x = tokens(generator, sizes).requires_grad_()
    valid = torch.rand(x.shape[:-1], generator=generator) < (0.6 if masked else 2)
    for mode in range(len(sizes)):
        rows, counts = pool_otherwise(kind, x, mode, valid if masked else None)
        expected = pooled_by_loops(kind, x, mode, valid)
        cotangent = torch.randn(expected.shape, dtype=expected.dtype, generator=generator)
        assert_same(rows, expected)
        assert_same(*(torch.autograd.grad(each, x, cotangent)[0] for each in (rows, expected)))
        once = (ops.count_valid(valid, mode) > 0).to(x.dtype)
        assert_same(torch.as_tensor(counts, dtype=x.dtype).expand_as(once), once)


@pytest.mark.parametrize("kind", ["max", "learned"])
def test_an_invalid_token_may_be_nan_in_every_pooling(kind):
    x = torch.ones(1, 2, 3, DIM)
    x[0, 1, 2] = torch.nan
    x.requires_grad_()
    valid = ~x.isnan().any(-1)
    rows, _ = pool_otherwise(kind, x, 0, valid)
    assert_same(rows, torch.ones(1, 2, DIM))
    rows.sum().backward()
    assert_same(x.grad[0, 1, 2], torch.zeros(DIM))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_weights_and_means_are_float32_in_low_precision(dtype, generator):
    x = tokens(generator, (3, 2053), torch.float32).to(dtype)
    rows, _ = pool_otherwise("learned", x, 0, vector=torch.zeros(DIM, dtype=dtype))
    assert_same(rows, x.float().mean(2))
    assert pool_otherwise("max", x, 0)[0].dtype == torch.float32


@pytest.mark.parametrize("kind", ["max", "learned"])
def test_nothing_pools_to_zeros(kind):
    assert_same(pool_otherwise(kind, torch.ones(2, 3, 0, DIM), 0)[0], torch.zeros(2, 3, DIM))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("masked", [True, False])
def test_pooling_of_every_mode_is_that_of_each(sizes, masked, generator):
    x = tokens(generator, sizes).requires_grad_()
    valid = torch.rand(x.shape[:-1], generator=generator) < 0.6 if masked else None
    each = [ops.pool_modes(x, mode, valid=valid) for mode in range(len(sizes))]
    for (sums, count), (expected, expected_count) in zip(ops.pool_every_mode(x, valid=valid), each, strict=True):
        cotangent = torch.randn(expected.shape, dtype=expected.dtype, generator=generator)
        assert_same(sums, expected)
        assert_same(*(torch.autograd.grad(total, x, cotangent, retain_graph=True)[0] for total in (sums, expected)))
        assert_same(torch.as_tensor(count), torch.as_tensor(expected_count))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_sums_of_every_mode_are_wide_in_low_precision(dtype, generator):
    pooled = ops.pool_every_mode(tokens(generator, (3, 5)).to(dtype))
    assert {sums.dtype for sums, _ in pooled} == {torch.float32}
