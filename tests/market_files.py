"""Small prices and texts on disk for documents and commands: six stocks, whose texts know a little of the next day."""

import csv
import json
from pathlib import Path

import numpy as np

TICKERS = ("ACME", "BOLT", "CORE", "DUNE", "EAST", "FERN")
HOLIDAYS = np.array(["2022-01-17", "2022-02-21", "2022-05-30", "2022-07-04", "2022-09-05"], "datetime64[D]")
WORDS = {True: ("orders grow", "strong quarter", "an upgrade"), False: ("orders fall", "weak quarter", "a downgrade")}
FIELDS = ("ticker", "date", "open", "high", "low", "close", "adj_close", "volume")


def trading_days(count: int) -> np.ndarray:
    """Weekdays of 2022 but some holidays."""
    every = np.arange("2022-01-03", "2023-06-01", dtype="datetime64[D]")
    return every[np.is_busday(every, holidays=HOLIDAYS)][:count]


def price_rows(ticker: str, days: np.ndarray, movements: np.ndarray, start: float) -> list[tuple[object, ...]]:
    """One row per day; the closes follow the movements."""
    closes = start * np.cumprod(1 + movements)
    opens = np.concatenate([[start], closes[:-1]])
    highs, lows = np.maximum(opens, closes) * 1.004, np.minimum(opens, closes) * 0.996
    table = zip(days.astype(str), opens, highs, lows, closes, closes, strict=True)
    return [
        (ticker, day, *(f"{number:.2f}" for number in numbers), 1000 + i) for i, (day, *numbers) in enumerate(table)
    ]


def text_lines(ticker: str, days: np.ndarray, movements: np.ndarray, generator: np.random.Generator) -> list[str]:
    """On three days of four a text in the morning of the day before a movement, right four times in five."""
    lines = []
    for day, movement in zip(days[:-1], movements[1:], strict=True):
        if generator.random() < 0.75:
            says_rise = bool((movement > 0) == (generator.random() < 0.8))
            text = f"{ticker}: {generator.choice(WORDS[says_rise])}"
            lines.append(json.dumps({"ticker": ticker, "timestamp": f"{day}T10:30:00-05:00", "text": text}))
    return lines


def write_prices(path: Path, rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([FIELDS, *rows])


def write_stocks(folder: Path, *, days: int = 160, seed: int = 0) -> Path:
    """`prices.csv` with a row per ticker and day, and `texts.jsonl`; `later-prices.csv` and `later-texts.jsonl` go on.

    The later files hold everything, and twenty days more.
    """
    generator = np.random.default_rng(seed)
    dates = trading_days(days + 20)
    prices, texts = [], []
    for index, ticker in enumerate(TICKERS):
        movements = generator.normal(0, 0.015, len(dates))
        prices.append(price_rows(ticker, dates, movements, 20.0 * (index + 1)))
        texts.append(text_lines(ticker, dates, movements, generator))
    write_prices(folder / "prices.csv", [row for rows in prices for row in rows[:days]])
    write_prices(folder / "later-prices.csv", [row for rows in prices for row in rows])
    last = str(dates[days - 1])
    every = sorted((line for lines in texts for line in lines), key=lambda line: json.loads(line)["timestamp"])
    early = [line for line in every if json.loads(line)["timestamp"][:10] <= last]
    (folder / "texts.jsonl").write_text("\n".join(early) + "\n")
    (folder / "later-texts.jsonl").write_text("\n".join(every) + "\n")
    return folder / "prices.csv"
