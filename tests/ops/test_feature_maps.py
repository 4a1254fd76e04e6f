"""Feature maps: their expectation, how their error falls, and that nothing overflows."""

import math

import pytest
import torch
from torch.nn import functional as F

from multiway import ops
from multiway.ops.attention import (
    elu_log_features,
    kernel_features,
    kernel_logits,
    positive_log_features,
    smreg_log_features,
)
from tolerances import LONG64, ROUNDING64, SUMS64, assert_same

HEAD_DIM = 5
STANDARD_ERRORS = 4
"""A right estimator leaves this range once in 16,000 tries; the seeds are fixed."""


def vectors(generator, *shape, scale=1.0):
    return scale * torch.randn(*shape, dtype=torch.float64, generator=generator)


def estimates(log_features, query, key, projections):
    """One estimate of the kernel of a query and a key per projection."""
    found = [log_features(query, each) + log_features(key, each) for each in projections]
    return torch.stack([each.exp().mean() for each in found])


def within_standard_errors(draws, expected):
    return (draws.mean() - expected).abs() <= STANDARD_ERRORS * draws.std() / math.sqrt(len(draws))


def regularised_kernel(query, key):
    """exp(-(|q|² + |k|²)/2) times the mean of exp(w·z) over the sphere |w|² = d, z = q + k, as a Bessel series.

    Σ_j (d |z|²/4)^j Γ(d/2) / (j! Γ(j + d/2)), which for w normal instead would be exp(|z|²/2).
    """
    dim, half = len(query), len(query) / 2
    query, key = (each * dim**-0.25 for each in (query, key))
    square = float((query + key).square().sum()) * dim / 4
    terms = (square**j * math.exp(math.lgamma(half) - math.lgamma(j + 1) - math.lgamma(j + half)) for j in range(60))
    return sum(terms) * math.exp(-float(query.square().sum() + key.square().sum()) / 2)


def test_smreg_is_unbiased_for_its_own_kernel(generator):
    query, key = vectors(generator, 2, HEAD_DIM)
    projections = [ops.orthogonal_projection(7, HEAD_DIM, generator=generator).double() for _ in range(3000)]
    draws = estimates(smreg_log_features, query, key, projections)
    assert within_standard_errors(draws, regularised_kernel(query, key))


def test_positive_features_of_normal_directions_are_unbiased_for_softmax(generator):
    query, key = vectors(generator, 2, HEAD_DIM, scale=0.7)
    projections = [vectors(generator, 7, HEAD_DIM) for _ in range(6000)]
    draws = estimates(positive_log_features, query, key, projections)
    assert within_standard_errors(draws, (query @ key / math.sqrt(HEAD_DIM)).exp())


def test_the_regularised_kernel_nears_softmax_from_below_as_heads_widen():
    shares = []
    for dim in (5, 50, 500):
        query, key = dim**0.25 * torch.eye(dim, dtype=torch.float64)[:2]  # of length one after scaling
        shares.append(regularised_kernel(query, key) / float((query @ key / math.sqrt(dim)).exp()))
    assert 0.8 < shares[0] < shares[1] < shares[2] < 1


def test_the_error_falls_with_the_number_of_features(generator):
    query, key = vectors(generator, 2, HEAD_DIM)
    spread = []
    for count in (5, 20, 80):
        drawn = [ops.orthogonal_projection(count, HEAD_DIM, generator=generator).double() for _ in range(400)]
        spread.append(float(estimates(smreg_log_features, query, key, drawn).std()))
    assert spread[1] < 0.65 * spread[0]  # independent blocks: half for four times as many, give or take 7 %
    assert spread[2] < 0.65 * spread[1]


def test_both_signs_vary_less_than_one(generator):
    query, key = vectors(generator, 2, HEAD_DIM)
    drawn = [ops.orthogonal_projection(10, HEAD_DIM, generator=generator).double() for _ in range(400)]
    both = estimates(smreg_log_features, query, key, [each[:5] for each in drawn])
    one = estimates(positive_log_features, query, key, drawn)
    assert both.std() < one.std()


def test_directions_are_orthogonal_in_blocks_and_of_one_length(generator):
    rows = ops.orthogonal_projection(2 * HEAD_DIM + 3, HEAD_DIM, generator=generator).double()
    for block in rows.split(HEAD_DIM):
        gram = block @ block.mT
        torch.testing.assert_close(gram, HEAD_DIM * torch.eye(len(block), dtype=gram.dtype), rtol=0, atol=1e-5)


def test_directions_point_everywhere_alike(generator):
    first = torch.stack([ops.orthogonal_projection(1, HEAD_DIM, generator=generator)[0] for _ in range(3000)])
    assert (first.mean(0).abs() < STANDARD_ERRORS / math.sqrt(3000)).all()


def test_the_generator_decides_the_directions():
    first, second, other = (
        ops.orthogonal_projection(7, HEAD_DIM, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(first, second)
    assert not torch.allclose(first, other)


@pytest.mark.parametrize(("head_dim", "count"), [(2, 4), (4, 12), (16, 80), (5, 18)])
def test_the_default_number_of_features(head_dim, count):
    assert ops.default_num_features(head_dim) == count


def test_elu_features_are_torchs_elu(generator):
    x = vectors(generator, 3, HEAD_DIM, scale=3.0)
    assert_same(elu_log_features(x, x).exp(), F.elu(x) + 1)


def test_a_very_negative_elu_feature_keeps_its_gradient():
    x = torch.tensor([[-900.0, -1.0]], dtype=torch.float64, requires_grad=True)
    elu_log_features(x, x).sum().backward()
    assert_same(x.grad, torch.ones_like(x))


def normalised(weights):
    return weights / weights.sum(-1, keepdim=True)


def test_the_shifts_cancel_once_rows_are_normalised(generator):
    queries, keys = vectors(generator, 3, 7), vectors(generator, 5, 7)
    ours, theirs = kernel_features(queries, keys)
    torch.testing.assert_close(
        normalised(ours @ theirs.mT), normalised(queries.exp() @ keys.exp().mT), rtol=SUMS64, atol=0
    )


def test_huge_logarithms_neither_overflow_nor_vanish(generator):
    queries, keys = vectors(generator, 3, 7, scale=1e4), vectors(generator, 5, 7, scale=1e4)
    ours, theirs = kernel_features(queries, keys)
    rows = (ours @ theirs.mT).sum(-1)
    assert (rows >= 1).all()
    assert (rows <= 7 * 5).all()


def test_a_masked_key_is_exactly_absent(generator):
    queries, keys = vectors(generator, 3, 7), vectors(generator, 5, 7)
    mask = torch.tensor([True, False, True, True, False])
    ours, theirs = kernel_features(queries, keys, mask)
    assert (theirs[~mask] == 0).all()
    short = kernel_features(queries, keys[mask])
    torch.testing.assert_close(
        normalised(ours @ theirs.mT)[:, mask], normalised(short[0] @ short[1].mT), rtol=SUMS64, atol=0
    )


def test_a_masked_key_does_not_hide_the_others(generator):
    """Its logarithms are so large that against them the others would vanish."""
    queries, keys = vectors(generator, 3, 7), vectors(generator, 5, 7)
    keys[2] = 1e4
    mask = torch.arange(5) != 2
    ours, theirs = kernel_features(queries, keys, mask)
    naive = normalised(queries.exp() @ keys[mask].exp().mT)
    torch.testing.assert_close(normalised(ours @ theirs.mT)[:, mask], naive, rtol=SUMS64, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_without_any_key_features_are_finite_and_keys_zero(dtype, generator):
    queries = (-100 - vectors(generator, 3, 7).abs()).to(dtype).requires_grad_()
    keys = vectors(generator, 5, 7).to(dtype).requires_grad_()
    ours, theirs = kernel_features(queries, keys, torch.zeros(5, dtype=torch.bool))
    grads = torch.autograd.grad(ours.sum() + theirs.sum(), (queries, keys))
    assert all(torch.isfinite(each).all() for each in (ours, *grads))
    assert (theirs == 0).all()
    assert (grads[1] == 0).all()


def test_kernel_logits_are_the_logarithm_of_the_product(generator):
    queries, keys = vectors(generator, 2, 3, 7).requires_grad_(), vectors(generator, 2, 5, 7).requires_grad_()
    ours, naive = kernel_logits(queries, keys), (queries.exp() @ keys.exp().mT).log()
    cotangent = vectors(generator, *naive.shape)
    grads = [torch.autograd.grad(each, (queries, keys), cotangent) for each in (ours, naive)]
    for mine, theirs in zip((ours, *grads[0]), (naive, *grads[1]), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=LONG64, atol=LONG64)


def test_kernel_logits_move_with_huge_logarithms(generator):
    queries, keys = vectors(generator, 3, 7), vectors(generator, 5, 7)
    torch.testing.assert_close(
        kernel_logits(queries + 1e4, keys), kernel_logits(queries, keys) + 1e4, rtol=ROUNDING64, atol=0
    )
