"""Series that know the future of others, and honest ones that lead, lag or move together."""

import re

import numpy as np
import pandas as pd
import pytest

from multiway.auditing.look_ahead import (
    check_interpolated,
    check_known_ahead,
    check_look_ahead,
    foreseen,
    formula_of,
    share_made_of,
)

ROWS = 900


def draw(seed=0):
    return np.random.default_rng(seed)


def walk(seed=0):
    return draw(seed).normal(size=ROWS).cumsum()


def pair(first, second):
    return np.column_stack([first, np.nan_to_num(second, nan=float(np.nanmean(second)))])


@pytest.mark.parametrize("steps", [1, 7, 20])
def test_a_copy_that_is_early_is_named(steps):
    series = walk()
    early = pd.Series(series).shift(-steps).to_numpy() * 3 + 2
    finding = check_look_ahead(pair(series, early + 1e-3 * np.nanstd(early) * draw(1).normal(size=ROWS)), "ab", 48)
    assert (finding.kind, finding.severity) == ("shifted", "error") and "b knows a (" in finding.line()
    assert finding.count == 1


def test_a_mean_that_reaches_ahead_is_found_and_a_trailing_one_is_not():
    series = 50 + 5 * draw().normal(size=ROWS)
    means = {centred: pd.Series(series).rolling(9, center=centred).mean().to_numpy() for centred in (True, False)}
    assert check_look_ahead(pair(series, means[True]), "ab", 48).kind == "shifted"
    assert isinstance(check_look_ahead(pair(series, means[False]), "ab", 48), str)


def test_what_leads_honestly_lasts_or_moves_together_is_no_leak():
    common, own = walk(1), draw(2).normal(0, 0.3, (2, ROWS))
    together = np.column_stack([common, common, common]) + np.vstack([own, own[:1]]).T
    assert isinstance(check_look_ahead(together, "abc", 48), str)
    driver = draw(3).normal(size=ROWS)
    driven = np.roll(driver, 1) + 0.15 * draw(4).normal(size=ROWS)
    assert 0.9 < foreseen(pair(driven, driver), 24)[0, 1] < 0.997
    smooth = np.sin(2 * np.pi * np.arange(ROWS)[:, None] / 24 + np.arange(3))
    assert isinstance(check_look_ahead(smooth, "abc", 24), str)


def test_shares_are_those_of_two_regressions():
    values = np.column_stack([walk(), walk(1), draw(2).normal(size=ROWS)])
    values[:, 1] += 0.7 * np.roll(values[:, 2], 1)
    changes = np.diff(values, axis=0)
    changes = (changes - changes.mean(0)) / changes.std(0)
    lags = 3
    past = np.stack([changes[lag : len(changes) - lags + lag] for lag in range(lags)], -1)
    half, following = len(past) // 2, changes[lags:, 1]

    def error(columns):
        weights = np.linalg.lstsq(columns[:half], following[:half], rcond=None)[0]
        return np.square(following[half:] - columns[half:] @ weights).sum()

    wanted = 1 - error(np.hstack([past[:, 1], past[:, 2]])) / error(past[:, 1])
    assert foreseen(values, lags)[1, 2] == pytest.approx(wanted, abs=1e-6)


def test_holes_and_series_that_stand_still_are_no_leak():
    values = np.column_stack([walk(), np.full(ROWS, 3.0), walk(2)])
    values[::9, 0] = np.nan
    assert isinstance(check_look_ahead(values, "abc", 24), str)
    assert check_look_ahead(values[:, :1], "a", 24) is None


def test_straight_lines_between_months_are_found_and_ramps_and_levels_are_not():
    days = np.arange(ROWS)
    months = np.interp(days, days[::30], draw().normal(size=len(days[::30])))
    finding = check_interpolated(np.column_stack([walk(), months]), "ab")
    assert (finding.kind, finding.count) == ("interpolated", 1) and ": b." in finding.line()
    honest = np.column_stack([days * 1.0, np.repeat(walk()[::30], 30)[:ROWS], walk()])
    assert isinstance(check_interpolated(honest, "abc"), str)


def sold(rows=ROWS):
    """Sales with a week, and a price that they answer to."""
    rng = draw(5)
    price = 10 + rng.normal(size=rows).cumsum() * 0.3
    week = 20 * np.sin(2 * np.pi * np.arange(rows) / 7)
    return 300 + week - 12 * price + 8 * rng.normal(size=rows), price


MEANS = {
    "centred": lambda sales: sales.rolling(7, center=True).mean(),
    "rounded": lambda sales: sales.rolling(7, center=True).mean().round(1),
    "ahead": lambda sales: sales.rolling(7).mean().shift(-7),
    "long": lambda sales: sales.rolling(21, center=True).mean(),
    "weighted": lambda sales: 0.5 * sales + 0.3 * sales.shift(-1) + 0.2 * sales.shift(-2),
    "trailing": lambda sales: sales.rolling(7).mean(),
}


@pytest.mark.parametrize("made", MEANS)
@pytest.mark.parametrize("season", [1, 7])
def test_a_known_covariate_that_is_a_mean_of_later_targets_is_named(made, season):
    sales, price = sold()
    column = MEANS[made](pd.Series(sales)).to_numpy()
    found = check_known_ahead(sales[:, None], ["shop"], {"plan": column[:, None], "price": price[:, None]}, season)
    assert found.kind == "known" and [re.split(r"\W", str(place))[0] for place in found.places] == ["plan"]


def test_covariates_that_give_the_target_together_are_named_by_how():
    draw = np.random.default_rng(3)
    sold, price, came = (draw.lognormal(mean, 0.3, 400) for mean in (5, 1, 5))
    stock = 9000 + np.concatenate([[0], (came - sold).cumsum()[:-1]])
    assert formula_of({"takings": sold * price, "price": price}, sold) == "a product of powers"
    assert formula_of({"stock": stock, "came": came}, sold) == "a weighted sum"
    assert formula_of({"takings": sold * price * draw.normal(1, 0.02, 400), "price": price}, sold) is None


def test_what_the_past_or_a_plan_tells_is_not_made_of_the_target():
    sales, price = sold()
    steps, last = np.arange(ROWS), pd.Series(sales).shift(14)
    honest = {
        "price": price, "wave": np.sin(2 * np.pi * steps / 365), "trend": steps * 1.5,
        "lagged": last.to_numpy(), "mean of two weeks ago": last.rolling(7).mean().to_numpy(),
        "weekly price": np.repeat(price[::7], 7)[:ROWS],
    }  # fmt: skip
    shares = {name: share_made_of(column, sales) for name, column in honest.items()}
    assert max(shares.values()) < 0.6, shares
