"""Panels of series: shops, walks, sensors, counts; and what spoils them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leak_sets.maker import Draw, LeakSet

ROWS, LOOKBACK, HORIZON = 1200, 28, 7
TRAIN = 840
"""Rows that are trained on: the protocol `fraction` takes 70 %."""
Values = NDArray[np.float64]


def written(folder: Path, values: Values, names: str = "abcdefgh", step: str = "D", **more: Any) -> dict[str, Any]:
    """Settings of a panel that was written as CSV."""
    times = pd.date_range("2019-01-01", periods=len(values), freq=step)
    frame = pd.DataFrame(values, columns=list(names[: values.shape[1]]))
    frame.insert(0, "date", times)
    frame.to_csv(folder / "panel.csv", index=False)
    return {"data": str(folder / "panel.csv"), "horizon": HORIZON, "lookback": LOOKBACK, **more}


def smoothed(values: Values, share: float) -> Values:
    """Each row a mix of the one before and what is new (AR 1)."""
    return np.asarray(pd.DataFrame(values).ewm(alpha=1 - share, adjust=False).mean())


def shops(draw: Draw, count: int = 4, rows: int = ROWS) -> Values:
    """Daily sales: level, trend, week, year, promotions and noise that lasts some days."""
    day = np.arange(rows)[:, None]
    week = draw.normal(0, 12, (7, count))[day[:, 0] % 7]
    year = 10 * np.sin(2 * np.pi * (day / 365 + draw.uniform(0, 1, count)))
    promotion = 25 * (draw.random((rows, count)) < 0.04)
    return 100 + 0.01 * day + week + year + promotion + 20 * smoothed(draw.normal(0, 1, (rows, count)), 0.6)


def walks(draw: Draw, count: int = 4) -> Values:
    """Random walks with a common part."""
    common = draw.normal(0, 1, (ROWS, 1))
    return np.asarray(50 + (0.6 * common + draw.normal(0, 1, (ROWS, count))).cumsum(0))


def clean_shops(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, shops(draw))


def clean_walks(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, walks(draw))


def clean_drivers(folder: Path, draw: Draw) -> dict[str, Any]:
    """Upstream gauges that honestly know most of what comes downstream two hours later."""
    rain = np.where(draw.random((ROWS, 1)) < 0.1, draw.exponential(5, (ROWS, 1)), 0)
    upstream = smoothed(rain, 0.8) + 0.02 * draw.normal(size=(ROWS, 1)).cumsum(0) * 0.1
    downstream = 0.9 * np.roll(upstream, 2, axis=0) + 0.08 * smoothed(draw.normal(size=(ROWS, 1)), 0.5)
    return written(folder, np.hstack([rain, upstream, downstream]) + 10, step="h")


def clean_sensors(folder: Path, draw: Draw) -> dict[str, Any]:
    """Smooth temperatures of one building: a day, the weather and each room's own drift, with holes."""
    hours = np.arange(ROWS)[:, None]
    weather = smoothed(draw.normal(0, 3, (ROWS, 1)), 0.97)
    own = smoothed(draw.normal(0, 1, (ROWS, 5)), 0.9)
    values = 20 + 3 * np.sin(2 * np.pi * hours / 24) + 2 * weather + own + draw.normal(0, 0.05, (ROWS, 5))
    values[draw.random(values.shape) < 0.01] = np.nan
    return written(folder, values, step="h", read={"missing": "mask"})


def clean_counts(folder: Path, draw: Draw) -> dict[str, Any]:
    """Spare parts that sell seldom: mostly zeros."""
    rate = 0.4 + 0.3 * np.sin(2 * np.pi * np.arange(ROWS) / 7)[:, None] * np.ones((1, 3))
    return written(folder, draw.poisson(rate).astype(float))


def random_windows(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, shops(draw), split={"protocol": "leaky_random_windows"})


def _repeated(values: Values, draw: Draw, noise: float, scale: float = 1.0) -> Values:
    """A stretch of the training rows once more among the test rows."""
    part = values[300:420] * scale + (scale - 1) * 30
    values[1050:1170] = part + noise * values[:TRAIN].std(0) * draw.normal(size=part.shape)
    return values


def stretch_twice(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, _repeated(shops(draw), draw, 0.0))


def stretch_with_noise(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, _repeated(walks(draw), draw, 1e-3))


def stretch_scaled(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, _repeated(shops(draw), draw, 1e-3, scale=1.4))


def _with(values: Values, column: Values) -> Values:
    return np.hstack([values, np.nan_to_num(column, nan=float(values[:, 0].mean()))[:, None]])


def next_value(folder: Path, draw: Draw) -> dict[str, Any]:
    """The last column is the first one, a day early."""
    values = shops(draw, 3)
    return written(folder, _with(values, pd.Series(values[:, 0]).shift(-1).to_numpy()))


def next_week(folder: Path, draw: Draw) -> dict[str, Any]:
    """The last column is the first one, a week early, in other units and with noise."""
    values = walks(draw, 3)
    early = pd.Series(values[:, 0]).shift(-7).to_numpy() * 0.3 + 4
    return written(folder, _with(values, early + 1e-3 * np.nanstd(early) * draw.normal(size=ROWS)))


def centred_mean(folder: Path, draw: Draw) -> dict[str, Any]:
    """The last column is the first one, smoothed over five days to either side."""
    values = shops(draw, 3)
    return written(folder, _with(values, pd.Series(values[:, 0]).rolling(11, center=True).mean().to_numpy()))


def interpolated(folder: Path, draw: Draw) -> dict[str, Any]:
    """Monthly figures drawn out to days by straight lines."""
    days = np.arange(ROWS)
    months = np.arange(0, ROWS + 31, 30)
    figures = draw.normal(0, 5, (len(months), 3)).cumsum(0) + 80
    return written(folder, np.column_stack([np.interp(days, months, figure) for figure in figures.T]))


def month_mean(folder: Path, draw: Draw) -> dict[str, Any]:
    """The last column is the mean of the first one over the whole month, those days to come included."""
    values = shops(draw, 3)
    return written(folder, _with(values, pd.Series(values[:, 0]).groupby(np.arange(ROWS) // 30).transform("mean")))


def filled_backwards(folder: Path, draw: Draw) -> dict[str, Any]:
    """Gaps of some days that were filled with the value after them."""
    frame = pd.DataFrame(walks(draw, 3)).mask(draw.random((ROWS, 3)) < 0.3)
    return written(folder, frame.bfill().ffill().to_numpy())


SETS = (
    LeakSet("shops with weeks and promotions", clean_shops),
    LeakSet("random walks with a common part", clean_walks),
    LeakSet("gauges that lead others", clean_drivers),
    LeakSet("smooth sensors with holes", clean_sensors),
    LeakSet("seldom sales", clean_counts),
    LeakSet("windows at random", random_windows, "overlap"),
    LeakSet("stretch twice", stretch_twice, "duplicates"),
    LeakSet("stretch again, noise of .001", stretch_with_noise, "near"),
    LeakSet("stretch again, scaled", stretch_scaled, "near"),
    LeakSet("column is another's next value", next_value, "shifted"),
    LeakSet("column is another's next week", next_week, "shifted"),
    LeakSet("centred moving average", centred_mean, "shifted"),
    LeakSet("straight lines between months", interpolated, "interpolated"),
    LeakSet("mean of the whole month", month_mean, "shifted"),
    LeakSet("gaps filled backwards", filled_backwards, "interpolated"),
)
