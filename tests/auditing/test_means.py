"""Means of the target over few rows, and honest columns of few values."""

import numpy as np
import pandas as pd
import pytest

from multiway.auditing.probes import is_mean_of_numbers, is_share_of_class

DRAW = np.random.default_rng(0)
FAMILY = DRAW.permutation(600) // 3
PRICE = pd.Series(DRAW.lognormal(5, 0.4, 600))
ILL = pd.Series(DRAW.random(600) < 0.4)


@pytest.mark.parametrize("scale", [1.0, -2.5])
def test_a_mean_of_three_is_known_by_its_rows(scale):
    mean = scale * PRICE.groupby(FAMILY).transform("mean").round(1) + 7
    assert is_mean_of_numbers(mean.to_numpy(), PRICE.to_numpy())


def test_a_mean_of_other_rows_or_an_honest_value_is_none():
    old = PRICE.groupby(FAMILY).transform("mean") * DRAW.lognormal(0, 0.1, 200)[FAMILY]
    honest = (np.log(PRICE) + DRAW.normal(0, 0.2, 600)).round(1)
    for column in (old, honest, PRICE.sample(frac=1, random_state=1), pd.Series(np.ones(600))):
        assert not is_mean_of_numbers(column.to_numpy(np.float64), PRICE.to_numpy())


@pytest.mark.parametrize(("factor", "digits"), [(1, 2), (1, 9), (100, 1)])
def test_a_share_of_ill_in_a_family_is_known_by_its_rows(factor, digits):
    share = (factor * ILL.groupby(FAMILY).transform("mean")).round(digits)
    assert is_share_of_class(share.to_numpy(), ILL.to_numpy(np.int64))


def test_honest_risks_and_levels_are_none():
    risk = np.where(ILL, DRAW.choice([0.3, 0.5, 0.8], 600), DRAW.choice([0.1, 0.3, 0.5], 600))
    for column in (risk, DRAW.integers(0, 2, 600), DRAW.random(600), -risk, np.ones(600), 900 * risk):
        assert not is_share_of_class(np.asarray(column, np.float64), ILL.to_numpy(np.int64))
