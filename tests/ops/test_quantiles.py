"""Quantiles that never cross, against a loop; and their distances from the median."""

import math
from statistics import NormalDist

import numpy as np
import pytest
import torch

from multiway.ops import mean_widths, rising_quantiles
from tolerances import ROUNDING64

SHARES = (0.05, 0.2, 0.5, 0.6, 0.9)


def raw(generator, size=3.0):
    return size * torch.randn(3, 7, len(SHARES), generator=generator, dtype=torch.float64)


def slow(cell, shares):
    """Quantile by quantile, from the median outwards."""
    normal, middle = [NormalDist().inv_cdf(share) for share in shares], shares.index(0.5)
    found = {middle: cell[middle]}
    for side in (1, -1):
        for place in range(middle + side, len(shares) if side > 0 else -1, side):
            gap = abs(normal[place] - normal[place - side])
            found[place] = found[place - side] + side * gap * math.log1p((math.e - 1) * math.exp(cell[place]))
    return [found[place] for place in range(len(shares))]


def test_each_is_the_one_before_and_a_positive_gap(generator):
    given = raw(generator)
    expected = [slow(cell, SHARES) for cell in given.reshape(-1, len(SHARES)).tolist()]
    found = rising_quantiles(given, SHARES).reshape(-1, len(SHARES))
    np.testing.assert_allclose(found, expected, rtol=ROUNDING64, atol=ROUNDING64)


def test_its_gradient_is_that_of_small_steps(generator):
    given = raw(generator).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rising_quantiles(x, SHARES), given)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_no_number_makes_them_cross(generator, size):
    assert (rising_quantiles(raw(generator, size).float(), SHARES).diff(dim=-1) >= 0).all()


def test_zeros_are_those_of_the_normal_distribution():
    found = rising_quantiles(torch.zeros(5, dtype=torch.float64), SHARES)
    np.testing.assert_allclose(found, [NormalDist().inv_cdf(share) for share in SHARES], atol=ROUNDING64)


def test_widths_are_mean_distances_on_either_side():
    levels = torch.tensor([[-4.0, 1.0, 2.0, 3.0, 7.0], [0.0, 0.0, 0.5, 0.5, 1.0]])
    assert mean_widths(levels, SHARES).tolist() == [[3.5, 0.5], [3.0, 0.25]]
