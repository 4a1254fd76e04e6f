"""Factors and their application: against formed Kronecker products, torch's attention, and awkward masks."""

import functools
import itertools
import math

import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from multiway.errors import ShapeError
from multiway.ops.attention import apply_factors, kernel_factor, masked_softmax, normalised_features, softmax_factor
from tolerances import ROUNDING32, assert_same

HEADS, HEAD_DIM, BATCH = 2, 3, 2
SIZES = [(5,), (3, 5), (2, 3, 5), (3, 5, 2, 7), (2, 11, 7)]


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
    leaves = [value, *(each for each in factors if each is not None)]
    assert_same_with_gradients(ours, formed(value, factors, combine), leaves, generator)


def assert_same_with_gradients(ours, expected, leaves, generator):
    cotangent = normal(generator, *expected.shape)
    assert_same(ours, expected)
    for mine, theirs in zip(*(torch.autograd.grad(out, leaves, cotangent) for out in (ours, expected)), strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize("kinds", ["psp", "spcs", "cssp", "ss-c", "s-pc", "pcss"])
def test_pairs_and_other_sizes_mix_with_what_is_joined(kinds, generator):
    """Of each mode: a square matrix, other queries, a pair, or nothing."""
    sizes = (2, 3, 5, 7)[: len(kinds)]
    value = values(generator, sizes)
    given = {
        "s": lambda size: (factor(generator, size),),
        "c": lambda size: (factor(generator, 4, size),),
        "p": lambda size: (factor(generator, size, 11), factor(generator, size, 11)),
        "-": lambda size: (),
    }
    parts = [given[kind](size) for kind, size in zip(kinds, sizes, strict=True)]
    factors = [each if len(each) == 2 else each[0] if each else None for each in parts]
    matrices = [each[0] @ each[1].mT if isinstance(each, tuple) else each for each in factors]
    out_sizes = [4 if kind == "c" else size for kind, size in zip(kinds, sizes, strict=True)]
    ours = apply_factors(value, factors, HEADS)
    assert ours.shape == (BATCH, *out_sizes, HEADS * HEAD_DIM)
    leaves = [value, *itertools.chain(*parts)]
    assert_same_with_gradients(ours.flatten(1, -2), formed(value, matrices, "product"), leaves, generator)


def test_other_sizes_of_queries_are_reached_in_the_cheapest_order():
    """Against every order; the count is what `torch`'s own counter sees."""
    for pairs in itertools.permutations([(2, 7), (5, 3), (11, 13)]):
        value = torch.ones(BATCH, *(columns for _, columns in pairs), HEADS * HEAD_DIM)
        factors = [torch.ones(BATCH, HEADS, *each) for each in pairs]
        with FlopCounterMode(display=False) as counter:
            apply_factors(value, factors, HEADS)
        best = min(sum(costs(pairs, order)) for order in itertools.permutations(range(3)))
        assert counter.get_total_flops() == 2 * BATCH * HEADS * HEAD_DIM * best


def costs(pairs, order):
    sizes = [columns for _, columns in pairs]
    for mode in order:
        yield math.prod(sizes) * pairs[mode][0]
        sizes[mode] = pairs[mode][0]


@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 0, 5), (2, 3, 0)], ids=str)
@pytest.mark.parametrize("combine", ["product", "sum"])
def test_nothing_in_is_nothing_out(shape, combine):
    batch, *sizes = shape
    value = torch.ones(*shape, HEADS * HEAD_DIM)
    out = apply_factors(value, [torch.ones(batch, HEADS, size, size) for size in sizes], HEADS, combine)
    assert out.shape == value.shape


def test_wide_factors_leave_narrow_values_narrow():
    value, factors = (
        torch.ones(BATCH, 3, 5, 6).bfloat16(),
        [torch.eye(size).expand(BATCH, HEADS, -1, -1) for size in (3, 5)],
    )
    assert torch.equal(apply_factors(value, factors, HEADS), value)


def test_a_sum_of_one_mode_may_have_other_sizes_of_queries(generator):
    value, only = values(generator, (3, 5)), factor(generator, 7, 5)
    summed = apply_factors(value, [None, only], HEADS, "sum")
    assert_same(summed, apply_factors(value, [None, only], HEADS))


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
    assert_same_with_gradients(paired, whole, [value, first, left, right], generator)


def test_a_pair_may_have_other_sizes_of_queries(generator):
    value, left, right = values(generator, (3, 5)), factor(generator, 2, 7), factor(generator, 5, 7)
    paired = apply_factors(value, [None, (left, right)], HEADS)
    assert_same(paired, apply_factors(value, [None, left @ right.mT], HEADS))


def test_softmax_is_torchs_where_nothing_is_masked(generator):
    logits = normal(generator, 2, 3, 5, 7).requires_grad_()
    ours, theirs = masked_softmax(logits), torch.softmax(logits, -1)
    assert_same_with_gradients(ours, theirs, [logits], generator)


@pytest.mark.parametrize("offset", [0.0, -1e4, 1e4])
def test_a_masked_softmax_is_torchs_over_the_other_keys(offset, generator):
    logits = (normal(generator, 3, 5) + offset).requires_grad_()
    mask = torch.tensor([True, False, True, True, False])
    kept = torch.softmax(logits[:, mask], -1)
    expected = torch.zeros_like(logits).index_copy(-1, mask.nonzero()[:, 0], kept)
    assert_same_with_gradients(masked_softmax(logits, mask), expected, [logits], generator)


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


@pytest.mark.parametrize(("dtype", "kept", "lost"), [(torch.float32, 1e-12, 1e-13), (torch.float64, 1e-100, 1e-103)])
def test_weights_far_below_rounding_are_kept_and_vanishing_ones_are_zero(dtype, kept, lost):
    weights = masked_softmax(torch.tensor([[1.0, kept, lost]], dtype=dtype).log())[0]
    torch.testing.assert_close(weights[1].item(), kept, rtol=ROUNDING32 * 10, atol=0)
    assert weights[2] == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_low_precision_keeps_small_weights(dtype):
    logits = torch.tensor([[0.0, -6.0, -9.0]], dtype=dtype)
    assert_same(masked_softmax(logits), torch.softmax(logits, -1))
    assert (masked_softmax(logits) > 0).all()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # torch's own use of it
def test_softmax_has_forward_derivatives(generator):
    logits, tangent = normal(generator, 3, 5), normal(generator, 3, 5)
    ours, theirs = (
        torch.func.jvp(each, (logits,), (tangent,))[1]
        for each in (masked_softmax, lambda rows: torch.softmax(rows, -1))
    )
    assert_same(ours, theirs)


def test_softmax_under_vmap(generator):
    logits = normal(generator, 4, 3, 5)
    assert_same(torch.func.vmap(masked_softmax)(logits), torch.softmax(logits, -1))


def test_gradients_of_the_softmax_under_vmap(generator):
    logits, mask = normal(generator, 4, 3, 5), torch.rand(4, 3, 5, generator=generator) < 0.6
    masked = torch.func.grad(lambda logits, mask: masked_softmax(logits, mask).square().sum())
    expected = torch.stack([masked(*each) for each in zip(logits, mask, strict=True)])
    assert_same(torch.func.vmap(masked)(logits, mask), expected)


def queries_and_keys(generator, dim):
    return [normal(generator, BATCH, HEADS, size, dim).requires_grad_() for size in (3, 5)]


def some_keys(generator):
    """A mask of queries and keys; every query has a key."""
    mask = torch.rand(BATCH, HEADS, 3, 5, generator=generator) < 0.5
    mask[..., 0] = True
    return mask


@pytest.mark.parametrize("masked", [True, False])
def test_a_softmax_factor_is_torchs_attention_of_the_unit_vectors(masked, generator):
    query, key = queries_and_keys(generator, 7)
    mask = some_keys(generator) if masked else None
    units = torch.eye(5, dtype=torch.float64).expand(BATCH, HEADS, 5, 5)
    expected = F.scaled_dot_product_attention(query, key, units, attn_mask=mask)
    assert_same_with_gradients(softmax_factor(query, key, mask), expected, [query, key], generator)


@pytest.mark.parametrize("masked", [True, False])
def test_a_kernel_factor_is_the_kernel_over_its_sum(masked, generator):
    query, key = queries_and_keys(generator, 7)
    mask = some_keys(generator) if masked else None
    kernel = query.exp() @ key.exp().mT * (1 if mask is None else mask)
    expected = kernel / kernel.sum(-1, keepdim=True)
    assert_same_with_gradients(kernel_factor(query, key, mask), expected, [query, key], generator)


def test_normalised_features_multiply_to_the_kernel_factor(generator):
    query, key = queries_and_keys(generator, 7)
    mask = torch.tensor([True, False, True, True, False]).expand(BATCH, HEADS, 5)
    left, right = normalised_features(query, key, mask)
    expected = kernel_factor(query, key, mask[..., None, :])
    assert_same_with_gradients(left @ right.mT, expected, [query, key], generator)


def test_key_features_are_means(generator):
    """Their columns sum to one, so that values in half precision stay within its range."""
    _, right = normalised_features(*queries_and_keys(generator, 7))
    assert_same(right.sum(-2), torch.ones_like(right.sum(-2)))


def test_features_without_any_key_are_finite_with_zero_gradient(generator):
    query, key = queries_and_keys(generator, 7)
    left, right = normalised_features(query, key, torch.zeros(BATCH, HEADS, 5, dtype=torch.bool))
    grads = torch.autograd.grad((left @ right.mT).sum(), (query, key))
    assert torch.isfinite(left).all()
    assert all((each == 0).all() for each in (right, *grads))


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
        ((3, 5), [(2, 3), (5, 5)], "sum", "as many queries as keys on every attended mode; got [(2, 3), (5, 5)]. Use"),
    ],
)
def test_errors_name_sizes(sizes, rows, combine, text, generator):
    factors = [factor(generator, *each) for each in rows]
    with pytest.raises(ShapeError) as error:
        apply_factors(values(generator, sizes), factors, HEADS, combine)
    assert text in str(error.value)


def test_an_error_counts_the_keys_of_a_pair(generator):
    pair = factor(generator, 5, 2), factor(generator, 7, 2)
    with pytest.raises(ShapeError, match="mode 1 of the values has size 5 but its factor has 7 keys"):
        apply_factors(values(generator, (3, 5)), [None, pair], HEADS)
