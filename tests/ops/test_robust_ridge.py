"""Ridge under heavy tails and features of a kernel, against slow forms written out."""

import math

import torch

from multiway.ops.robust_ridge import clipped_process, gaussian_features, robust_ridge
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


def test_the_kernel_is_of_distances():
    x, _ = data(7)
    expected = [[math.exp(-0.3 * float((one - other).square().sum())) for other in x[:5]] for one in x]
    assert_same(gaussian_features(x, x[:5], 0.3), torch.tensor(expected, dtype=torch.float64))


def test_a_process_solves_every_row_by_those_before_it_with_errors_clipped():
    x, y = data(11)
    y[3] += 100
    kernel, noise = x @ x.T, 0.7
    errors, weights = clipped_process(kernel, y, noise)
    seen = torch.zeros(0, 3, dtype=y.dtype)
    for row in range(11):
        solved = torch.linalg.inv(kernel[:row, :row] + noise * torch.eye(row, dtype=y.dtype)) @ seen
        error = y[row] - kernel[row, :row] @ solved
        assert_same(errors[row], error)
        clipped = error * min(1.0, noise**0.5 / float(error.square().mean().sqrt()))
        seen = torch.cat([seen, (y[row] - error + clipped)[None]])
    assert_same(kernel @ weights, kernel @ torch.linalg.inv(kernel + noise * torch.eye(11, dtype=y.dtype)) @ seen)


def test_a_row_that_is_not_known_leaves_the_forecasts_of_others_as_they_are_foreseen():
    x, y = data(7)
    broken = y.clone()
    broken[-1, 0] = torch.nan
    kernel = x @ x.T
    errors, weights = clipped_process(kernel, broken, 0.7)
    before, fewer = clipped_process(kernel[:-1, :-1], y[:-1], 0.7)
    assert_same(errors[:-1], before)
    assert_same(kernel[:, :-1] @ fewer, kernel @ weights)
