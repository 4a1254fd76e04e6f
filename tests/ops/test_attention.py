"""Factors and their application: against formed Kronecker products, torch's softmax, and awkward masks."""

import functools
import itertools

import pytest
import torch

from multiway.errors import ShapeError
from multiway.ops.attention import MAX_MERGED, apply_factors, masked_softmax, merge_small, normalised_features
from tolerances import ROUNDING32, assert_same

HEADS, HEAD_DIM, BATCH = 2, 3, 2
SIZES = [(5,), (3, 5), (2, 3, 5), (3, 5, 2, 7), (2, 11, 7)]  # 11 x 7 is too large to be joined


def normal(generator, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def values(generator, sizes):
    return normal(generator, BATCH, *sizes, HEADS * HEAD_DIM).requires_grad_()


def factor(generator, rows, columns=None):
    return normal(generator, BATCH, HEADS, rows, columns or rows).requires_grad_()


def formed(value, factors, combine):
    """One matrix per sample and head over all tokens, by `torch.kron`."""
    batch, *sizes, width = value.shape
    flat = value.reshape(batch, -1, HEADS, width // HEADS)
    out = [[matrix_of(factors, sizes, (b, h), combine) @ flat[b, :, h] for h in range(HEADS)] for b in range(batch)]
    return torch.stack([torch.stack(heads, 1).flatten(1) for heads in out])


def matrix_of(factors, sizes, place, combine):
    eyes = [torch.eye(size, dtype=torch.float64) for size in sizes]
    given = [eye if each is None else each[place] for eye, each in zip(eyes, factors, strict=True)]
    if combine == "product":
        return functools.reduce(torch.kron, given)
    attended = [mode for mode, each in enumerate(factors) if each is not None]
    alone = [[each if at == mode else eyes[at] for at, each in enumerate(given)] for mode in attended]
    return sum(functools.reduce(torch.kron, each) for each in alone)


def subsets(sizes):
    return itertools.product([True, False], repeat=len(sizes))


@pytest.mark.parametrize("combine", ["product", "sum"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_subset_of_factors_is_the_formed_matrix(sizes, combine, generator):
    for attends in subsets(sizes):
        if any(attends):
            check_against_formed(sizes, attends, combine, generator)


def check_against_formed(sizes, attends, combine, generator):
    value = values(generator, sizes)
    factors = [factor(generator, size) if each else None for size, each in zip(sizes, attends, strict=True)]
    ours = apply_factors(value, factors, HEADS, combine).flatten(1, -2)
    expected = formed(value, factors, combine)
    leaves = [value, *(each for each in factors if each is not None)]
    cotangent = normal(generator, *expected.shape)
    assert_same(ours, expected)
    for mine, theirs in zip(*(torch.autograd.grad(out, leaves, cotangent) for out in (ours, expected)), strict=True):
        assert_same(mine, theirs)


def test_small_neighbours_are_joined_and_the_rest_is_not():
    def sizes_after(sizes, without=()):
        eyes = [None if mode in without else torch.eye(size)[None, None] for mode, size in enumerate(sizes)]
        return merge_small(sizes, eyes)[0]

    assert sizes_after((7, 7, 7)) == [7, 49]
    assert sizes_after((2, 2, 3, 5)) == [2, 30]
    assert sizes_after((8, 8)) == [8, 8]  # two modes are two products on views already
    assert MAX_MERGED < 9 * 8
    assert sizes_after((2, 9, 8)) == [2, 9, 8]
    assert sizes_after((2, 3, 5), without=[1]) == [2, 3, 5]


def test_without_factors_values_come_back(generator):
    value = values(generator, (3, 5))
    assert apply_factors(value, [None, None], HEADS) is value


def test_other_sizes_of_queries(generator):
    value, factors = values(generator, (3, 5)), [factor(generator, 7, 3), factor(generator, 2, 5)]
    out = apply_factors(value, factors, HEADS)
    expected = [[torch.kron(factors[0][b, h], factors[1][b, h]) for h in range(HEADS)] for b in range(BATCH)]
    flat = value.reshape(BATCH, 15, HEADS, HEAD_DIM)
    for b, h in itertools.product(range(BATCH), range(HEADS)):
        assert_same(out.reshape(BATCH, 14, HEADS, HEAD_DIM)[b, :, h], expected[b][h] @ flat[b, :, h])


def test_a_pair_is_its_product(generator):
    value, first = values(generator, (3, 5)), factor(generator, 3)
    left, right = factor(generator, 5, 7), factor(generator, 5, 7)
    paired = apply_factors(value, [first, (left, right)], HEADS)
    whole = apply_factors(value, [first, left @ right.mT], HEADS)
    leaves, cotangent = [value, first, left, right], normal(generator, *whole.shape)
    assert_same(paired, whole)
    for mine, theirs in zip(*(torch.autograd.grad(out, leaves, cotangent) for out in (paired, whole)), strict=True):
        assert_same(mine, theirs)


def test_softmax_is_torchs_where_nothing_is_masked(generator):
    logits = normal(generator, 2, 3, 5, 7).requires_grad_()
    ours, theirs = masked_softmax(logits), torch.softmax(logits, -1)
    cotangent = normal(generator, *theirs.shape)
    assert_same(ours, theirs)
    assert_same(*(torch.autograd.grad(out, logits, cotangent)[0] for out in (ours, theirs)))


def test_softmax_has_second_derivatives(generator):
    logits = normal(generator, 3, 5).requires_grad_()
    mask = torch.rand(3, 5, generator=generator) < 0.7
    for given in (None, mask):
        assert torch.autograd.gradcheck(masked_softmax, (logits, given))
        assert torch.autograd.gradgradcheck(masked_softmax, (logits, given))


def test_a_row_without_keys_is_zero_with_zero_gradient(generator):
    logits = normal(generator, 3, 5).requires_grad_()
    mask = torch.tensor([True, False, True])[:, None].expand(3, 5)
    weights = masked_softmax(logits, mask)
    (weights * normal(generator, 3, 5)).sum().backward()
    assert (weights[1] == 0).all()
    assert (logits.grad[1] == 0).all()
    assert (logits.grad[0] != 0).all()


def test_no_weight_is_denormal_nor_a_product_of_three():
    logits = torch.linspace(0, -200, 2001, dtype=torch.float32)[None]
    weights = masked_softmax(logits)
    kept = weights[weights > 0]
    assert (kept.double() ** 3 >= torch.finfo(torch.float32).tiny * (1 - ROUNDING32)).all()
    assert_same(weights, torch.softmax(logits, -1))
    assert (weights.sum() - 1).abs() < ROUNDING32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_low_precision_keeps_small_weights(dtype):
    logits = torch.tensor([[0.0, -6.0, -9.0]], dtype=dtype)
    assert_same(masked_softmax(logits), torch.softmax(logits, -1))
    assert (masked_softmax(logits) > 0).all()


def test_softmax_under_vmap(generator):
    logits = normal(generator, 4, 3, 5)
    assert_same(torch.func.vmap(masked_softmax)(logits), torch.softmax(logits, -1))


def test_normalised_features_have_rows_that_sum_to_one(generator):
    queries, keys = normal(generator, BATCH, HEADS, 3, 7), normal(generator, BATCH, HEADS, 5, 7)
    mask = torch.rand(BATCH, HEADS, 5, generator=generator) < 0.6
    mask[0, 0] = False
    left, right = normalised_features(queries, keys, mask)
    weights = left @ right.mT
    assert_same(weights.sum(-1), mask.any(-1)[..., None].double().expand(-1, -1, 3))
    assert (weights.masked_select(~mask[..., None, :]) == 0).all()


@pytest.mark.parametrize(
    ("sizes", "rows", "combine", "text"),
    [
        ((3, 5), [(3, 3)], "product", "one factor or None per mode. Got 1 for values with sizes (3, 5)"),
        ((3, 5), [(3, 3), (5, 7)], "product", "mode 1 of the values has size 5 but its factor has 7 keys"),
        ((3, 5), [(2, 3), (5, 5)], "sum", "as many queries as keys"),
    ],
)
def test_errors_name_sizes(sizes, rows, combine, text, generator):
    factors = [factor(generator, *each) for each in rows]
    with pytest.raises(ShapeError) as error:
        apply_factors(values(generator, sizes), factors, HEADS, combine)
    assert text in str(error.value)
