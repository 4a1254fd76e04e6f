"""Floors of a grid, beside slow ones that are written as a textbook has them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from multiway.tasks.grids import floors
from tasks.grids.fields import make_field
from tolerances import LONG64, ROUNDING64, assert_near

PERIOD, HORIZON = 12, 3


@pytest.fixture
def values():
    """Cells side by side, `(times, 14)`, some of them missing now and then."""
    cells = make_field(80).reshape(80, -1)
    cells = cells[:, np.isfinite(cells).all(0)]
    cells[np.random.default_rng(3).random(cells.shape) < 0.1] = np.nan
    return cells


@pytest.fixture
def weights(values):
    drawn = np.random.default_rng(1).random(values.shape[1])
    return drawn / drawn.sum()


def phases(count):
    return (np.arange(count) + 5) % PERIOD


def slow_climatology(values, phases, period, reach):
    result = np.empty((period, values.shape[1]))
    for phase in range(period):
        near = [(phase + shift) % period for shift in range(-reach, reach + 1)]
        for cell in range(values.shape[1]):
            own = [row[cell] for row, at in zip(values, phases, strict=True) if at in near and np.isfinite(row[cell])]
            result[phase, cell] = np.mean(own) if own else np.nanmean(values[:, cell])
    return result


@pytest.mark.parametrize(("period", "reach"), [(12, 0), (53, 2)])
def test_a_climatology_is_the_mean_of_each_phase(values, period, reach):
    places = (np.arange(len(values)) + 5) % period
    found = floors.climatology(values, places, period)
    assert_near(found, slow_climatology(values, places, period, reach), ROUNDING64)


def test_a_phase_that_no_time_is_of_has_the_mean_of_the_cell(values):
    found = floors.climatology(values[:5], np.arange(5), PERIOD)
    assert_near(found[7], np.nanmean(values[:5], axis=0), ROUNDING64)


@pytest.mark.parametrize("context", [1, 4])
def test_the_last_known_value_is_carried_within_the_context(values, context):
    values[20:30, 0] = np.nan
    found = floors.carry(values, context)
    for row in range(len(values)):
        for cell in range(values.shape[1]):
            known = [value for value in values[max(0, row - context + 1) : row + 1, cell] if np.isfinite(value)]
            np.testing.assert_equal(found[row, cell], known[-1] if known else np.nan)


def test_damping_is_the_regression_of_a_later_anomaly_shrunk_to_that_of_all_cells(values, weights):
    lead = 2
    pairs = [(a, b) for a, b in zip(values[:-lead] - 280, values[lead:] - 280, strict=True)]
    products, squares, counts = (np.zeros(values.shape[1]) for _ in range(3))
    for now, later in pairs:
        for cell in range(values.shape[1]):
            if np.isfinite(now[cell] * later[cell]):
                products[cell] += now[cell] * later[cell]
                squares[cell] += now[cell] ** 2
                counts[cell] += 1
    common = sum(w * p for w, p in zip(weights, products, strict=True)) / sum(weights * squares)
    more = floors.PRIOR * squares / counts
    expected = [(p + m * common) / (s + m) for p, s, m in zip(products, squares, more, strict=True)]
    found = floors.fit_damping(values - 280, lead, weights)[lead - 1]
    assert_near(found, np.clip(expected, 0, 1), ROUNDING64)
    assert 0 < found.min() and found.max() < 1


def test_patterns_are_eigenvectors_of_the_weighted_covariance(values, weights):
    anomalies = np.nan_to_num(values - np.nanmean(values, axis=0))
    scaled = anomalies * np.sqrt(weights)
    energy, vectors = np.linalg.eigh(scaled.T @ scaled)
    found = floors.leading_patterns(anomalies, weights, 4)
    assert_near(np.abs(np.sum(found * vectors[:, ::-1][:, :4].T, axis=1)), np.ones(4), LONG64)
    variances = (floors.amounts(anomalies, weights, found) ** 2).sum(0)
    assert_near(variances, energy[::-1][:4], LONG64)


def test_the_penalty_of_a_ridge_is_the_best_by_cross_validation_of_single_times():
    draw = np.random.default_rng(0)
    now = draw.normal(size=(40, 5))
    later = now @ draw.normal(size=(5, 5)) / 3 + draw.normal(size=(40, 5))
    scale, scores, maps = (np.linalg.svd(now)[1] ** 2).mean(), [], []
    for penalty in floors.PENALTIES * scale:
        hat = now @ np.linalg.solve(now.T @ now + penalty * np.eye(5), now.T)
        scores.append((((later - hat @ later) ** 2).sum()) / (40 - np.trace(hat)) ** 2)
        maps.append(np.linalg.solve(now.T @ now + penalty * np.eye(5), now.T @ later))
    assert len(set(np.argsort(scores)[:1])) == 1
    assert_near(floors.fit_ridge(now, later), maps[int(np.argmin(scores))], LONG64)


@pytest.mark.parametrize("lead", [1, 3])
def test_every_floor_says_what_its_name_says(values, weights, lead):
    fitted = floors.fit_floors(values[:60], phases(60), weights, period=PERIOD, horizon=HORIZON, modes=4)
    past = floors.History(floors.carry(values, PERIOD), phases(len(values) + HORIZON), weights)
    origins = np.array([60, 70])
    found = floors.forecast_floors(fitted, past, origins, lead)
    for place, origin in enumerate(origins):
        usual = fitted.climatology[(origin + lead + 5) % PERIOD]
        last = past.last[origin]
        off = last - fitted.climatology[(origin + 5) % PERIOD]
        amounts = [sum(np.sqrt(weights) * off * pattern) for pattern in fitted.patterns]
        later = sum(amount * row for amount, row in zip(amounts, fitted.maps[lead - 1], strict=True))
        ridge = usual + sum(a * pattern for a, pattern in zip(later, fitted.patterns, strict=True)) / np.sqrt(weights)
        expected = {
            "climatology": usual,
            "persistence": last,
            "season": past.last[origin + lead - PERIOD],
            "damped": usual + fitted.damping[lead - 1] * off,
            "eof_ridge": ridge,
        }
        assert set(expected) == set(floors.FLOORS)
        for name, field in expected.items():
            assert_near(found[name][place], field, LONG64)


def test_a_cell_that_nothing_is_known_of_lately_has_its_climatology(values, weights):
    fitted = floors.fit_floors(values, phases(len(values)), weights, period=PERIOD, horizon=1, modes=2)
    values[60:, 3] = np.nan
    past = floors.History(floors.carry(values, 4), phases(len(values) + 1), weights)
    found = floors.forecast_floors(fitted, past, np.array([79]), 1)
    usual = fitted.climatology[(80 + 5) % PERIOD, 3]
    assert [found[name][0, 3] for name in ("persistence", "damped")] == [usual, usual]


def test_no_later_time_changes_a_forecast(values, weights):
    other = values.copy()
    other[61:] += 5
    known = []
    for each in (values, other):
        fitted = floors.fit_floors(each[:61], phases(61), weights, period=PERIOD, horizon=HORIZON, modes=4)
        past = floors.History(floors.carry(each, PERIOD), phases(len(each) + HORIZON), weights)
        known.append(floors.forecast_floors(fitted, past, np.array([60]), 3))
    for name in floors.FLOORS:
        np.testing.assert_array_equal(known[0][name], known[1][name])


def products_of(errors):
    return np.einsum("tic,tjc->tij", errors, errors)


def test_a_blend_is_the_best_convex_one_where_errors_are_apart():
    errors = np.random.default_rng(0).normal(size=(60, 3, 8)) * np.array([1, 1.2, 1.3])[:, None]
    products = products_of(errors)
    found = floors.blend_weights(products)
    mean = products.mean(0)
    best = minimize(
        lambda w: w @ mean @ w, np.full(3, 1 / 3), bounds=[(0, 1)] * 3, tol=1e-14,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )  # fmt: skip
    assert found.sum() == pytest.approx(1) and (found >= 0).all()
    assert found @ mean @ found <= best.fun * 1.001


def test_a_floor_answers_alone_where_a_blend_is_clearly_worse_on_other_times():
    errors = np.random.default_rng(0).normal(size=(8, 3, 5))
    errors[:, 1] *= 0.1
    errors[:, 2] = errors[:, 1] * np.where(np.arange(8) < 4, -1, 40)[:, None]
    assert list(floors.blend_weights(products_of(errors))) == [0, 1, 0]
    assert list(floors.blend_weights(products_of(errors)[:2])) == [0, 1, 0]
