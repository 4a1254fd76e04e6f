"""Naive forecasts, ridge against a direct solve and its optimality condition, moments against sums over all windows."""

import pytest
import torch
from sklearn.linear_model import Ridge
from torch import Tensor
from torch.nn import functional as F

from multiway import ops
from multiway.errors import ConfigError, DataError, ShapeError
from multiway.ops import naive, seasonal_naive
from multiway.ops.linear_models import logistic_loss
from tolerances import COARSE32, LONG32, ROUNDING32, STEPS64, SUMS64, assert_same

PAST = torch.arange(10.0).reshape(1, 5, 2)  # steps 0 2 4 6 8 and 1 3 5 7 9


def test_naive_repeats_the_last_value():
    assert naive(PAST, 3)[0].T.tolist() == [[8, 8, 8], [9, 9, 9]]


def test_seasonal_naive_repeats_the_last_season_in_order():
    assert seasonal_naive(PAST, 7, 3)[0, :, 0].tolist() == [4, 6, 8, 4, 6, 8, 4]


def test_a_season_of_one_is_naive():
    assert torch.equal(seasonal_naive(PAST, 3, 1), naive(PAST, 3))


def test_a_season_as_long_as_the_look_back_is_the_look_back():
    assert torch.equal(seasonal_naive(PAST, 5, 5), PAST)


def test_a_season_longer_than_the_look_back_is_naive():
    assert torch.equal(seasonal_naive(PAST, 3, 6), naive(PAST, 3))


PENALTIES = (1e-3, 1.0, 1e5)


def moments(generator, *groups, rows=50, in_=7, out=5):
    past = torch.randn(*groups, rows, in_, generator=generator, dtype=torch.float64)
    future = torch.randn(*groups, rows, out, generator=generator, dtype=torch.float64)
    return past, future, past.mT @ past, past.mT @ future


@pytest.mark.parametrize("groups", [(), (3,), (2, 3)], ids=str)
def test_the_path_is_a_direct_solve_per_penalty(groups, generator):
    _, _, gram, cross = moments(generator, *groups)
    for penalty, weight in zip(PENALTIES, ops.ridge_path(gram, cross, PENALTIES), strict=True):
        direct = torch.linalg.solve(gram + penalty * torch.eye(7, dtype=torch.float64), cross).mT
        assert_same(weight, direct)


def test_it_is_scikit_learns_ridge(generator):
    past, future, gram, cross = moments(generator)
    [weight] = ops.ridge_path(gram, cross, [2.5])
    theirs = Ridge(alpha=2.5, fit_intercept=False, solver="svd").fit(past.numpy(), future.numpy())
    assert_same(weight, torch.from_numpy(theirs.coef_))


def test_it_minimises_what_it_says(generator):
    past, future, gram, cross = moments(generator)
    [weight] = ops.ridge_path(gram, cross, [3.0])
    weight = weight.clone().requires_grad_()
    loss = (future - past @ weight.T).square().sum() + 3.0 * weight.square().sum()
    [gradient] = torch.autograd.grad(loss, weight)
    assert gradient.abs().max() < 1e-10


def test_float32_moments_are_solved_in_float64(generator):
    _, _, gram, cross = moments(generator)
    [narrow] = ops.ridge_path(gram.float(), cross.float(), [1.0])
    [wide] = ops.ridge_path(gram.float().double(), cross.float().double(), [1.0])
    assert narrow.dtype == torch.float64
    assert_same(narrow, wide)


def test_a_singular_gram_gives_the_least_norm_solution(generator):
    """Twice the same column, and one that is always zero."""
    past, future, _, _ = moments(generator)
    past = torch.cat([past, past[:, :1], torch.zeros(50, 1, dtype=torch.float64)], 1)
    [weight] = ops.ridge_path(past.T @ past, past.T @ future, [1e-6])
    torch.testing.assert_close(weight.T, torch.linalg.pinv(past, rtol=SUMS64) @ future, rtol=ROUNDING32, atol=STEPS64)


def test_an_eigenvalue_that_rounding_made_negative_counts_as_zero():
    gram = torch.diag(torch.tensor([1.0, -1e-9], dtype=torch.float64))
    [weight] = ops.ridge_path(gram, torch.eye(2, dtype=torch.float64)[:, :1], [1e-9])
    assert_same(weight, torch.tensor([[1 / (1 + 1e-9), 0.0]], dtype=torch.float64))


def test_a_huge_penalty_shrinks_to_zero_and_a_path_is_lazy(generator):
    _, _, gram, cross = moments(generator)
    path = ops.ridge_path(gram, cross, [1e-8, 1e12])
    first, last = next(path), next(path)
    assert last.norm() < 1e-6 * first.norm()
    with pytest.raises(StopIteration):
        next(path)


def test_errors_come_with_the_call(generator):
    _, _, gram, cross = moments(generator)
    with pytest.raises(ShapeError, match=r"cross \(\*groups, in, out\). Got gram \(7, 6\) and cross \(7, 5\)"):
        ops.ridge_path(gram[:, :6], cross, [1.0])
    with pytest.raises(ShapeError, match=r"Got gram \(7, 7\) and cross \(6, 5\)"):
        ops.ridge_path(gram, cross[:6], [1.0])
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match=r"every penalty must be a positive number. Got"):
            ops.ridge_path(gram, cross, [1.0, wrong])
    with pytest.raises(DataError, match="ridge_path: cross has a NaN or an infinity"):
        ops.ridge_path(gram, cross / 0, [1.0])


SIZES = [(200, 3, 13, 7), (61, 2, 1, 5), (47, 1, 11, 1), (40, 2, 17, 23)]


def walks(variates: int, rows: int, generator: torch.Generator) -> Tensor:
    return torch.randn(variates, rows, generator=generator).cumsum(1) * 0.3


def steps_of(rows: Tensor, lookback: int, horizon: int) -> tuple[Tensor, Tensor]:
    """Past and future of every window and variate minus its last value, (variates, windows, steps), float64."""
    windows = rows.double().unfold(1, lookback + horizon, 1)
    past, future = windows.split([lookback, horizon], -1)
    return past - past[..., -1:], future - past[..., -1:]


def moments_of(rows: Tensor, lookback: int, horizon: int) -> ops.Moments:
    return ops.ridge_moments(rows, rows.shape[1] - lookback - horizon + 1, lookback)


@pytest.mark.parametrize(("rows", "variates", "lookback", "horizon"), SIZES)
def test_moments_from_lagged_products_are_the_sums_over_windows(rows, variates, lookback, horizon, generator):
    values = walks(variates, rows, generator)
    x, y = steps_of(values, lookback, horizon)
    moments = moments_of(values, lookback, horizon)
    assert_same(moments.gram, x.mT @ x)
    assert_same(moments.cross, x.mT @ y)
    assert_same(moments.square, y.square().sum((1, 2)))
    assert moments.count.tolist() == [x.shape[1] * horizon] * variates


@pytest.mark.parametrize(("rows", "variates", "lookback", "horizon"), SIZES)
def test_moments_of_all_variates_are_the_sums_over_variates_and_windows(rows, variates, lookback, horizon, generator):
    values = walks(variates, rows, generator)
    x, y = (steps.flatten(0, 1) for steps in steps_of(values, lookback, horizon))
    moments = ops.sum_ridge_moments(values.T, rows - lookback - horizon + 1, lookback)
    assert_same(moments.gram, (x.T @ x)[None])
    assert_same(moments.cross, (x.T @ y)[None])
    assert_same(moments.square, y.square().sum()[None])
    assert moments.count.tolist() == [y.numel()]


def test_moments_of_all_variates_are_made_in_groups(monkeypatch, generator):
    values = walks(5, 80, generator).T
    whole = ops.sum_ridge_moments(values, 72, 6)
    monkeypatch.setattr("multiway.ops.linear_models.CELLS_PER_CHUNK", 161)
    assert_same(ops.sum_ridge_moments(values, 72, 6).gram, whole.gram)


def test_moments_do_not_depend_on_the_level():
    low = torch.arange(300.0)[None].sin()
    gram, higher = (moments_of(values, 12, 5).gram for values in (low, low + 64))
    torch.testing.assert_close(gram, higher, rtol=LONG32, atol=COARSE32)


def test_moments_of_many_variates_are_made_in_groups(monkeypatch, generator):
    values = walks(5, 80, generator)
    whole = moments_of(values, 6, 3)
    monkeypatch.setattr("multiway.ops.linear_models.LAG_CELLS", 200)
    assert_same(moments_of(values, 6, 3).gram, whole.gram)


def test_the_error_from_moments_is_that_of_the_forecasts(generator):
    values = walks(3, 120, generator)
    x, y = steps_of(values, 8, 5)
    weight = torch.randn(3, 5, 8, generator=generator, dtype=torch.float64)
    expected = (y - x @ weight.mT).square().sum()
    assert moments_of(values, 8, 5).squared_error(weight) == pytest.approx(float(expected), rel=SUMS64)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_gradients_of_the_logistic_loss_are_those_of_autograd(is_sparse, generator):
    x = torch.randn(11, 5, dtype=torch.float64, generator=generator)
    y = torch.randint(0, 3, (11,), generator=generator)
    weight = torch.randn(3, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    bias = torch.randn(3, dtype=torch.float64, generator=generator, requires_grad=True)
    expected = F.cross_entropy(F.linear(x, weight, bias), y)
    gradients = torch.autograd.grad(expected, (weight, bias))
    given = x.to_sparse() if is_sparse else x
    loss, *ours = logistic_loss(given, given.T.coalesce() if is_sparse else x.T, y, weight.detach(), bias.detach())
    torch.testing.assert_close((loss, *ours), (expected.detach(), *gradients), rtol=1e-12, atol=1e-12)
    shares = torch.rand(11, dtype=torch.float64, generator=generator)
    weighed = (shares * F.cross_entropy(F.linear(x, weight, bias), y, reduction="none")).sum()
    gradients = torch.autograd.grad(weighed, (weight, bias))
    turned = given.T.coalesce() if is_sparse else x.T
    loss, *ours = logistic_loss(given, turned, y, weight.detach(), bias.detach(), shares)
    torch.testing.assert_close((loss, *ours), (weighed.detach(), *gradients), rtol=1e-12, atol=1e-12)
