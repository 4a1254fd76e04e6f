"""The rule by which a measured figure is better, worse or level, against scipy and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from multiway.workflows.recipe import load_recipe
from multiway_papers.cells import printed_figure
from multiway_papers.printed import Printing
from multiway_papers.verdicts import (
    difference_from_print,
    difference_of_means,
    seed_values,
    verdict_of,
    verdicts,
)

OURS, THEIRS = [0.71, 0.74, 0.69, 0.73, 0.72], [0.70, 0.66, 0.71]
EXACT = 16


def test_the_interval_against_an_exact_figure_is_students():
    given = difference_from_print(OURS, Printing(0.7, None, None, EXACT))
    low, high = stats.t.interval(0.95, len(OURS) - 1, np.mean(OURS) - 0.7, stats.sem(OURS))
    assert (given.low, given.high) == pytest.approx((low, high), abs=1e-12) and not given.has_printed_spread


def test_the_interval_against_a_deviation_is_welchs():
    ours, theirs = (
        Printing(float(np.mean(each)), float(np.std(each, ddof=1)), len(each), EXACT) for each in (OURS, THEIRS)
    )
    expected = stats.ttest_ind(OURS, THEIRS, equal_var=False).confidence_interval(0.95)
    for given in (difference_from_print(OURS, theirs), difference_of_means(ours, theirs)):
        assert (given.low, given.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert given.has_printed_spread


def test_means_without_a_deviation_or_of_one_seed_have_no_interval():
    ours = Printing(0.7, 0.1, 3, EXACT)
    assert difference_of_means(ours._replace(deviation=None), ours) is None
    assert difference_of_means(ours._replace(seeds=1), ours) is None


def test_print_is_as_exact_as_its_last_digit():
    wide, narrow = (difference_from_print(OURS, Printing(0.7, None, None, digits)) for digits in (2, EXACT))
    assert narrow.low - wide.low == pytest.approx(0.005, abs=1e-12) and wide.value == narrow.value


def test_runs_without_spread_differ_by_more_than_the_rounding_or_not():
    printed = Printing(0.343, None, None, 3)
    assert verdict_of(difference_from_print([0.3434] * 3, printed), higher=False) == "level"
    assert verdict_of(difference_from_print([0.3441] * 3, printed), higher=False) == "worse"
    assert verdict_of(difference_from_print([0.3419] * 3, printed), higher=False) == "better"


def test_a_higher_score_is_better_where_higher_is():
    given = difference_from_print(OURS, Printing(0.5, None, None, 2))
    assert (verdict_of(given, higher=True), verdict_of(given, higher=False)) == ("better", "worse")


def test_one_seed_has_no_interval():
    assert difference_from_print([0.7], Printing(0.5, None, None, 2)) is None


def row(name, values, seeds, metric="mse", **more):
    return {"recipe": name, "seeds": seeds, "each": [{metric: value} for value in values], **more}


def test_a_mean_within_its_spread_is_not_called_better():
    """.0176 ± .0053 against .0217 of NdLinear's table 4, which was once."""
    name = "ndlinear-ett_h1-leaky-transformer"
    given = verdicts(row(name, [0.0134, 0.0159, 0.0235], 3), load_recipe(name))
    assert given["mse_verdict"] == "level" and given["mse_difference_low"] < 0 < given["mse_difference_high"]


def test_seeds_of_several_horizons_are_their_means():
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]  # horizon by horizon, two seeds each
    name = "hot-order-weather-both"
    assert seed_values(row(name, values, 2), "mse") == [4.0, 5.0]


def test_a_cell_of_fewer_horizons_or_an_undefined_score_has_no_verdict():
    name = "hot-order-weather-both"
    assert verdicts(row(name, [0.2, 0.3], 2, horizons="96"), load_recipe(name)) == {}
    undefined = row("hot-stocks", [0.1, None, 0.2], 3, metric="mcc")
    assert seed_values(undefined, "mcc") == []


def test_printed_figures_have_their_deviations_and_digits():
    assert printed_figure("hot-weather-96", "mse") == Printing(0.169, 0.003, 5, 3)
    assert printed_figure("ndlinear-ett_h1-leaky-transformer", "mse") == Printing(0.0217, 0.0001, 3, 4)
    assert printed_figure("series-ecg5000-linear", "weighted_f1") == Printing(0.8886, None, None, 4)
    assert (
        printed_figure("series-ecg5000-linear", "mse") is None and printed_figure("opt-wikitext2-linear", "ppl") is None
    )


def test_the_quantile_is_students():
    given = difference_from_print([1.0, 3.0], Printing(0.0, None, None, EXACT))
    assert given.high - given.value == pytest.approx(stats.t.ppf(0.975, 1) * math.sqrt(2.0 / 2), abs=1e-9)
