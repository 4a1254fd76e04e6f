"""Forecasts from whole seasons: what is seen, which fit answers, and that a sample depends on itself alone."""

import pytest
import torch

from multiway.models.aligned import PENALTIES, AlignedSeasons
from multiway.models.regression import Regressors
from multiway.ops.robust_ridge import robust_ridge
from tolerances import assert_same

LOOKBACK, HORIZON, SEASON, SERIES, ROWS = 21, 5, 3, 2, 400


def rows():
    make = torch.Generator().manual_seed(0)
    noise = torch.randn(ROWS, SERIES, generator=make, dtype=torch.float64)
    known = torch.randn(ROWS, 1, 2, generator=make, dtype=torch.float64)
    season = 3 * torch.arange(ROWS).remainder(SEASON)[:, None]
    return season + known @ torch.tensor([2.0, 0.0], dtype=torch.float64) + 0.1 * noise, known


def windows(values, known):
    at = torch.arange(LOOKBACK, ROWS - HORIZON)
    steps = at[:, None] + torch.arange(-LOOKBACK, HORIZON)
    own = known[steps]
    return values[steps][:, :LOOKBACK], Regressors(own, own[..., :0]), at, values[steps][:, LOOKBACK:]


@pytest.fixture(scope="module", params=[False, True], ids=["levels", "moved"])
def fitted(request):
    values, known = rows()
    model = AlignedSeasons(LOOKBACK, HORIZON, SEASON, SERIES, 2, moved=request.param)
    model.set_units(values)
    model.fit(*windows(values, known), PENALTIES[0])
    return model


def test_season_and_covariates_are_foreseen(fitted):
    past, covariates, clock, future = windows(*rows())
    error = (fitted(past, covariates, clock) - future).abs().mean()
    assert error < 0.4  # the noise alone has 0.08, a seasonal naive forecast 2.3: effects are not additive in arsinh


def test_a_window_depends_on_itself_alone(fitted):
    past, covariates, clock, _ = windows(*rows())
    whole = fitted(past, covariates, clock)
    one = fitted(past[17:18], Regressors(*(part[17:18] for part in covariates)), clock[17:18])
    assert_same(one[0], whole[17])


def test_without_a_kernel_and_own_fits_it_is_the_mean_of_ridges_on_parts_of_the_past():
    values, known = rows()
    model = AlignedSeasons(LOOKBACK, HORIZON, SEASON, 1, moved=True)
    model.set_units(values[:, :1])
    past, _, _, future = windows(values[:, :1], known)
    model.fit(past, None, None, future, 4.0)
    z = torch.asinh((past - model.centre) / model.spread)[..., 0]
    y = torch.asinh((future - model.centre) / model.spread)[..., 0] - z[:, -1:]
    x = z - z[:, -1:]
    deviation = x.std(0, correction=0)
    x = (x - x.mean(0)) / torch.where(deviation > 1e-9, deviation, 1.0)
    parts = []
    for steps in (21, 10, 5):
        line = robust_ridge(x[:, -steps:], y, 0.04 * len(x))
        parts.append(x[:, -steps:] @ line.weight + line.bias)
    expected = torch.sinh(sum(parts) / 3 + z[:, -1:]) * model.spread + model.centre
    assert_same(model(past)[..., 0], expected)


def test_every_phase_has_its_own_fit_on_whole_seasons_back():
    model = AlignedSeasons(LOOKBACK, HORIZON, SEASON, 1, moved=False)
    past = torch.arange(LOOKBACK, dtype=torch.float64)[None, :, None]
    model.set_units(past[0])
    z, last = model.features(past, None, torch.tensor([7]))
    seen = [0, 1, 2, 12, 13, 14, 15, 16, 17, 18, 19, 20]  # seven seasons back, three, two and one
    assert_same(z[0, 0, :12], model.into(past)[0, seen, 0])
    assert_same(z[0, 0, 12:], torch.tensor([0, 0, 1, 0, 0, 0, 0], dtype=torch.float64))  # step 7 is of season 2
    assert not last.any()


def test_a_series_that_hardly_moves_has_the_unit_of_its_deviation():
    model = AlignedSeasons(LOOKBACK, HORIZON, SEASON, 3, moved=True)
    values = torch.zeros(101, 3, dtype=torch.float64)
    values[::10, 0] = 5.0  # more than half of the values are equal
    values[:, 2] = torch.arange(101)
    model.set_units(values)
    assert_same(model.spread[1], torch.ones((), dtype=torch.float64))
    assert_same(model.spread[2], torch.tensor(1.4826 * 25, dtype=torch.float64))
    assert model.spread[0] > 1
