"""Forecasts on drawn-in values: what is seen, which fit answers, and that a sample depends on itself alone."""

import math

import pytest
import torch

from multiway.models import aligned
from multiway.models.aligned import AlignedSeasons, DrawnIn, RobustRidge
from multiway.models.regression import Regressors
from multiway.ops.robust_ridge import robust_ridge
from tolerances import assert_same

LOOKBACK, HORIZON, SEASON, SERIES, ROWS = 23, 2, 3, 2, 401


def rows():
    make = torch.Generator().manual_seed(0)
    noise = torch.randn(ROWS, SERIES, generator=make, dtype=torch.float64)
    known = torch.randn(ROWS, 1, 2, generator=make, dtype=torch.float64)
    season = 3 * torch.arange(ROWS).remainder(SEASON)[:, None]
    return season + known @ torch.tensor([2.0, 0.0], dtype=torch.float64) + 0.1 * noise, known


def windows(values, known, first=LOOKBACK):
    at = torch.arange(first, len(values) - HORIZON + 1)
    steps = at[:, None] + torch.arange(-LOOKBACK, HORIZON)
    own = known[steps]
    return values[steps][:, :LOOKBACK], Regressors(own, own[..., :0], at), values[steps][:, LOOKBACK:]


@pytest.fixture(scope="module", params=[AlignedSeasons, RobustRidge])
def fitted(request):
    values, known = rows()
    model = request.param(LOOKBACK, HORIZON, SEASON, SERIES, 2)
    if request.param is AlignedSeasons:
        model.fit(values, known, torch.arange(ROWS))
    else:
        model.set_units(values)
        model.penalty.fill_(1.0)
        model.fit(*windows(values, known))
    return model


def test_season_and_covariates_are_foreseen(fitted):
    past, covariates, future = windows(*rows())
    error = (fitted(past, covariates) - future).abs().mean()
    assert error < 0.4  # the noise alone has 0.08, a seasonal naive forecast 2.3: effects are not additive in arsinh


def test_a_window_depends_on_itself_alone(fitted):
    past, covariates, _ = windows(*rows())
    whole = fitted(past, covariates)
    one = fitted(past[17:18], Regressors(*(part[17:18] for part in covariates[:3])))
    assert_same(one[0], whole[17])


def z_of(drawn, known, clock, at):
    """Seasons 1, 2, 3 and 7 back, covariates ahead and 1 and 7 back, and the day of seven."""
    parts = [(1.0 if lag == 1 else 0.3) * drawn[at - 3 * lag : at - 3 * lag + 3] for lag in (1, 2, 3, 7)]
    parts += [known[at : at + HORIZON].flatten()]
    parts += [0.4 * known[at - 3 * lag : at - 3 * lag + 3].flatten() for lag in (1, 7)]
    day = torch.zeros(7, dtype=torch.float64)
    day[int(clock[at]) // 3 % 7] = 2.5
    return torch.cat([*parts, day]) / (3 + 9 * 0.3**2 + 2 * (HORIZON + 6 * 0.4**2) + 2.5**2) ** 0.5


def by_hand(values, known, clock, stop, place, noise):
    """The forecast at a row by the windows of its phase before `stop`, each solved for by those before it."""
    centre = values[:stop].median()
    spread = 1.4826 * (values[:stop] - centre).abs().median()
    drawn = torch.asinh((values - centre) / spread)
    starts = [at for at in range(LOOKBACK, stop - HORIZON + 1) if clock[at] % 3 == clock[place] % 3]
    starts = starts[-((stop - LOOKBACK - HORIZON + 1) // 3) :]
    y, z = torch.stack([drawn[at : at + HORIZON] for at in starts]), {
        at: z_of(drawn, known, clock, at) for at in (*starts, place)
    }  # fmt: skip
    forecasts = []
    for drift in (0.0, 0.6):

        def k(one, other, drift=drift):
            near, gap = math.exp(-0.3 * float((z[one] - z[other]).square().sum())), abs(one - other) / 3
            return 1 + float(z[one] @ z[other]) + near * (1 - drift + drift * math.exp(-gap / 180))

        def solved(at, count, seen, k=k):
            if not count:
                return torch.zeros(HORIZON, dtype=torch.float64)
            gram = torch.tensor([[k(one, other) for other in starts[:count]] for one in starts[:count]], dtype=y.dtype)
            row = torch.tensor([k(at, other) for other in starts[:count]], dtype=y.dtype)
            return row @ torch.linalg.inv(gram + noise * torch.eye(count, dtype=y.dtype)) @ torch.stack(seen)

        seen = []
        for count, at in enumerate(starts):
            ahead = solved(at, count, seen)
            error = y[count] - ahead
            seen.append(ahead + error * min(1.0, noise**0.5 / float(error.square().mean().sqrt())))
        forecasts.append(solved(place, len(starts), seen))
    return torch.sinh(sum(forecasts) / 2) * spread + centre


def fitted_to_few(stop=67, noise=0.003):
    values, known = rows()
    clock = torch.arange(ROWS) + 5
    model = AlignedSeasons(LOOKBACK, HORIZON, SEASON, SERIES, 2)
    model.penalty.fill_(noise)
    model.fit(values[:stop], known[:stop], clock[:stop])
    return model, values, known, clock


def test_a_forecast_is_that_of_processes_solved_window_by_window():
    model, values, known, clock = fitted_to_few()
    past, covariates, _ = windows(values, known)
    for place in (71, 90):
        at = slice(place - LOOKBACK, place - LOOKBACK + 1)
        one = Regressors(covariates.known[at], covariates.seen[at], clock[place : place + 1])
        expected = [by_hand(each, known[:, 0], clock, 67, place, 0.003) for each in values.T]
        assert_same(model(past[at], one)[0], torch.stack(expected, 1))


def test_training_windows_are_foreseen_by_those_before_them():
    model, values, _, clock = fitted_to_few()
    later = values[:67].clone()
    later[61:] += 100  # its window is the last but one
    one, other = (model.foreseen(each, int(clock[61]) % 3) for each in (values[:67], later))
    assert_same(one[:-1], other[:-1])
    assert (one[-1] - other[-1]).abs().min() > 1e-4


def test_windows_of_several_seasons_are_foreseen_by_those_that_ended_before_them():
    values, known = rows()
    model = AlignedSeasons(LOOKBACK, 7, SEASON, SERIES, 2)
    model.penalty.fill_(0.1)
    model.fit(values, known, torch.arange(ROWS), [1])
    later = values.clone()
    later[394:] += 100  # the last window of the phase
    one, other = (model.foreseen(each, 1) for each in (values, later))
    assert len(one) == -(-len(range(LOOKBACK + 2, ROWS - 6, SEASON)) // 3)
    assert_same(one, other)


def test_a_stored_fit_takes_the_sizes_of_its_rows():
    model, values, known, _ = fitted_to_few()
    loaded = AlignedSeasons(LOOKBACK, HORIZON, SEASON, SERIES, 2)
    loaded.load_state_dict(model.state_dict())
    past, covariates, _ = windows(values, known)
    assert_same(loaded(past, covariates), model(past, covariates))


def test_a_gap_of_a_target_says_nothing():
    model, values, known, clock = fitted_to_few()
    holes = values[:67].clone()
    holes[40, 0] = torch.nan
    other = AlignedSeasons(LOOKBACK, HORIZON, SEASON, SERIES, 2)
    other.penalty.fill_(0.003)
    other.fit(holes, known[:67], clock[:67])
    past, covariates, _ = windows(values, known)
    forecast = other(past, covariates)
    assert forecast.isfinite().all()
    assert_same(forecast[..., 1], model(past, covariates)[..., 1])


def test_noise_is_higher_where_nothing_repeats():
    make = torch.Generator().manual_seed(1)
    chosen = []
    for size in (0.02, 3.0):
        day = 3 * torch.arange(ROWS).remainder(SEASON)[:, None].double()
        walk = torch.randn(ROWS // SEASON + 1, 1, generator=make, dtype=torch.float64).repeat_interleave(SEASON, 0)
        noise = torch.randn(ROWS, 1, generator=make, dtype=torch.float64)
        model = AlignedSeasons(LOOKBACK, HORIZON, SEASON, 1, 1)
        model.fit(day + walk[:ROWS] + size * noise, walk[:ROWS, :, None], torch.arange(ROWS))
        chosen.append(float(model.penalty))
    assert chosen[0] < chosen[1]
    assert chosen[0] in aligned.NOISES


def test_robust_ridge_is_the_mean_of_ridges_on_parts_of_the_past():
    values, known = rows()
    model = RobustRidge(LOOKBACK, HORIZON, SEASON, 1)
    model.set_units(values[:, :1])
    model.penalty.fill_(4.0)
    past, _, future = windows(values[:, :1], known)
    model.fit(past, None, future)
    z = torch.asinh((past - model.centre) / model.spread)[..., 0]
    y = torch.asinh((future - model.centre) / model.spread)[..., 0] - z[:, -1:]
    x = z - z[:, -1:]
    deviation = x.std(0, correction=0)
    x = (x - x.mean(0)) / torch.where(deviation > 1e-9, deviation, 1.0)
    parts = []
    for steps in (23, 11, 5):
        line = robust_ridge(x[:, -steps:], y, 0.04 * len(x))
        parts.append(x[:, -steps:] @ line.weight + line.bias)
    expected = torch.sinh(sum(parts) / 3 + z[:, -1:]) * model.spread + model.centre
    assert_same(model(past)[..., 0], expected)


def test_a_series_that_hardly_moves_has_the_unit_of_its_deviation():
    model = DrawnIn(3)
    values = torch.zeros(101, 3, dtype=torch.float64)
    values[::10, 0] = 5.0  # more than half of the values are equal
    values[:, 2] = torch.arange(101)
    model.set_units(values)
    assert_same(model.spread[1], torch.ones((), dtype=torch.float64))
    assert_same(model.spread[2], torch.tensor(1.4826 * 25, dtype=torch.float64))
    assert model.spread[0] > 1
