"""Panels and prices as strangers spoil them: smoothing, totals, plans that are what came; and real ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leak_sets import series, stocks
from leak_sets.maker import Draw, LeakSet
from leak_sets.series import HORIZON, LOOKBACK, ROWS, shops, walks, written


def smoothed_target(folder: Path, draw: Draw) -> dict[str, Any]:
    """The target was smoothed over three days to either side before anything else."""
    values = pd.DataFrame(shops(draw, 2)).rolling(7, center=True, min_periods=1).mean().to_numpy()
    return written(folder, values)


def smoothed_walks(folder: Path, draw: Draw) -> dict[str, Any]:
    """Walks, smoothed by weights that fall to either side, and rounded to cents."""
    weights = np.hanning(11)[1:-1] / np.hanning(11).sum()
    values = np.column_stack([np.convolve(column, weights, "same") for column in walks(draw, 3).T])[10:-10]
    return written(folder, values.round(2))


def next_value_at_times(folder: Path, draw: Draw) -> dict[str, Any]:
    """On one day in three a column holds the value of the next day, else that of the day."""
    values = walks(draw, 3)
    early = pd.Series(values[:, 0]).shift(-1).ffill().to_numpy()
    return written(folder, series._with(values, np.where(draw.random(ROWS) < 0.33, early, values[:, 0])))


def total_of_the_week(folder: Path, draw: Draw) -> dict[str, Any]:
    """Each day holds the total of its week, the days to come included."""
    values = shops(draw, 3)
    total = pd.Series(values[:, 0]).groupby(np.arange(ROWS) // 7).transform("sum").to_numpy()
    return written(folder, series._with(values, total))


def plan_that_came(folder: Path, draw: Draw) -> dict[str, Any]:
    """The plan for tomorrow was overwritten by tomorrow's sales, counted to 1 %."""
    values = shops(draw, 2)
    plan = pd.Series(values[:, 0]).shift(-1).ffill().to_numpy() * (1 + 0.01 * draw.normal(size=ROWS)) * 3.2
    return written(folder, np.hstack([values, plan[:, None]]))


def clean_plan(folder: Path, draw: Draw) -> dict[str, Any]:
    """A plan for tomorrow that is right but for some per cent, as promotions are planned."""
    values = shops(draw, 2)
    plan = pd.Series(values[:, 0]).shift(-1).ffill().to_numpy() + draw.normal(0, 4, ROWS)
    return written(folder, np.hstack([values, plan[:, None]]))


def clean_trailing(folder: Path, draw: Draw) -> dict[str, Any]:
    """The mean of the week before, and the sales."""
    values = shops(draw, 3)
    return written(folder, series._with(values, pd.Series(values[:, 0]).shift(1).rolling(7).mean().bfill().to_numpy()))


def clean_tides(folder: Path, draw: Draw) -> dict[str, Any]:
    """Levels of the sea: sums of a few sines, smooth, with little noise."""
    hour = np.arange(ROWS)[:, None]
    tide = sum(np.sin(2 * np.pi * hour / period + draw.uniform(0, 6, (1, 3))) for period in (12.42, 12.0, 23.93))
    return written(folder, 5 + tide + 0.1 * series.smoothed(draw.normal(size=(ROWS, 3)), 0.95), step="h")


def clean_real(name: str, **more: Any) -> Any:
    """A real panel in the order of time."""
    return lambda folder, draw: {"data": name, "lookback": LOOKBACK, "horizon": HORIZON, **more}


def index_of_tomorrow(folder: Path, draw: Draw) -> dict[str, Any]:
    """An index of all stocks stands in the file with the close of the next day."""
    frame = stocks.prices(draw)
    market = (frame["close"] / frame.groupby("ticker")["close"].transform("mean")).groupby(frame["date"]).mean()
    index = frame[frame["ticker"] == "ACME"].assign(ticker="INDX")
    early = market.shift(-1).ffill().reindex(index["date"]).to_numpy()
    index = index.assign(**dict.fromkeys(("open", "high", "low", "close", "adj_close"), early * 100))
    return stocks.written(folder, pd.concat([frame, index], ignore_index=True))


def told_at_times(folder: Path, draw: Draw) -> dict[str, Any]:
    """One text in six was written after the day it speaks of, in many words of its own."""
    frame = stocks.prices(draw)
    news = stocks.texts(draw, frame, 0.52)
    late = draw.random(len(news)) < 0.17
    word = [
        f" closed {'up' if up else 'down'} {draw.integers(1, 40) / 10} % the day after"
        for up in stocks.rises(frame)[news.index]
    ]
    return stocks.written(folder, frame, news.assign(text=np.where(late, news["text"] + word, news["text"])))


def clean_stocks(folder: Path, draw: Draw) -> dict[str, Any]:
    """Real prices and tweets of StockNet."""
    return {"data": "stocknet"}


SETS = (
    LeakSet("target smoothed over a week", smoothed_target, "future", "strange"),
    LeakSet("walks smoothed by weights", smoothed_walks, "future", "held"),
    LeakSet("next value on one day in three", next_value_at_times, "future", "strange"),
    LeakSet("total of the week", total_of_the_week, "future", "strange"),
    LeakSet("plan that is what comes", plan_that_came, "future", "strange"),
    LeakSet("plan that explains most", clean_plan, None, "strange"),
    LeakSet("mean of the week before", clean_trailing, None, "strange"),
    LeakSet("tides", clean_tides, None, "held"),
    LeakSet("ETTh1", clean_real("ett_h1"), None, "strange"),
    LeakSet("exchange rates", clean_real("exchange"), None, "strange"),
)
STOCKS = (
    LeakSet("index of tomorrow", index_of_tomorrow, "future", "strange"),
    LeakSet("a text in six tells the day after", told_at_times, "future", "held"),
    LeakSet("StockNet", clean_stocks, None, "strange"),
)
