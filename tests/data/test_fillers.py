"""Numbers that stand for missing ones are told from those that are measured."""

import numpy as np
import pytest

from multiway.data.checking import fillers_of

DAYS = np.random.default_rng(0).uniform(7, 13, 60).round(2)


def with_value(value, count=3, values=DAYS):
    return np.concatenate([values, np.full(count, value), [np.nan]])


@pytest.mark.parametrize(
    "value", [-999, -9999, 999, 9999, -99, -32768, 1e20, 9.96921e36, float(np.float32(-3.4028235e38))]
)
def test_a_usual_number_far_from_all_others_stands_for_missing(value):
    ((found, rows),) = fillers_of(with_value(value)).items()
    assert found == value and rows.tolist() == [60, 61, 62]


@pytest.mark.parametrize(
    "values",
    [
        with_value(-999, count=1),
        with_value(-998),
        with_value(12.0),
        with_value(99, values=np.arange(1.0, 98.0)),
        with_value(9999, values=np.arange(0.0, 9998.0, 7)),
        with_value(999, values=np.repeat([0.0, 1.0], 30)),
        np.full(9, -999.0),
        np.array([]),
        np.array([np.nan]),
    ],
    ids=["once", "no usual number", "within", "a percentage", "a count", "two others", "alone", "nothing", "missing"],
)
def test_a_measured_number_is_none(values):
    assert fillers_of(values) == {}


def test_two_of_them_stand_side_by_side():
    assert set(fillers_of(np.concatenate([with_value(-999), with_value(9999)]))) == {-999.0, 9999.0}
