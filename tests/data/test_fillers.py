"""Numbers that stand for missing ones are told from those that are measured."""

import numpy as np
import pytest

from multiway.data.checking import marks_of, zeros_of

DRAW = np.random.default_rng(3)
DAYS = np.random.default_rng(0).uniform(7, 13, 60).round(2)


def with_value(value, count=3, values=DAYS):
    return np.concatenate([values, np.full(count, value), [np.nan]])


@pytest.mark.parametrize(
    "value", [-999, -9999, 999, 9999, -99, -32768, 1e20, 9.96921e36, float(np.float32(-3.4028235e38))]
)
def test_a_usual_number_far_from_all_others_stands_for_missing(value):
    ((found, rows),) = marks_of(with_value(value)).items()
    assert found == value and rows.tolist() == [60, 61, 62]


@pytest.mark.parametrize(
    "values",
    [
        with_value(-999, count=1),
        with_value(998),
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
    assert marks_of(values) == {}


def test_two_of_them_stand_side_by_side():
    assert set(marks_of(np.concatenate([with_value(-999), with_value(9999)]))) == {-999.0, 9999.0}


GAS = np.concatenate([DRAW.gamma(2.0, 150.0, 900).round() + 7, np.full(8_000, -200.0)])
MARKED = {
    "a gas and -200, within its spread": (GAS, -200.0),
    "gusts and 99, twice their spread": (np.append(DRAW.uniform(0, 49, 500).round(1), [99.0] * 4), 99.0),
    "a height of waves": (np.append(DRAW.gamma(3.0, 0.6, 500).round(2), [99.99] * 4), 99.99),
    "counts of stations and -1": (np.append(DRAW.integers(5, 40, 400), [-1.0] * 90), -1.0),
    "ages and 99": (np.append(DRAW.integers(18, 80, 600), [99.0] * 60), 99.0),
    "a share of -7, which no one says": (np.append(DRAW.normal(7.0, 1.0, 90).clip(3), [-7.0] * 9), -7.0),
}
MEASURED = {
    "winters": DRAW.normal(12.0, 5.0, 2000).clip(-1.0).round(),
    "spare parts, 24 at once": np.append(DRAW.integers(0, 4, 300), [24.0] * 6),
    "changes": DRAW.integers(-3, 12, 500).astype(float),
    "signs": DRAW.choice([-1.0, 0.0, 1.0], 300),
    "incomes": DRAW.lognormal(10.0, 1.0, 3000).round(-2),
    "prices that end at 50": DRAW.normal(22.0, 9.0, 500).clip(5.0, 50.0).round(1),
    "years": DRAW.integers(1999, 2020, 300).astype(float),
    "ratings": DRAW.integers(1, 6, 300).astype(float),
}


@pytest.mark.parametrize("name", MARKED)
def test_a_number_apart_that_repeats_stands_for_missing(name):
    values, mark = MARKED[name]
    assert {found: len(rows) for found, rows in marks_of(values).items()} == {mark: int((values == mark).sum())}


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_measured_stands_for_itself(name):
    assert marks_of(MEASURED[name]) == {} and zeros_of(MEASURED[name]) == 0


def test_zeros_among_large_numbers_are_counted():
    pressures = np.append(DRAW.integers(44, 122, 600), np.zeros(35))
    assert zeros_of(pressures) == 35 and marks_of(pressures) == {}
    assert zeros_of(np.append(DRAW.exponential(3.0, 600).round(1), np.zeros(35))) == 0
