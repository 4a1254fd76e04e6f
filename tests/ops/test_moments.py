"""Moments from lagged products against sums over all windows."""

import pytest
import torch
from torch import Tensor

from multiway import ops
from tolerances import COARSE32, LONG32, SUMS64, assert_same

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


def test_moments_do_not_depend_on_the_level():
    low = torch.arange(300.0)[None].sin()
    gram, higher = (moments_of(values, 12, 5).gram for values in (low, low + 64))
    torch.testing.assert_close(gram, higher, rtol=LONG32, atol=COARSE32)


def test_moments_of_many_variates_are_made_in_groups(monkeypatch, generator):
    values = walks(5, 80, generator)
    whole = moments_of(values, 6, 3)
    monkeypatch.setattr("multiway.ops.linear_models.CELLS_PER_CHUNK", 200)
    assert_same(moments_of(values, 6, 3).gram, whole.gram)


def test_the_error_from_moments_is_that_of_the_forecasts(generator):
    values = walks(3, 120, generator)
    x, y = steps_of(values, 8, 5)
    weight = torch.randn(3, 5, 8, generator=generator, dtype=torch.float64)
    expected = (y - x @ weight.mT).square().sum()
    assert moments_of(values, 8, 5).squared_error(weight) == pytest.approx(float(expected), rel=SUMS64)
