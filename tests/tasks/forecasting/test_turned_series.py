"""No fact of the first rows that later rows refute holds an answer or its bands, and none of these is kept silent."""

import functools
import warnings

import numpy as np
import pytest

from multiway import Forecaster
from multiway.tasks.forecasting.sizes import usual_borders
from tasks.forecasting.turned_series import ROWS, turned

SERIES = {each.name: each for each in turned()}
FAST = ("falls through zero at 202", "has a fraction from 230", "drops below zero at 225", "has a season from 196")


def cases(names):
    """Series by name; most are slow."""
    return [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in names]


@functools.cache
def answered(name):
    """The default's answer to a series, and all that it says of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = Forecaster(horizon=len(SERIES[name].after)).fit(SERIES[name].frame)
        table = fitted.predict(levels=[95])
    return table, [*fitted.run_.facts["notes"], *(str(each.message) for each in caught)]


@pytest.mark.parametrize("name", cases(SERIES))
def test_later_rows_decide(name):
    each = SERIES[name]
    low, middle, high = (answered(name)[0][column].to_numpy() for column in ("y-lo-95", "y", "y-hi-95"))
    naive = min(np.abs(each.past[place] - each.after).mean() for place in (-1, slice(-12, None)))
    assert np.abs(middle - each.after).mean() <= 3 * max(naive, each.noise)
    assert np.mean((low <= each.after) & (each.after <= high)) >= 0.5
    if each.kind == "sign":
        assert (middle < 0).all() and (low < middle).all()
    if each.kind == "fraction":
        assert (low % 1 != 0).any() and (middle % 1 != 0).any()


@pytest.mark.parametrize("name", cases([name for name, each in SERIES.items() if each.kind in ("sign", "units")]))
def test_what_training_has_not_seen_is_said(name):
    """A sign, a level or a unit."""
    each, told = SERIES[name], answered(name)[1]
    is_break = not name.startswith("falls")
    assert any("A forecast joins rows before to it" in note for note in told) == is_break
    if not is_break:
        said = any("values below zero come after the training rows" in note for note in told)
        assert said == (each.row > usual_borders(ROWS)[0])
