"""No fact of the first rows that later rows refute holds an answer or its bands, and none of these is kept silent."""

import functools
import warnings

import numpy as np
import pytest

from multiway import Forecaster
from multiway.tasks.forecasting.sizes import usual_borders
from tasks.forecasting.turned_series import ROWS, turned

SERIES = {each.name: each for each in turned()}
FAST = ("falls through zero at 202", "has a fraction from 230", "rises through zero at 200")
WRONG = {
    **dict.fromkeys(
        [
            *(f"drops below zero at {row}" for row in (202, 215, 225)),
            *(f"grows, and is lost at {row}" for row in (180, 205)),
        ],
        "a level that training has not seen is far from the deviations of training, in which models are fitted",
    ),
    **dict.fromkeys(
        [f"is 0.001 times itself from {row}" for row in (120, 190, 215)] + ["is 1000 times itself from 215"],
        "deviations of all training rows, or of these alone, are those of units that have changed",
    ),
    "is zero before 200": "ridge is fitted on rows of which most are zero",
    "climbs out of its range from 200": "bands are those of the errors before the climb",
    "has a season from 196": "the season is that of the training rows",
}


def cases(names, failing):
    """Series by name, those that fail by now with the reason; most are slow."""
    reasons = {
        name: [pytest.mark.xfail(reason=failing[name], strict=True)] if name in failing else [] for name in names
    }
    speeds = {name: [] if name in FAST else [pytest.mark.slow] for name in names}
    return [pytest.param(name, marks=[*reasons[name], *speeds[name]]) for name in names]


@functools.cache
def answered(name):
    """The default's answer to a series, and all that it says of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = Forecaster(horizon=len(SERIES[name].after)).fit(SERIES[name].frame)
        table = fitted.predict(levels=[95])
    return table, [*fitted.run_.facts["notes"], *(str(each.message) for each in caught)]


@pytest.mark.parametrize("name", cases(SERIES, WRONG))
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


@pytest.mark.parametrize("name", cases([name for name, each in SERIES.items() if each.kind == "sign"], {}))
def test_a_sign_that_training_has_not_seen_is_said(name):
    said = any("values below zero come after the training rows" in note for note in answered(name)[1])
    assert said == (SERIES[name].row > usual_borders(ROWS)[0])
