"""The scaler against numpy's own NaN-aware moments, and at the edges of float64."""

import numpy as np
import pytest
from pydantic import TypeAdapter

from multiway.data import Scaler, mase_scales
from tolerances import LONG64, ROUNDING64, TIGHT64


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(3).normal(5, 2, (101, 4))


def test_moments_are_those_of_numpy(values):
    values[::7, 1] = np.nan
    scaler = Scaler.fit(values)
    np.testing.assert_allclose(scaler.mean, np.nanmean(values, 0), rtol=TIGHT64)
    np.testing.assert_allclose(scaler.std, np.nanstd(values, 0), rtol=TIGHT64)
    scaled = scaler.transform(values)
    assert np.array_equal(np.isnan(scaled), np.isnan(values))
    np.testing.assert_allclose(scaler.inverse(scaled), values, rtol=TIGHT64)


def test_only_the_rows_given_count(values):
    changed = values.copy()
    changed[70:] *= 1e6
    assert np.array_equal(Scaler.fit(values[:70]).std, Scaler.fit(changed[:70]).std)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300, 1e307])
def test_extreme_units(values, scale):
    scaled = Scaler.fit(values * scale).transform(values * scale)
    np.testing.assert_allclose(scaled, Scaler.fit(values).transform(values), rtol=LONG64, atol=ROUNDING64)


def test_constant_and_absent_columns(values):
    values[:, 1], values[:, 2], values[:, 3] = 0.1, np.nan, 0.0
    values[4, 1] = np.nan
    scaler = Scaler.fit(values)
    assert scaler.constant == (1, 2, 3)
    assert scaler.std[1:].tolist() == [1, 1, 1]
    assert scaler.mean[1:].tolist() == [0.1, 0, 0]
    assert scaler.transform(values)[0, 1] == 0
    assert len(scaler.notes(("a", "b", "c", "d"))) == 3


def test_json_keeps_every_bit(values):
    values[:, 2] = 3.0
    scaler = Scaler.fit(values)
    stored = TypeAdapter(Scaler)
    repeated = stored.validate_json(stored.dump_json(scaler))
    assert np.array_equal(repeated.mean, scaler.mean) and np.array_equal(repeated.std, scaler.std)
    assert repeated.constant == scaler.constant


def test_mase_scales_are_mean_seasonal_differences():
    training = np.array([[0.0, 1.0], [2.0, np.nan], [6.0, 2.0], [3.0, 5.0]])
    np.testing.assert_allclose(mase_scales(training, 2), [(6 + 1) / 2, 1.0])
    np.testing.assert_array_equal(mase_scales(training, 4), [0.0, 0.0])


def test_the_last_variates_keep_their_own_scale():
    scaler = Scaler.fit(np.array([[1.0, 4.0, 2.0], [3.0, 4.0, 8.0]])).last(2)
    assert (scaler.mean.tolist(), scaler.std.tolist(), scaler.constant) == ([4.0, 5.0], [1.0, 3.0], (0,))
