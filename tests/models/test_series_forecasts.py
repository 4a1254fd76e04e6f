"""Candidates of forecasts: shapes and recursions against loops, classical models against statsforecast."""

import numpy as np
import pytest
import torch

from multiway import ops
from multiway.models.recursions import SeriesRows
from multiway.models.series_units import Units
from multiway.models.smoothing import THETAS, LogSmoothing, Smoothing, Theta
from multiway.models.windows import History
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


def series_of(*every):
    """Series that end at the row before `len(values)`."""
    return [SeriesRows(np.asarray(values, float), len(values) - 1) for values in every]


def history(rows, ends, start=0):
    """Rows of some series whose first has a number on the calendar, and where futures begin."""
    rows = torch.from_numpy(np.asarray(rows, float))
    rows = rows if rows.ndim == 2 else rows[:, None]
    return History(rows, None, start + torch.arange(len(rows)), torch.tensor(ends))


def ahead(model, rows, ends, start=0):
    """Forecasts of some futures, of the first series."""
    return model(torch.zeros(len(ends), 3, 1), history(rows, ends, start))[..., 0].double().numpy()


CLASSICAL = {
    "ets": (Smoothing, "AutoETS", {}),
    "theta": (Theta, "AutoTheta", {}),
    "ets_log": (LogSmoothing, None, {}),
    "arima": (ArimaForecaster, "AutoARIMA", {"approximation": True}),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["ets", "theta", "arima"])
@pytest.mark.parametrize("shift", [0.0, -60.0])
def test_a_classical_model_is_the_librarys(library, name, shift):
    """After the rows of the fit, of series that are positive and of others; from a window alone that ends there too."""
    values, (build, theirs, options) = monthly() + shift, CLASSICAL[name]
    model = build(12, 12, single(values))
    model.fit_series(series_of(values[:100]))
    expected = getattr(library, theirs)(season_length=12, **options).fit(values[:100]).predict(12)["mean"]
    np.testing.assert_allclose(ahead(model, values, [100])[0], expected, rtol=LONG32, atol=1e-4)
    alone = model(torch.from_numpy(values[70:100])[None, :, None])[0, :, 0]
    np.testing.assert_allclose(alone, expected, rtol=LONG32, atol=1e-4)


@pytest.mark.parametrize("form", THETAS)
@pytest.mark.parametrize("season", [1, 12])
def test_every_form_of_theta_is_the_librarys_and_follows_later_rows(library, form, season):
    """The state after each row is the library's of the whole series, where its parameters are those of the fit."""
    values = monthly()
    model = Theta(HORIZON, season, single(values))
    model.fit_series(series_of(values[:100]), {0: {"model": form}})
    theirs = library.AutoTheta(season_length=season, model=form).fit(values[:100])
    assert model.forms[0] == {"model": form}
    np.testing.assert_allclose(ahead(model, values, [100])[0], theirs.predict(HORIZON)["mean"], rtol=LONG32)
    level, mean, a, b, n = (float(each) for each in [*theirs.model_["states"][-1][:4].tolist(), 100])
    alpha, dynamic = theirs.model_["par"]["alpha"], form.startswith("D")
    shape = theirs.model_["seas_forecast"]["mean"] if season > 1 else np.ones(1)
    for step, value in enumerate(values[100:107]):
        free, before = value / shape[step % season], mean
        level, mean = alpha * free + (1 - alpha) * level, (n * mean + free) / (n + 1)
        if dynamic:
            b = ((n - 1) * b + 6 * (free - before) / (n + 1)) / (n + 2)
            a = mean - b * (n + 2) / 2
        n += 1
    weight = 1 - 1 / theirs.model_["par"]["theta"]
    expected = level + weight * (a * (1 - alpha) ** n + b * (1 - (1 - alpha) ** (n + 1)) / alpha)
    np.testing.assert_allclose(ahead(model, values, [107])[0, 0], expected * shape[7 % season], rtol=LONG32)


@pytest.mark.parametrize("season", [1, 12])
def test_smoothing_of_logarithms_is_the_librarys_on_them(library, season):
    """A series with a value below zero has the library's as it is."""
    values = monthly()
    for shift in (0.0, -60.0):
        some = values + shift
        model = LogSmoothing(HORIZON, season, single(some))
        model.fit_series(series_of(some[:100]))
        into, back = (np.log, np.exp) if shift == 0 else (np.asarray, np.asarray)
        forms = [library.AutoETS(model="AZN"), *([library.AutoETS(12, model="AZA")] if season > 1 else [])]
        best = min((form.fit(into(some[:100])) for form in forms), key=lambda fitted: fitted.model_["aicc"])
        expected = back(best.predict(HORIZON)["mean"])
        np.testing.assert_allclose(ahead(model, some, [100])[0], expected, rtol=LONG32, atol=1e-4)
        later = back(best.forward(into(some[:109]), h=HORIZON)["mean"])
        np.testing.assert_allclose(ahead(model, some, [109])[0], later, rtol=LONG32, atol=1e-4)
        assert model.logged.tolist() == [shift == 0]


DAMPED = {"model": "AAN", "damped": True, "season_length": 1}
SEASONAL = {"model": "ANA", "damped": False, "season_length": 12}
ORDER = {"order": (2, 1, 0), "seasonal_order": (1, 0, 0), "season_length": 12, "include_mean": False}


@pytest.mark.parametrize(
    ("build", "name", "form"),
    [(Smoothing, "AutoETS", DAMPED), (Smoothing, "AutoETS", SEASONAL), (ArimaForecaster, "ARIMA", ORDER)],
)
def test_what_errors_a_model_expects_grows_as_the_librarys(library, build, name, form):
    values = monthly(110)
    model = build(HORIZON, form["season_length"], single(values))
    model.fit_series(series_of(values), {0: form})
    fitted = getattr(library, name)(**form).fit(values)
    theirs = fitted.predict(HORIZON, level=[80])
    widths = theirs["hi-80"] - theirs["mean"]
    spread = model.spread()[:, 0].numpy()
    np.testing.assert_allclose(spread / spread[0], widths / widths[0], rtol=1e-4)
    errors = fitted.model_.get("actual_residuals", fitted.model_["residuals"])[-30:]
    count = 110 - fitted.model_.get("n_params", len(fitted.model_.get("coef", ())))
    np.testing.assert_allclose(spread[0], np.sqrt(np.mean(np.square(errors)) * 110 / count), rtol=SUMS64)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "tolerance"), [("ets", LONG32), ("arima", 1e-3)])
def test_the_state_follows_the_rows_after_the_fit_as_the_librarys_does(library, name, tolerance):
    """The library runs its parameters over all rows from the first on, for each future anew."""
    values, (build, theirs, options) = monthly(), CLASSICAL[name]
    model = build(12, 12, single(values))
    model.fit_series(series_of(values[:100]))
    search = getattr(library, theirs)(season_length=12, **options).fit(values[:100])
    found = ahead(model, values, [101, 109, 120])
    for forecast, end in zip(found, (101, 109, 120), strict=True):
        np.testing.assert_allclose(forecast, search.forward(values[:end], h=12)["mean"], rtol=tolerance)


@pytest.mark.parametrize("name", CLASSICAL)
def test_a_future_depends_on_the_rows_before_it_alone(library, name):
    """Whatever comes after it, whichever other futures are asked for, and where the rows begin."""
    values, build = monthly(60), CLASSICAL[name][0]
    model = build(HORIZON, 12, single(values))
    model.fit_series(series_of(values[:48]))
    every = ahead(model, values, [20, 48, 53, 60])
    for forecast, end in zip(every, (20, 48, 53, 60), strict=True):
        changed = np.append(values[:end], values[end:] + 99.0)
        np.testing.assert_array_equal(ahead(model, changed, [end])[0], forecast)
        if end >= 48:  # from rows that end the fit on, the state is that of all rows
            np.testing.assert_allclose(ahead(model, values[40:], [end - 40], 40)[0], forecast, rtol=SUMS64)
    assert np.ptp(ahead(model, values, [53]) - every[1]) > 0


@pytest.mark.parametrize("name", CLASSICAL)
def test_a_series_that_ends_early_is_run_on_from_its_own_last_row(library, name):
    values, build = monthly(60), CLASSICAL[name][0]
    both = np.stack([values, np.append(values[:50], np.full(10, np.nan))], 1)
    own = Units(*(torch.tensor([value, value]) for value in (0.0, 1.0, values.min(), values.max())))
    model, alone = build(HORIZON, 12, own), build(HORIZON, 12, single(values))
    model.fit_series([SeriesRows(values, 59), SeriesRows(values[:50], 49)], searches=2)
    alone.fit_series(series_of(values[:50]))
    seen = ~np.isnan(both)
    rows = History(
        torch.from_numpy(np.where(seen, both, 0.0)), torch.from_numpy(seen), torch.arange(60), torch.tensor([50])
    )
    found = model(torch.zeros(1, 3, 2), rows)[0, :, 1].double().numpy()
    np.testing.assert_allclose(found, ahead(alone, values[:50], [50])[0], rtol=SUMS64)


def test_a_series_without_a_model_has_the_last_value_or_is_smoothed_by_half():
    values = np.array([4.0, 2.0, 3.0, 3.5])
    for build, expected in ((ArimaForecaster, 3.5), (Smoothing, 3.25), (LogSmoothing, 3.25), (Theta, 3.25)):
        model = build(HORIZON, 1, single(values))
        model.fit_series(series_of(values))
        np.testing.assert_allclose(ahead(model, values, [4])[0], expected, rtol=SUMS64)
        assert not model.forms


@pytest.mark.parametrize(("lowest", "model"), [(0.5, "MAM"), (0.0, "AAA"), (-0.5, "AAA")])
def test_a_form_that_multiplies_adds_once_its_series_has_reached_zero(lowest, model):
    form = {"season_length": SEASON, "model": "MAM", "damped": False}
    values = np.append(np.tile([3.0, 5.0, 4.0, 2.0, 6.0], 6), lowest)
    assert Smoothing(HORIZON, SEASON, units()).still(form, values) == form | {"model": model}


@pytest.mark.parametrize("times", [False, True])
def test_smoothing_is_its_recursion_step_by_step(times):
    model = Smoothing(HORIZON, SEASON, units(low=(0.1, 0.1)))
    for name, value in {"alpha": 0.3, "beta": 0.1, "gamma": 0.2, "phi": 0.9, "times": times}.items():
        getattr(model, name).fill_(value)
    shape = torch.tensor([0.8, 1.3, 1.0, 0.7, 1.2], dtype=torch.float64)
    model.level.fill_(2.0), model.trend.fill_(0.1), model.shape.copy_(shape[:, None].expand(-1, 2))
    y = (windows()[1, :, 0] + 3.0).tolist()
    model.end.fill_(0), model.last.fill_(y[0])
    level, trend, season = 2.0, 0.1, shape.tolist()
    for value in y[1:]:
        ahead_, first = level + 0.9 * trend, season.pop(0)
        error = value - (ahead_ * first if times else ahead_ + first)
        step = error / first if times else error
        season.append(first + 0.2 * (error / ahead_ if times else error))
        level, trend = ahead_ + 0.3 * step, 0.9 * trend + 0.1 * step
    out = []
    for h in range(1, HORIZON + 1):
        value = level + sum(0.9**i for i in range(1, h + 1)) * trend
        out.append(value * season[(h - 1) % SEASON] if times else value + season[(h - 1) % SEASON])
    rows = np.stack([y, y], 1)
    found = model(torch.zeros(1, 3, 2), history(rows, [LOOKBACK]))[0, :, 0]
    np.testing.assert_allclose(found, out, rtol=LONG32)


@pytest.mark.parametrize("build", [Smoothing, Theta])
def test_a_season_that_multiplies_adds_once_a_value_is_none(library, build):
    """A positive series falls to zero after the fit: forecasts before are the same, and those after are near."""
    values = monthly(72)
    model = build(12, 12, single(values))
    model.fit_series(series_of(values[:60]))
    fallen = np.append(values[:66], np.linspace(values[65], -3.0, 6))
    assert bool(model.times.all())
    before, after = ahead(model, fallen, [66, 72])
    np.testing.assert_array_equal(before, ahead(model, values, [66])[0])
    assert 0.5 < np.ptp(after) / np.ptp(before) < 2.0


@pytest.mark.parametrize("name", ["flair", "log", "theta", "ets", "ets_log", "arima"])
def test_a_window_alone_is_forecast_as_in_a_batch(name):
    own = units()
    model = {
        "flair": lambda: Flair(LOOKBACK, HORIZON, SEASON, own),
        "log": lambda: TransformedRidge("log", LOOKBACK, HORIZON, 1, own),
        "theta": lambda: Theta(HORIZON, SEASON, own),
        "ets": lambda: Smoothing(HORIZON, SEASON, own),
        "ets_log": lambda: LogSmoothing(HORIZON, SEASON, own),
        "arima": lambda: ArimaForecaster(HORIZON, SEASON, own),
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
    model.fit_series(series_of(*rows.T), searches=4)
    searched = [0, 3, 6, 9]
    assert list(model.forms) == list(range(10))
    found = [model.forms[series] for series in searched]
    for series in (1, 2, 8):
        fits = [library.AutoETS(**form).fit(rows[:, series]).model_ for form in found]
        best = min(range(4), key=lambda place: fits[place]["aicc"])
        assert model.forms[series] == found[best]
    repeated = Smoothing(HORIZON, 1, many)
    repeated.fit_series(series_of(*rows[:50].T), model.forms, 4)
    assert repeated.forms == model.forms and not torch.equal(repeated.alpha, model.alpha)


def test_a_given_order_is_refitted(library):
    values = np.cumsum(np.random.default_rng(3).standard_normal(90)) + 20
    model = ArimaForecaster(HORIZON, 1, single(values))
    order = {"order": (2, 1, 0), "seasonal_order": (0, 0, 0), "season_length": 1, "include_mean": False}
    model.fit_series(series_of(values), {0: order})
    assert model.forms[0]["order"] == (2, 1, 0)
    expected = library.ARIMA(**order).fit(values).predict(HORIZON)["mean"]
    np.testing.assert_allclose(ahead(model, values, [90])[0], expected, rtol=LONG32)


@pytest.mark.parametrize("build", [Smoothing, ArimaForecaster])
def test_a_form_without_a_season_is_searched_anew_once_there_are_two(library, build):
    """A form that was found on fewer values than two seasons says nothing of the season."""
    values = monthly(48)
    model, later = (build(12, 12, single(values)) for _ in range(2))
    model.fit_series(series_of(values[:28]))
    later.fit_series(series_of(values), model.forms)
    assert model.forms[0]["season_length"] == 1 and later.forms[0]["season_length"] == 12


def test_a_positive_series_keeps_low_values_and_counts_none_as_half_of_its_smallest():
    own = units(low=(4.0, -4.0))
    values = torch.tensor([0.5, 1e-6, 0.0, -3.0, 6.0])[:, None].expand(-1, 2)
    expected = torch.tensor([[0.5, 2.0, 2.0, 2.0, 6.0], values[:, 1].tolist()], dtype=torch.float64)
    torch.testing.assert_close(own.into(values[None])[0].T, expected)
