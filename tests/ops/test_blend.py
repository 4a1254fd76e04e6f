"""Weights of a blend: against a search over the simplex, drawn to equal ones, and never worse than the floor."""

import itertools

import numpy as np
import pytest

from multiway.ops import blend_weights, horizon_bands, weights_of_series
from tolerances import COARSE32


def products(factors, windows, seed=0, common=1.0):
    rng = np.random.default_rng(seed)
    errors = rng.standard_normal((windows, len(factors), 11)) + common * rng.standard_normal((windows, 1, 11))
    errors *= np.array(factors)[:, None]
    return errors @ errors.swapaxes(1, 2) / 11


def test_weights_are_those_of_the_least_shrunk_error():
    given, steps = products((1.0, 1.2, 1.5), 35), 5
    gram = given.mean(0)
    shrunk = gram + np.diag(gram).min() / 7 * np.eye(3)
    grid = np.linspace(0, 1, 101)
    points = [(a, b, 1 - a - b) for a, b in itertools.product(grid, grid) if a + b <= 1]
    best = min(points, key=lambda w: np.array(w) @ shrunk @ np.array(w))
    np.testing.assert_allclose(blend_weights(given, 0, steps, 0), best, atol=0.011)


def test_few_windows_draw_to_equal_weights():
    many, few = (blend_weights(products((1.0, 1.1), windows, common=3.0), 0, 5, 0) for windows in (2000, 5))
    assert abs(few[1] - 0.5) < abs(many[1] - 0.5) and few[1] > 0.2


def test_a_candidate_that_is_much_worse_has_no_weight():
    assert blend_weights(products((1.0, 1.0, 9.0), 60), 0, 5, 0)[2] == 0


@pytest.mark.parametrize("seed", range(30))
def test_no_blend_is_above_the_floor_on_what_it_was_chosen_on(seed):
    rng = np.random.default_rng(seed)
    windows, held, steps = 40, 11, 7
    given = products(rng.uniform(0.5, 2.0, 5), windows, seed, common=rng.uniform(0, 3))
    given[-held:] *= np.outer(*[rng.uniform(0.3, 3.0, 5)] * 2)
    weights = blend_weights(given, 2, steps, held)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1)
    for part in (given, given[-held:]):
        gram = part.mean(0)
        assert weights @ gram @ weights <= gram[2, 2] * (1 + COARSE32 * 1e-6)


def test_a_candidate_in_doubt_has_less_weight_where_little_is_known():
    given = products((1.0, 1.0), 10, common=2.0)
    plain, doubted, banned = (blend_weights(given, 0, 5, 0, [1.0, doubt])[1] for doubt in (1.0, 4.0, 1e6))
    assert plain > doubted > banned == 0


def second_share(windows, **more):
    """Weight of a candidate that is a little worse than the first."""
    return blend_weights(products((1.0, 1.05), windows, common=0.5), 0, 5, 0, **more)[1]


def test_a_plain_candidate_has_to_gain_a_standard_error_over_blocks():
    assert second_share(5) > 0.2 and second_share(5, plain=[1]) == 0
    assert second_share(400, plain=[1]) == second_share(400) > 0.2


def test_the_standard_error_is_that_of_means_of_blocks():
    outcomes = set()
    for seed in range(12):
        given, steps = products((1.0, 1.05, 1.6), 18, seed, common=0.5), 6
        weights = blend_weights(given, 1, steps, 0)
        without = np.append(blend_weights(given[:, :2, :2], 1, steps, 0), 0.0)
        gains = [without @ g @ without - weights @ g @ weights for g in given]
        blocks = [np.mean(gains[start : start + steps]) for start in range(0, 18, steps)]
        error = np.sqrt(sum((block - np.mean(blocks)) ** 2 for block in blocks) / 2 / 3)
        expected = weights if weights[2] == 0 or np.mean(gains) > error else without
        np.testing.assert_allclose(blend_weights(given, 1, steps, 0, plain=[2]), expected)
        outcomes.add((bool(weights[2]), bool(expected[2])))
    assert {(True, True), (True, False)} <= outcomes


def test_a_validation_shorter_than_a_block_decides_nothing_alone():
    given = products((2.0, 1.0), 40)
    given[-3:] = products((1.0, 5.0), 3)
    pooled, apart = (blend_weights(given, 0, steps, 3)[1] for steps in (5, 3))
    assert pooled > 0.5 > apart


def test_a_blend_with_little_weight_off_the_floor_is_the_floor():
    shares = {blend_weights(products((1.0, worse), 200, common=0.0), 0, 5, 0)[0] for worse in np.linspace(1.5, 4, 41)}
    assert 1.0 in shares and 0.8 < max(shares - {1.0}) <= 0.9


def test_a_blend_above_the_floor_leaves_the_floor_alone():
    """Of two candidates with equal errors that go together the worse on the last windows is the floor, or is not."""
    given = products((1.0, 1.0), 40, common=2.0)
    given[-10:] *= np.outer([1.0, 2.0], [1.0, 2.0])
    alike, above = (blend_weights(given, floor, 5, 10).tolist() for floor in (1, 0))
    assert above == [1.0, 0.0] and alike[0] > 0.5


def test_bands_of_a_horizon():
    assert horizon_bands(96) == (12, 24, 48, 96) and horizon_bands(5) == (1, 2, 3, 5) and horizon_bands(1) == (1,)


def test_weights_of_a_series_are_those_of_its_own_error_and_of_all():
    """Against a search over the simplex: B blocks of its own, four of all, and twenty that say nothing over all B."""
    series = np.stack([products((1.0, 1.2, 1.5), 35, seed).mean(0) for seed in range(4)])
    doubts, blocks = [1.0, 1.0, 3.0], 7
    counts = np.resize([float(blocks), 0.5, 3.0], len(series))
    found = weights_of_series(series, counts, doubts)
    mean = series.mean(0) / np.trace(series.mean(0))
    grid = np.linspace(0, 1, 101)
    points = [np.array((a, b, 1 - a - b)) for a, b in itertools.product(grid, grid) if a + b <= 1]
    for own, count, weights in zip(series, counts, found.T, strict=True):
        gram = (count * own / np.trace(own) + 4 * mean) / (count + 4)
        gram += 20 / counts.sum() * gram.diagonal().min() * np.diag(doubts)
        np.testing.assert_allclose(weights, min(points, key=lambda w: w @ gram @ w), atol=0.011)


def test_series_follow_their_own_windows_the_more_of_them_there_are():
    """One candidate is best in each of two series: many windows part them, few leave them near equal weights."""
    both = np.stack([products(factors, 2000, common=0.0).mean(0) for factors in ((1.0, 3.0), (3.0, 1.0))])
    many, few = (weights_of_series(both, np.full(2, blocks), [1.0, 1.0]) for blocks in (2000.0, 1.0))
    assert (np.diagonal(many) > 0.85).all() and (np.abs(few - 0.5) < 0.2).all()
    np.testing.assert_allclose(few.sum(0), 1)


def test_a_series_without_an_error_has_the_weights_of_all():
    one = products((1.0, 2.0), 50).mean(0)
    found = weights_of_series(np.stack([one, np.zeros((2, 2))]), np.array([1.0, 0.0]), [1.0, 1.0])
    np.testing.assert_allclose(found[:, 1], weights_of_series(one[None], np.array([1.0]), [1.0, 1.0])[:, 0], atol=1e-9)


def test_series_in_which_no_candidate_errs_have_weights_by_the_doubts_alone():
    found = weights_of_series(np.zeros((2, 3, 3)), np.zeros(2), [1.0, 2.0, 1.0])
    np.testing.assert_allclose(found, np.array([[0.4, 0.2, 0.4]] * 2).T)
