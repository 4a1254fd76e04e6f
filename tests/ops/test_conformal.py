"""Conformal radii counted by hand."""

import math

import numpy as np
import pytest

from multiway.ops import conformal_radii


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
