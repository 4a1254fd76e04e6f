"""What a holiday column saves: squared error on the holidays of made shops, with the column over that without it.

Each shop has four years of days: a week, a trend, noise in proportion, and ten holidays a year whose dates move, which
multiply sales by 2.7. Both runs are the default, and forecast from every test row.

    python -m benchmarks.holidays --seeds 5 --out results/holidays.jsonl
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.classical import facts, keep
from multiway import Forecaster

YEARS, HORIZON, LOOKBACK = 4, 14, 56
NOISE, GROWTH = 0.08, 0.4
EFFECT = 1.0
"""Logarithm of the factor of a holiday."""
DAYS = (10, 45, 80, 118, 150, 186, 222, 258, 300, 352)
"""Of the year around which holidays move by a week to either side."""


def made_shop(seed: int, years: int = YEARS) -> pd.DataFrame:
    """Times, sales, and whether a day is a holiday."""
    rng = np.random.default_rng(seed)
    days = pd.date_range("2020-01-01", periods=365 * years, freq="D")
    effect = np.zeros(len(days))
    for year in range(years + 1):
        places = 365 * year + np.array(DAYS) + rng.integers(-7, 8, len(DAYS))
        effect[places[places < len(days)]] = EFFECT
    week = np.log([1.0, 0.9, 0.95, 1.0, 1.2, 1.5, 1.4])[days.day_of_week]
    trend = GROWTH * np.linspace(0, 1, len(days))
    sales = 100 * np.exp(trend + week + effect + NOISE * rng.normal(size=len(days)))
    return pd.DataFrame({"date": days, "sales": sales, "holiday": effect > 0})


def measure(seed: int) -> dict[str, Any]:
    """Squared errors of both runs on holidays and on other days, and how long the second trained."""
    shop, errors = made_shop(seed), {}
    for name, future in (("without", ()), ("with", ("holiday",))):
        frame = shop if future else shop.drop(columns="holiday")
        start = time.perf_counter()
        forecaster = Forecaster(horizon=HORIZON, lookback=LOOKBACK, future=future).fit(frame)
        seconds, test = time.perf_counter() - start, forecaster.run_.prepared.borders.test
        rows = forecaster.backtest(cutoffs=test[1] - test[0] - HORIZON + 1, step=1)
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


def main() -> None:
    """Measure shops and print a row for each, and their mean."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    rows, measured = [], {**facts(earlier=False), "rows": 365 * YEARS}
    for seed in range(chosen.seeds):
        rows.append(measure(seed))
        keep(rows[-1], chosen.out, measured | {"seed": seed})
    means = {name: round(float(np.mean([row[name] for row in rows])), 4) for name in ("ratio", "ratio_rest", "seconds")}
    keep({"case": "holidays, mean", "seeds": chosen.seeds, **means, "bar": 0.15, "stretch": 0.05}, chosen.out, measured)


if __name__ == "__main__":
    main()
