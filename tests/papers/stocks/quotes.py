"""Small prices and texts whose texts give the next day away: what was written on a day names the direction after it."""

import dataclasses

import numpy as np
import pandas as pd

from multiway.tasks.scores import score_table
from multiway_papers.stocks import StockConfig

TICKERS = ("ACME", "NA", "ZED")
DAYS = 90
NETWORK = {"dim": 16, "num_heads": 2, "num_blocks": 1, "dropout": 0.0}
WORDS = {True: "orders grow", False: "plants close"}


def trading_days(count=DAYS):
    """Weekdays from the first Monday of 2020."""
    return np.busday_offset(np.datetime64("2020-01-06"), np.arange(count))


def make_prices(count=DAYS, tickers=TICKERS, seed=0):
    """One row per ticker and day; some ticker is missing on some day, and the last one is listed late."""
    chance = np.random.default_rng(seed)
    rows = []
    for place, ticker in enumerate(tickers):
        moves = chance.choice([-1, 1], count) * chance.uniform(0.01, 0.03, count)
        close = np.round(50 * (place + 1) * np.cumprod(1 + moves), 4)
        for day in range(12 if place == len(tickers) - 1 else 0, count):
            if (day + 7 * place) % 29 == 5:
                continue
            price = close[day]
            rows.append((ticker, trading_days(count)[day], price, price * 1.01, price * 0.99, price, price, 1000.0))
    columns = ["ticker", "date", "open", "high", "low", "close", "adj_close", "volume"]
    return pd.DataFrame(rows, columns=columns).assign(date=lambda frame: frame["date"].astype("datetime64[s]"))


def make_texts(prices, share=0.9, seed=1):
    """A text on the day before most of a ticker's days, which names the direction that the day will take."""
    chance = np.random.default_rng(seed)
    rows = []
    for ticker, part in prices.groupby("ticker", sort=False):
        close, days = part["close"].to_numpy(), part["date"].to_numpy().astype("datetime64[D]")
        for before, after in zip(range(len(part) - 1), range(1, len(part)), strict=True):
            if chance.random() < share:
                rows.append((ticker, str(days[after] - 1), WORDS[bool(close[after] > close[before])]))
    return pd.DataFrame(rows, columns=["ticker", "date", "text"])


def write_stocks(folder, count=DAYS, texts=True, **more):
    """`prices.csv` and `texts.csv` of the first days, in a folder that reads as one data set."""
    folder.mkdir(parents=True, exist_ok=True)
    prices = make_prices(**more)
    last = trading_days(more.get("count", DAYS))[count - 1]
    words = make_texts(prices)
    prices[prices["date"] <= last].to_csv(folder / "prices.csv", index=False)
    if texts:
        words[words["date"] <= str(last)].to_csv(folder / "texts.csv", index=False)
    return folder


def settings(**changes):
    training = {"epochs": 15, "batch_size": 16, "warmup_steps": 2, "learning_rate": 1e-2, "patience": 0}
    usual = {
        "text": {"encoder": "hashed", "hashed_dim": 16},
        "protocol": {"look_back": 3},
        "split": {"validation": 0.2, "test": 0.25},
        "model": NETWORK,
        "baselines": ("majority", "calendar"),
        "select": "macro_f1",
        "draws": 20,
    }
    return {**usual, **changes, "training": {**training, **changes.get("training", {})}}


def make_config(data=None, **changes):
    return StockConfig.parse({"data": None if data is None else str(data), **settings(**changes)})


def scores_on(run, data, split="test"):
    """Score table of a run on other data."""
    return score_table([dataclasses.replace(run, scores=run.task.evaluate(run, data, split))], split)


@dataclasses.dataclass
class FakeCell:
    """A cell of a table, as a recipe has it."""

    row: str = "stocknet"
    variant: str | None = None
    form: str | None = None
    horizons: tuple[int, ...] = ()
    figures: dict[str, float] = dataclasses.field(default_factory=lambda: {"acc": 0.7294, "mcc": 0.516})
