"""A market whose news are planted: a phrase in most texts names the direction of the next day, and is often right."""

import numpy as np
import pandas as pd

RISES = ("orders grow", "a strong quarter", "an upgrade to buy", "record sales", "guidance raised")
FALLS = ("orders fall", "a weak quarter", "a downgrade to sell", "a recall of products", "guidance cut")
FILLING = (
    "the company said on its call that analysts in the market talk about shares of this firm and its products again"
)


def planted_market(stocks=8, days=360, share=0.6, right=0.7, seed=0):
    """Prices that are a random walk, and a text on the morning before `share` of the movements, `right` so often."""
    chance, words = np.random.default_rng(seed), FILLING.split()
    dates = np.busday_offset(np.datetime64("2020-01-06"), np.arange(days))
    prices, texts = [], []
    for stock in range(stocks):
        ticker, moves = f"S{stock:02d}", chance.normal(0, 0.015, days)
        close = 20 * (stock + 1) * np.cumprod(1 + moves)
        prices.append(pd.DataFrame({"ticker": ticker, "date": dates.astype(str), "high": close * 1.004,
                                    "low": close * 0.996, "close": close, "adj_close": close}))  # fmt: skip
        for day, move in zip(dates[:-1], moves[1:], strict=True):
            if chance.random() < share:
                says_rise = bool((move > 0) == (chance.random() < right))
                said = list(chance.choice(words, 3))
                said.insert(int(chance.integers(0, 4)), str(chance.choice(RISES if says_rise else FALLS)))
                texts.append((ticker, f"{day}T10:30:00-05:00", " ".join(said)))
    return pd.concat(prices, ignore_index=True), pd.DataFrame(texts, columns=["ticker", "timestamp", "text"])
