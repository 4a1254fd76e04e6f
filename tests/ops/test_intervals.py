"""Radii of intervals: conformal ones counted by hand, Student's against SciPy's t and against a fit by hand.

Slopes of the sizes of errors stand against least squares with a row for every constant and every prior.
"""

import math

import numpy as np
import pytest
from scipy import stats

from multiway.ops import conformal_radii, size_slopes, student_radii
from tolerances import LONG64, ROUNDING32


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_the_radius_is_the_finite_sample_quantile_of_each_cell(level):
    errors = np.random.default_rng(3).random((2, 3, 40), np.float32)
    errors[0, 1, ::4] = np.nan
    [radii] = conformal_radii(errors.copy(), [level])
    for cell in np.ndindex(2, 3):
        known = np.sort(errors[cell][~np.isnan(errors[cell])])
        assert radii[cell] == known[math.ceil((len(known) + 1) * level) - 1]


def test_too_few_errors_give_the_largest_and_none_give_zero():
    errors = np.array([[0.5, 2.0, 1.0], [np.nan, np.nan, np.nan]], np.float32)
    assert conformal_radii(errors, [0.99]).tolist() == [[2.0, 0.0]]


@pytest.mark.parametrize(
    ("count", "steps", "expected"), [(40, 1, 40), (40, 2, 40), (40, 3, 28), (41, 10, 10), (1, 9, 1)]
)
def test_a_horizon_of_windows_is_worth_two_errors(count, steps, expected):
    errors = np.random.default_rng(0).random((1, count)).astype(np.float32)
    known, rank = np.sort(errors[0]), math.ceil((expected + 1) * 0.8 * count / expected)
    assert conformal_radii(errors.copy(), [0.8], steps) == known[min(rank, count) - 1]


def test_errors_of_few_overlapping_windows_cover_a_later_one_at_least_as_claimed():
    """Of the last of ten steps of a walk in 20 windows: counted one by one they are of two walks, and cover less."""
    rng, steps, held = np.random.default_rng(1), 10, []
    for _ in range(600):
        walk = np.cumsum(rng.standard_normal(30))
        errors = np.abs(walk[steps:] - walk[:-steps]).astype(np.float32)
        later = np.abs(np.sum(rng.standard_normal(steps)))
        held.append([later <= conformal_radii(errors[None].copy(), [0.8], each)[0] for each in (1, steps)])
    alone, counted = np.mean(held, (0, 2))
    assert alone < 0.77 and 0.8 < counted < 0.9


@pytest.mark.parametrize("windows", [1, 2, 3, 10, 100])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.8, 0.95, 0.99])
def test_radii_of_equal_errors_are_quantiles_of_twice_as_many_degrees(level, windows):
    radii = student_radii(np.ones((1, 1, windows), np.float32), [level])
    assert radii.item() == pytest.approx(stats.t.ppf(0.5 + level / 2, 2 * windows), rel=ROUNDING32)


def squares_of(errors, level, degrees):
    """Variances behind radii, `(steps, variates)`."""
    return (student_radii(np.asarray(errors, np.float32), [level])[0] / stats.t.ppf(0.5 + level / 2, degrees)) ** 2


def test_the_variance_is_a_line_in_the_step():
    errors = np.sqrt(np.array([[[2.0]], [[3.0]], [[4.5]]]))  # one window counts as two errors
    slope, start = np.polyfit([1, 2, 3], [2.0, 3.0, 4.5], 1)
    np.testing.assert_allclose(squares_of(errors, 0.95, 2)[:, 0], start + slope * np.arange(1, 4), rtol=1e-5)


def test_the_line_never_falls_and_never_starts_below_zero():
    falling = np.sqrt(np.array([[[4.0]], [[2.0]], [[3.0]]]))
    np.testing.assert_allclose(squares_of(falling, 0.8, 2)[:, 0], 3.0, rtol=1e-5)
    steep = np.sqrt(np.array([[[0.0]], [[1.0]], [[5.0]]]))
    np.testing.assert_allclose(squares_of(steep, 0.8, 2)[:, 0], np.arange(1, 4) * 17 / 14, rtol=1e-5)


def test_overlapping_windows_count_as_two_errors_per_horizon_of_them():
    errors = np.ones((3, 1, 7))
    assert squares_of(errors, 0.95, 2 * 3)[0, 0] == pytest.approx(1, rel=1e-5)


def test_missing_errors_are_left_out_and_a_variate_without_any_takes_the_others():
    errors = np.full((2, 3, 4), 2.0, np.float32)
    errors[:, 0, 1:] = np.nan
    errors[1, 1] = np.nan
    errors[:, 2] = np.nan
    radii = student_radii(errors, [0.8])[0]
    few, many = (2 * stats.t.ppf(0.9, degrees) for degrees in (2, 4))
    np.testing.assert_allclose(radii, [[few, many, few]] * 2, rtol=ROUNDING32)


def test_no_error_at_all_gives_zero():
    assert student_radii(np.full((2, 1, 0), np.nan, np.float32), [0.8]).tolist() == [[[0.0], [0.0]]]


@pytest.mark.parametrize("apart", [False, True])
def test_slopes_are_those_of_least_squares_with_a_constant_for_each_cell(apart):
    rng, steps = np.random.default_rng(5), 4
    errors = rng.normal(size=(2, 3, 40)).astype(np.float32)
    errors[1, 2, 5:9], errors[0, 0, 3] = np.nan, 0.0
    features = rng.normal(size=(2, 3 if apart else 1, 40, 4)).astype(np.float32)
    rows, sizes, owner = [], [], []
    for step, variate in np.ndindex(2, 3):
        known = np.abs(errors[step, variate])[~np.isnan(errors[step, variate])].astype(np.float64)
        for case in np.flatnonzero(~np.isnan(errors[step, variate])):
            rows.append([*features[step, variate if apart else 0, case], *np.eye(6)[3 * step + variate]])
            sizes.append(math.log(max(abs(float(errors[step, variate, case])), 0.05 * known.mean())))
            owner.append(variate)
    rows, sizes, owner = map(np.array, (rows, sizes, owner))

    def fit(chosen, worth, prior):
        """Least squares with a row for each prior."""
        left = np.vstack([rows[chosen], np.eye(4, 10) * worth**0.5])
        return np.linalg.lstsq(left, np.append(sizes[chosen], prior * worth**0.5), rcond=None)[0][:4]

    whole = fit(owner >= 0, 3 * steps, np.zeros(4))
    expected = np.stack([fit(owner == variate, steps, whole) for variate in range(3)], 1)
    np.testing.assert_allclose(size_slopes(errors, features, steps), expected, rtol=LONG64)


def test_the_slope_of_a_flag_is_the_logarithm_of_how_much_larger_errors_are():
    rng = np.random.default_rng(6)
    flag = rng.random(20_000) < 0.1
    errors = (rng.normal(size=(1, 2, 20_000)) * [[np.where(flag, 8, 1), np.ones(20_000)]]).astype(np.float32)
    found = size_slopes(errors, flag[None, None, :, None].astype(np.float32), 1)
    np.testing.assert_allclose(found, [[math.log(8), 0]], atol=0.1)


def test_without_an_error_slopes_are_zero():
    assert size_slopes(np.full((2, 1, 3), np.nan, np.float32), np.ones((2, 1, 3, 1), np.float32), 2).tolist() == [[0]]
