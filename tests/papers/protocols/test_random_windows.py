"""The published split of random windows: its scaling, as it is printed."""

import numpy as np

from multiway_papers.protocols.random_windows import range_scaler


def test_a_range_goes_from_zero_to_one_and_what_does_not_change_is_shifted():
    values = np.array([[3.0, 7.0, np.nan, np.nan], [5.0, 7.0, 2.0, np.nan], [9.0, 7.0, -2.0, np.nan]])
    scaler = range_scaler(values)
    scaled = scaler.transform(values)
    np.testing.assert_array_equal(scaled[:, 0], [0, 1 / 3, 1])
    np.testing.assert_array_equal(scaled[:, 1], 0)
    np.testing.assert_array_equal(scaled[:, 2], [np.nan, 1, 0])
    assert (scaler.mean[3], scaler.std[3], scaler.constant) == (0.0, 1.0, (1, 3))
