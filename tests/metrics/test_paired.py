"""Standard errors of paired differences by their definition."""

import numpy as np
import pytest
from scipy.stats import t

from multiway.metrics.resampling import clusters_of, standard_error


def test_blocks_are_clusters_of_neighbouring_units():
    days = np.array([30, 10, 20, 50, 40, 10])
    assert clusters_of(6, days, 2).tolist() == [1, 0, 0, 2, 1, 0]
    assert clusters_of(3, np.zeros(3)).tolist() == [0, 1, 2]  # of one cluster nothing is known


def test_the_standard_error_of_equal_clusters_is_that_of_their_means():
    values = np.random.default_rng(7).normal(size=(5, 11))
    means = values.mean(1)
    expected = means.std(ddof=1) / 5**0.5 * t.ppf(0.8413447460685429, 4)
    assert standard_error(values.ravel(), np.repeat(np.arange(5), 11)) == pytest.approx(expected)
    assert standard_error(values.ravel(), np.zeros(55, int)) == float("inf")
