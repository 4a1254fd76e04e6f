"""What a holiday column saves: squared error on the holidays of made shops, with the column over that without it.

Each shop has four years of days: a week, a trend, noise in proportion, and ten holidays a year whose dates move, which
multiply sales by 2.7. Both runs are the default, and forecast from every test row.

    python -m benchmarks.holidays --seeds 5 --out results/holidays.jsonl

With `--bands` holidays have effects that differ, and what is measured is how many of the values of holidays and of
other days the bands hold, where they may be as wide as covariates say and where they may not:

    python -m benchmarks.holidays --bands --seeds 10 --out results/holiday-bands.jsonl
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from benchmarks.classical import facts, keep
from multiway import Forecaster
from multiway.tasks.forecasting import bands

YEARS, HORIZON, LOOKBACK = 4, 14, 56
NOISE, GROWTH = 0.08, 0.4
EFFECT, DIFFERENCE = 1.0, 0.5
"""Logarithm of the factor of a holiday, and its deviation where holidays differ."""
LEVELS = (80.0, 95.0)
DAYS = (10, 45, 80, 118, 150, 186, 222, 258, 300, 352)
"""Of the year around which holidays move by a week to either side."""


def made_shop(seed: int, years: int = YEARS, difference: float = 0.0) -> pd.DataFrame:
    """Times, sales, and whether a day is a holiday."""
    rng = np.random.default_rng(seed)
    days = pd.date_range("2020-01-01", periods=365 * years, freq="D")
    effect = np.zeros(len(days))
    for year in range(years + 1):
        places = 365 * year + np.array(DAYS) + rng.integers(-7, 8, len(DAYS))
        effect[places[places < len(days)]] = EFFECT
    week = np.log([1.0, 0.9, 0.95, 1.0, 1.2, 1.5, 1.4])[days.day_of_week]
    trend = GROWTH * np.linspace(0, 1, len(days))
    noise, is_holiday = NOISE * rng.normal(size=len(days)), effect > 0
    if difference:
        effect += is_holiday * difference * rng.normal(size=len(days))
    return pd.DataFrame({"date": days, "sales": 100 * np.exp(trend + week + effect + noise), "holiday": is_holiday})


def measure(seed: int) -> dict[str, Any]:
    """Squared errors of both runs on holidays and on other days, and how long the second trained."""
    shop, errors = made_shop(seed), {}
    for name, future in (("without", ()), ("with", ("holiday",))):
        frame = shop if future else shop.drop(columns="holiday")
        start = time.perf_counter()
        forecaster = Forecaster(horizon=HORIZON, lookback=LOOKBACK, future=future).fit(frame)
        seconds, rows = time.perf_counter() - start, from_every_row(forecaster)
        squares = (rows["multiway"] - rows["y"]).pow(2)
        is_holiday = rows["ds"].isin(shop["date"][shop["holiday"]])
        errors |= {
            f"{name}_holidays": float(squares[is_holiday].mean()),
            f"{name}_rest": float(squares[~is_holiday].mean()),
        }
    ratio, rest = (errors[f"with_{days}"] / errors[f"without_{days}"] for days in ("holidays", "rest"))
    return {
        "case": "holidays", "seed": seed, "ratio": round(ratio, 4), "ratio_rest": round(rest, 4),
        "seconds": round(seconds, 1), "answer": forecaster.selection_.answer,
        **{name: round(value, 2) for name, value in errors.items()},
    }  # fmt: skip


def from_every_row(forecaster: Forecaster, levels: tuple[float, ...] = ()) -> pd.DataFrame:
    """Forecasts from every test row, with bands."""
    test = forecaster.run_.prepared.borders.test
    return forecaster.backtest(cutoffs=test[1] - test[0] - HORIZON + 1, step=1, levels=levels)


def measure_bands(seed: int) -> dict[str, Any]:
    """What bands hold that may be as wide as covariates say, and those that may not."""
    shop, found = made_shop(seed, difference=DIFFERENCE), {}
    for name, known in (("plain", {"return_value": None}), ("known", {"wraps": bands.known_of})):
        with mock.patch("multiway.tasks.forecasting.bands.known_of", **known):
            forecaster = Forecaster(horizon=HORIZON, lookback=LOOKBACK, future=("holiday",)).fit(shop)
        rows = from_every_row(forecaster, LEVELS)
        is_holiday = rows["ds"].isin(shop["date"][shop["holiday"]])
        found |= {f"{name}_{what}": value for level in LEVELS for what, value in held(rows, is_holiday, level)}
    varying = forecaster.run_.facts["intervals"]["by_covariates"]
    return {"case": "bands", "seed": seed, "by_covariates": varying, **found}


def held(rows: pd.DataFrame, is_holiday: pd.Series, level: float) -> Iterator[tuple[str, float]]:
    """Percent of the values of holidays and of other days within a band, and the interval score of all."""
    low, high, truth = rows[f"multiway-lo-{level:g}"], rows[f"multiway-hi-{level:g}"], rows["y"]
    inside, missed = (low <= truth) & (truth <= high), (low - truth).clip(0) + (truth - high).clip(0)
    yield f"{level:g}_holidays", round(100 * float(inside[is_holiday].mean()), 1)
    yield f"{level:g}_rest", round(100 * float(inside[~is_holiday].mean()), 1)
    yield f"{level:g}_score", round(float((high - low + 200 / (100 - level) * missed).mean()), 2)


def main() -> None:
    """Measure shops and print a row for each, and their mean."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--bands", action="store_true")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    rows, measured = [], {**facts(earlier=False), "rows": 365 * YEARS}
    for seed in range(chosen.seeds):
        rows.append(measure_bands(seed) if chosen.bands else measure(seed))
        keep(rows[-1], chosen.out, measured | {"seed": seed})
    averaged = [name for name in rows[0] if name.startswith(("plain", "known", "ratio", "seconds", "by_"))]
    means = {name: round(float(np.mean([row[name] for row in rows])), 4) for name in averaged}
    bar = {} if chosen.bands else {"bar": 0.15, "stretch": 0.05}
    keep({"case": f"{rows[0]['case']}, mean", "seeds": chosen.seeds, **means, **bar}, chosen.out, measured)


if __name__ == "__main__":
    main()
