"""Small markets as frames and files: three tickers on ten days, one of them listed late, one with a day off."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from multiway.data.findings import Findings
from multiway_papers.stocks.config import StockConfig, StockOptions, StockProtocol
from multiway_papers.stocks.source import market_of, source_label
from multiway_papers.stocks.task import TASK as task

TICKERS = ("NA", "1E5", "AAPL")
DAYS = pd.bdate_range("2024-03-01", periods=10)  # the clocks of New York change on the 10th


def prices(tickers=TICKERS, days=DAYS, seed=7):
    """Rows of prices, adjusted by a factor that is not 1; the last ticker starts late, the first has a hole."""
    random = np.random.default_rng(seed)
    rows = []
    for position, ticker in enumerate(tickers):
        close = 50.0 * (position + 1)
        for row, day in enumerate(days):
            close *= 1 + random.normal(0, 0.02)
            if (position == 0 and row == 4) or (position == 2 and row < 3):
                continue
            high, low = close * 1.01, close * 0.98
            rows.append((ticker, day.strftime("%Y-%m-%d"), close * 0.99, high, low, close, close * 0.9, 1000.0 + row))
    return pd.DataFrame(rows, columns=["ticker", "date", "open", "high", "low", "close", "adj_close", "volume"])


def texts():
    """Texts of two tickers, with offsets, before and after the close, and one that is only a day."""
    return pd.DataFrame({
        "ticker": ["NA", "NA", "1E5", "NA"],
        "timestamp": ["2024-03-05T15:59:59-05:00", "2024-03-05T21:00:00Z", "2024-03-06", "2024-03-04T12:00:00Z"],
        "text": ["before the close", "at the close", "a day", "first"],
    })  # fmt: skip


def lines(path: Path, items) -> Path:
    """JSON lines; text stands for itself."""
    path.write_text("\n".join(item if isinstance(item, str) else json.dumps(item) for item in items) + "\n")
    return path


def stocknet(folder: Path, tickers=("AAA", "BBB"), days=DAYS) -> Path:
    """StockNet's folder: raw prices newest first, movements next to them, tweets as TICKER/DAY."""
    frame = prices(tickers, days)
    for ticker, rows in frame.groupby("ticker"):
        named = rows.rename(columns={"date": "Date", "adj_close": "Adj Close"} | {
            name: name.title() for name in ("open", "high", "low", "close", "volume")})  # fmt: skip
        raw = folder / "price" / "raw" / f"{ticker}.csv"
        raw.parent.mkdir(parents=True, exist_ok=True)
        named.drop(columns="ticker").iloc[::-1].to_csv(raw, index=False)
        moves = rows.adj_close.pct_change().round(6)
        done = folder / "price" / "preprocessed" / f"{ticker}.txt"
        done.parent.mkdir(parents=True, exist_ok=True)
        shown = [f"{day}\t{move:f}\t0.1\t0.2\t0.3\t0.4\t5.0" for day, move in zip(rows.date, moves, strict=True)][1:]
        done.write_text("\n".join(reversed(shown)) + "\n")
        for day in rows.date[1:4]:
            tweet = folder / "tweet" / "preprocessed" / str(ticker) / day
            tweet.parent.mkdir(parents=True, exist_ok=True)
            stamp = pd.Timestamp(day).strftime("%a %b %d 23:30:00 +0000 %Y")
            lines(tweet, [{"text": ["buy", "$", ticker.lower()], "created_at": stamp, "user_id_str": "1"}] * 2)
    return folder


def check_stocks(source, options=None, protocol=None, *, texts=None):
    """What a check says of prices, and of their texts."""
    config = StockConfig(read=options or StockOptions(), protocol=protocol or StockProtocol())
    return task.kind.check(config, (source, texts))


def notes_of(source, options=None, texts=None):
    """What reading notes and does not refuse."""
    findings = Findings(source_label(source))
    market_of((source, texts), options or StockOptions(), findings)
    return findings.remarks()
