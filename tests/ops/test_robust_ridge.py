"""Ridge under heavy tails and features of a kernel, against slow forms written out."""

import torch

from multiway.ops.robust_ridge import gaussian_features, robust_ridge, whitening
from tolerances import assert_same


def data(rows=23, features=5, out=3):
    make = torch.Generator().manual_seed(0)
    x = torch.randn(rows, features, generator=make, dtype=torch.float64)
    y = x @ torch.randn(features, out, generator=make, dtype=torch.float64) + 2
    return x, y + torch.randn(rows, out, generator=make, dtype=torch.float64) ** 3


def by_rows(x, y, penalty, rounds):
    """The same by least squares on rows times the roots of their weights, penalty rows below."""
    columns = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], 1)
    weights = torch.ones(len(x), dtype=x.dtype)
    below = penalty**0.5 * torch.eye(columns.shape[1], dtype=x.dtype)
    below[-1] = 0
    for each in range(rounds + 1):
        roots = weights.sqrt()[:, None]
        left, right = torch.cat([roots * columns, below]), torch.cat([roots * y, y.new_zeros(len(below), y.shape[1])])
        solved = torch.linalg.lstsq(left, right, driver="gelsd").solution
        if each < rounds:
            sizes = torch.tensor([float(row.square().mean().sqrt()) for row in y - columns @ solved], dtype=x.dtype)
            weights = torch.stack([1 / max(size, 0.3 * sizes.median()) for size in sizes])
            weights = weights * len(x) / weights.sum()
    return solved


def test_robust_ridge_is_reweighted_least_squares():
    x, y = data()
    for rounds in (0, 1, 2):
        line = robust_ridge(x, y, 0.7, rounds)
        assert_same(torch.cat([line.weight, line.bias[None]]), by_rows(x, y, 0.7, rounds))


def test_one_broken_row_hardly_moves_the_fit():
    x, _ = data()
    clean = x @ torch.ones(5, 3, dtype=torch.float64)
    broken = clean.clone()
    broken[7] += 1000
    plain, robust = (robust_ridge(x, broken, 1e-6, rounds).weight - 1 for rounds in (0, 20))
    assert robust.abs().max() < 0.02 * plain.abs().max()


def test_whitened_kernel_features_have_the_kernel_as_their_product():
    x, _ = data(7)
    features = gaussian_features(x, x, 0.3) @ whitening(x, 0.3)
    expected = torch.tensor(
        [[float(torch.exp(-0.3 / 5 * (one - other).square().sum())) for other in x] for one in x], dtype=torch.float64
    )
    assert_same(features @ features.T, expected)
