"""Convex weights against every weight on a grid."""

import numpy as np
import pytest

from multiway.ops.simplex import simplex_weights


@pytest.mark.parametrize("seed", range(5))
def test_simplex_weights_are_no_worse_than_any_on_a_grid(seed):
    root = np.random.default_rng(seed).normal(size=(7, 3))
    products = root.T @ root
    weights = simplex_weights(products)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1)
    grid = [(a / 40, b / 40, 1 - (a + b) / 40) for a in range(41) for b in range(41 - a)]
    lowest = min(np.array(point) @ products @ np.array(point) for point in grid)
    assert weights @ products @ weights <= lowest + 1e-9


def test_without_errors_the_first_model_has_all_the_weight():
    assert simplex_weights(np.zeros((3, 3))).tolist() == [1, 0, 0]
