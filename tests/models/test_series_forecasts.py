"""Candidates of forecasts: shapes and recursions against loops, classical models against statsforecast."""

import numpy as np
import pytest
import torch

from multiway import ops
from multiway.models.series_units import Units
from multiway.models.smoothing import ADDED, NONE, TIMES, Smoothing, Theta
from multiway.tasks.forecasting.candidates.arima import ArimaForecaster
from multiway.tasks.forecasting.candidates.flair import Flair
from multiway.tasks.forecasting.candidates.ridge_log import TransformedRidge
from tolerances import LONG32, SUMS64

SEASON, LOOKBACK, HORIZON = 5, 23, 7


@pytest.fixture(scope="module")
def library():
    return pytest.importorskip("statsforecast.models", reason="statsforecast is not installed")


def windows(batch=3, series=2, seed=0):
    """Positive windows whose second series is shifted below zero."""
    rng = np.random.default_rng(seed)
    values = np.exp(0.3 * rng.standard_normal((batch, LOOKBACK, series)) + 0.02 * np.arange(LOOKBACK)[:, None])
    return torch.from_numpy(values - np.array([0.0, 1.5]))


def units(low=(0.1, -2.0), high=(9.0, 9.0)) -> Units:
    return Units(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 1.0]), torch.tensor(low), torch.tensor(high))


def slow_shape(values, multiplies):
    """Phase by phase and cycle by cycle, of one series; numpy alone."""
    count = len(values) // SEASON
    cycles = [values[len(values) - (count - c) * SEASON :][:SEASON] for c in range(count)]
    levels = [sum(cycle) / SEASON for cycle in cycles]
    shape = []
    for phase in range(SEASON):
        centred = (phase - (SEASON - 1) / 2) / SEASON
        if multiplies:
            growth = (levels[-1] / levels[0]) ** (1 / (count - 1))
            ratios = [cycle[phase] / level for cycle, level in zip(cycles, levels, strict=True)]
            shape.append(sum(ratios) / count / growth**centred)
        else:
            growth = (levels[-1] - levels[0]) / (count - 1)
            differences = [cycle[phase] - level for cycle, level in zip(cycles, levels, strict=True)]
            shape.append(sum(differences) / count - growth * centred)
    mean = sum(shape) / SEASON
    return np.array([value / mean if multiplies else value - mean for value in shape])


def test_a_shape_is_that_of_the_loop():
    x, times = windows(), torch.tensor([True, False])
    shape = ops.season_shape(x, SEASON, times).numpy()
    for batch in range(3):
        for series, multiplies in enumerate((True, False)):
            expected = slow_shape(x[batch, :, series].tolist(), multiplies)
            np.testing.assert_allclose(shape[batch, :, series], expected, rtol=SUMS64, atol=SUMS64)


def test_a_series_of_rank_one_that_grows_is_its_shape_times_its_level():
    step = torch.arange(LOOKBACK + HORIZON, dtype=torch.float64)
    shape = torch.tensor([0.8, 1.3, 1.0, 0.7, 1.2], dtype=torch.float64)
    here, ahead = ops.phases(LOOKBACK, HORIZON, SEASON)
    whole = (3.0 + 0 * step) * shape[torch.cat([here, ahead])]
    x = whole[None, :LOOKBACK, None].expand(1, -1, 2)
    found = ops.season_shape(x, SEASON, torch.tensor([True, True]))
    torch.testing.assert_close(found[0, :, 0], shape / shape.mean())
    flair = Flair(LOOKBACK, HORIZON, SEASON, units(low=(0.1, 0.1)))
    torch.testing.assert_close(flair(x.float())[0, :, 0].double(), whole[LOOKBACK:], rtol=LONG32, atol=0)


def test_what_is_freed_of_a_shape_comes_back_with_it():
    x, times = windows(), torch.tensor([True, False])
    here, _ = ops.phases(LOOKBACK, HORIZON, SEASON)
    shape = ops.season_shape(x, SEASON, times)[:, here]
    torch.testing.assert_close(ops.with_shape(ops.without_shape(x, shape, times), shape, times), x)


def test_a_past_of_one_cycle_has_no_shape():
    shape = ops.season_shape(windows()[:, :9], SEASON, torch.tensor([True, False]))
    assert (shape[..., 0] == 1).all() and (shape[..., 1] == 0).all()


def test_flair_is_fitted_as_least_squares_on_levels():
    model = Flair(LOOKBACK, HORIZON, SEASON, units())
    rows = windows(batch=200, seed=1)
    past, future = rows[:, :LOOKBACK].float(), torch.roll(rows, 1, 0)[:, :HORIZON].float()
    gram, cross, square = model.moments(past, future)
    times = torch.tensor([True, False])
    here, ahead = ops.phases(LOOKBACK, HORIZON, SEASON)
    shape = ops.season_shape(past.double().maximum(torch.tensor([0.05, -99.0])), SEASON, times)
    x, y = (ops.without_shape(part.double(), shape[:, steps], times) for part, steps in ((past, here), (future, ahead)))
    last = x[:, -1:]
    x, y = ((part - last).transpose(1, 2).reshape(-1, part.shape[1]) for part in (x, y))
    torch.testing.assert_close(gram, x.T @ x, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(cross, x.T @ y, rtol=1e-9, atol=1e-9)
    assert float(square) == pytest.approx(float(y.square().sum()))


@pytest.mark.parametrize("kind", ["log", "root"])
def test_a_ridge_of_a_transform_without_weights_is_the_last_value(kind):
    model = TransformedRidge(kind, LOOKBACK, HORIZON, 1, units())
    x = windows().float().clamp_min(-1.9)
    x[..., 0] = x[..., 0].clamp_min(0.2)
    torch.testing.assert_close(model(x), x[:, -1:].expand(-1, HORIZON, -1), rtol=LONG32, atol=1e-5)
    assert model.transformed.tolist() == [True, False]


def test_a_logarithm_makes_growth_a_line():
    model = TransformedRidge("log", 3, 2, 1, units(low=(0.1, 0.1), high=(99.0, 99.0)))
    model.floor.set_weight(torch.tensor([[[0.0, -1.0, 0.0], [0.0, -2.0, 0.0]]]))  # the last change once, and twice
    past = torch.tensor([1.0, 2.0, 4.0])[None, :, None].expand(1, -1, 2)
    torch.testing.assert_close(model(past)[0, :, 0], torch.tensor([8.0, 16.0]), rtol=LONG32, atol=0)


def monthly(count=120, seed=3):
    rng, month = np.random.default_rng(seed), np.arange(count)
    return np.exp(4 + 0.008 * month + 0.2 * np.sin(2 * np.pi * month / 12) + 0.03 * rng.standard_normal(count))


def single(values) -> Units:
    return Units(torch.zeros(1), torch.ones(1), torch.tensor([values.min()]), torch.tensor([values.max()]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_arima_is_the_librarys_after_any_window(library):
    values, lookback = monthly(), 40
    model = ArimaForecaster(lookback, HORIZON, 12, single(values))
    model.fit_series([values])
    search = library.AutoARIMA(season_length=12, approximation=True).fit(values)
    for end in (70, 101):
        window = values[end - lookback : end]
        expected = search.forward(window, h=HORIZON)["mean"]
        found = model(torch.from_numpy(window)[None, :, None].float())[0, :, 0]
        np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_arima_without_a_fit_is_the_random_walk():
    x = windows().float()
    model = ArimaForecaster(LOOKBACK, HORIZON, SEASON, units(low=(0.01, -9.0)))
    model.fit_series([np.ones(50), np.arange(5.0)])
    torch.testing.assert_close(model(x), x[:, -1:].expand(-1, HORIZON, -1), rtol=LONG32, atol=1e-6)


def test_theta_is_near_the_librarys_on_the_same_values(library):
    values = monthly()
    model = Theta(12, 12, single(values))
    model.fit_series([values])
    expected = library.Theta(season_length=12).fit(values).predict(12)["mean"]
    np.testing.assert_allclose(model(torch.from_numpy(values)[None, :, None].float())[0, :, 0], expected, rtol=0.02)


def test_exponential_smoothing_is_near_the_librarys_on_the_same_values(library):
    values = monthly()
    model = Smoothing(12, 12, single(values))
    model.fit_series([values])
    expected = library.AutoETS(season_length=12).fit(values).predict(12)["mean"]
    np.testing.assert_allclose(model(torch.from_numpy(values)[None, :, None].float())[0, :, 0], expected, rtol=0.03)
    assert int(model.kind) == TIMES


@pytest.mark.parametrize("kind", [NONE, ADDED, TIMES])
def test_smoothing_is_its_recursion_step_by_step(kind):
    model = Smoothing(HORIZON, SEASON, units(low=(0.1, 0.1)))
    for name, value in {"alpha": 0.3, "beta": 0.1, "gamma": 0.2, "phi": 0.9, "kind": kind}.items():
        getattr(model, name).fill_(value)
    x = (windows() + 3.0).float()
    y = x[1, :, 0].double().tolist()
    shape = slow_shape(y, kind == TIMES) if kind != NONE else np.zeros(SEASON)
    here = [(step - LOOKBACK) % SEASON for step in range(LOOKBACK)]
    free = [value / shape[p] if kind == TIMES else value - shape[p] for value, p in zip(y, here, strict=True)]
    time = np.arange(LOOKBACK) - (LOOKBACK - 1) / 2
    trend = float(time @ np.array(free) / (time @ time))
    level, season = float(np.mean(free)) - trend * (LOOKBACK + 1) / 2, list(shape)
    for value, p in zip(y, here, strict=True):
        ahead = level + 0.9 * trend
        error = value - (ahead * season[p] if kind == TIMES else ahead + season[p])
        step = error / season[p] if kind == TIMES else error
        moved = 0.2 * (error / ahead if kind == TIMES else error) if kind != NONE else 0.0
        level, trend, season[p] = ahead + 0.3 * step, 0.9 * trend + 0.1 * step, season[p] + moved
    out = []
    for h in range(1, HORIZON + 1):
        value = level + sum(0.9**i for i in range(1, h + 1)) * trend
        out.append(value * season[(h - 1) % SEASON] if kind == TIMES else value + season[(h - 1) % SEASON])
    np.testing.assert_allclose(model(x)[1, :, 0], out, rtol=1e-4)


@pytest.mark.parametrize("name", ["flair", "log", "theta", "ets", "arima"])
def test_a_window_alone_is_forecast_as_in_a_batch(name):
    own = units()
    model = {
        "flair": lambda: Flair(LOOKBACK, HORIZON, SEASON, own),
        "log": lambda: TransformedRidge("log", LOOKBACK, HORIZON, 1, own),
        "theta": lambda: Theta(HORIZON, SEASON, own),
        "ets": lambda: Smoothing(HORIZON, SEASON, own),
        "arima": lambda: ArimaForecaster(LOOKBACK, HORIZON, SEASON, own),
    }[name]()
    x = windows(batch=5).float()
    alone = torch.cat([model(x[index : index + 1]) for index in range(5)])
    torch.testing.assert_close(model(x), alone)
    assert model(x).dtype == torch.float32 and bool(model(x).isfinite().all())


def test_a_forecast_stays_within_ten_ranges_of_the_training_values():
    own = units(low=(1.0, -1.0), high=(2.0, 1.0))
    far = own.back(torch.tensor([1e30, float("nan")], dtype=torch.float64).expand(1, 3, -1))
    assert (far[..., 0] == 12).all() and (far[..., 1] == 0).all()


def test_forms_of_a_few_series_are_tried_on_the_others(library):
    """Of ten series four are searched; the others have one of the forms found there, that of the lowest AICc."""
    rng = np.random.default_rng(0)
    trend, walk = np.arange(60.0), np.cumsum(rng.standard_normal((60, 10)), 0)
    rows = walk + np.where(np.arange(10) % 2, 0.5, 0.0) * trend[:, None] + 30
    many = Units(*(torch.full((10,), value) for value in (0.0, 1.0, 1.0, 90.0)))
    model = Smoothing(HORIZON, 1, many)
    model.fit_series(rows.T)
    searched = [0, 3, 6, 9]
    assert sorted(model.forms) == list(range(10)) and list(model.forms)[:4] == searched
    found = [model.forms[series] for series in searched]
    for series in (1, 2, 8):
        fits = [library.AutoETS(season_length=1, **form).fit(rows[:, series]).model_ for form in found]
        best = min(range(4), key=lambda place: fits[place]["aicc"])
        assert model.forms[series] == found[best]
    repeated = Smoothing(HORIZON, 1, many)
    repeated.fit_series(rows[:50].T, model.forms)
    assert repeated.forms == model.forms and not torch.equal(repeated.alpha, model.alpha)


def test_a_given_order_is_refitted(library):
    values = np.cumsum(np.random.default_rng(3).standard_normal(90)) + 20
    one = Units(*(torch.full((1,), value) for value in (0.0, 1.0, 1.0, 90.0)))
    first, repeated = (ArimaForecaster(LOOKBACK, HORIZON, 1, one) for _ in range(2))
    order = {"order": (2, 1, 0), "seasonal_order": (0, 0, 0), "season_length": 1, "include_mean": False}
    repeated.fit_series([values], {0: order})
    assert repeated.forms[0]["order"] == (2, 1, 0)
    first.fit_series([values])
    expected = library.ARIMA(**order).fit(values).forward(values[-LOOKBACK:], h=HORIZON)["mean"]
    found = repeated(torch.from_numpy(values[-LOOKBACK:])[None, :, None])
    np.testing.assert_allclose(found.flatten().numpy(), expected, rtol=LONG32)
    assert first.forms[0]["season_length"] == 1


def test_a_line_through_the_last_values_is_a_forecast(library):
    """Of twice differenced series the weights of a step grow with it, and are no sign of a filter that explodes."""
    horizon = 12
    values = 0.5 * np.arange(60.0) ** 2 + np.random.default_rng(0).standard_normal(60)
    model = ArimaForecaster(LOOKBACK, horizon, 1, single(values + 100))
    model.fit_series([values], {0: {"order": (0, 2, 0), "season_length": 1}})
    expected = values[-1] + np.arange(1, horizon + 1) * (values[-1] - values[-2])
    found = model(torch.from_numpy(values[-LOOKBACK:])[None, :, None])
    np.testing.assert_allclose(found.flatten().numpy(), expected, rtol=1e-4)


def test_a_positive_series_keeps_low_values_and_counts_none_as_half_of_its_smallest():
    own = units(low=(4.0, -4.0))
    values = torch.tensor([0.5, 1e-6, 0.0, -3.0, 6.0])[:, None].expand(-1, 2)
    expected = torch.tensor([[0.5, 2.0, 2.0, 2.0, 6.0], values[:, 1].tolist()], dtype=torch.float64)
    torch.testing.assert_close(own.into(values[None])[0].T, expected)
