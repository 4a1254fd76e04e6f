"""Prices and texts of some stocks: honest news, and news from tomorrow."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leak_sets.maker import Draw, LeakSet

TICKERS = ("ACME", "BOLT", "CORE", "DUNE", "EAST", "FERN", "GOLD", "HILL")
DAYS = 400
RISE = ("orders grow", "a strong quarter", "an upgrade", "margins widen", "a new contract", "shares look cheap")
FALL = ("orders shrink", "a weak quarter", "a downgrade", "margins narrow", "a contract lost", "shares look dear")
EITHER = ("board meets", "results are due", "a new office", "conference today", "sector in focus", "volume is usual")


def prices(draw: Draw, momentum: float = 0.0) -> pd.DataFrame:
    """Daily rows: half of the variance overnight, a common market, ranges about open and close."""
    days = pd.bdate_range("2021-01-04", periods=DAYS).delete(slice(90, None, 97))
    market = draw.normal(0, 0.007, len(days))
    tables = []
    for index, ticker in enumerate(TICKERS):
        night, session = market / 2 + draw.normal(0, 0.008, (2, len(days)))
        for row in range(1, len(days)):
            session[row] += momentum * session[row - 1]
        close = 30 * (index + 1) * np.exp((night + session).cumsum())
        start = close / np.exp(session)
        reach = np.exp(np.abs(draw.normal(0, 0.004, (2, len(days)))))
        high, low = np.maximum(start, close) * reach[0], np.minimum(start, close) / reach[1]
        volume = (1e6 * draw.lognormal(0, 0.3, len(days)) * (1 + 20 * np.abs(night + session))).round()
        columns = {"open": start, "high": high, "low": low, "close": close, "adj_close": close}
        tables.append(pd.DataFrame({"ticker": ticker, "date": days, **columns, "volume": volume}))
    return pd.concat(tables, ignore_index=True)


def rises(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the close of the ticker's next row is higher."""
    later = frame.groupby("ticker")["close"].shift(-1)
    return np.asarray(later > frame["close"])


def texts(draw: Draw, frame: pd.DataFrame, right: float, share: float = 0.7) -> pd.DataFrame:
    """News of a day, which knows the next day's direction as often as `right` says."""
    chosen = frame[draw.random(len(frame)) < share]
    said = rises(frame)[chosen.index] == (draw.random(len(chosen)) < right)
    words = [
        f"{ticker}: {draw.choice(RISE if up else FALL)}, {draw.choice(EITHER)}"
        for ticker, up in zip(chosen["ticker"], said, strict=True)
    ]
    stamps = chosen["date"].dt.strftime("%Y-%m-%dT10:30:00-05:00")
    return pd.DataFrame({"ticker": chosen["ticker"], "timestamp": stamps, "text": words})


def written(folder: Path, frame: pd.DataFrame, news: pd.DataFrame | None = None, **more: Any) -> dict[str, Any]:
    """Settings of prices, with texts or without."""
    frame.to_csv(folder / "prices.csv", index=False)
    if news is None:
        return {"data": str(folder / "prices.csv"), "read": {"texts": "none"}, **more}
    news.to_csv(folder / "texts.csv", index=False)
    read = {"texts": str(folder / "texts.csv")}
    return {"data": str(folder / "prices.csv"), "read": read, "text": {"encoder": "hashed"}, **more}


def clean_news(folder: Path, draw: Draw) -> dict[str, Any]:
    frame = prices(draw)
    return written(folder, frame, texts(draw, frame, 0.55))


def clean_good_news(folder: Path, draw: Draw) -> dict[str, Any]:
    """Texts that are right far more often than any real ones."""
    frame = prices(draw)
    return written(folder, frame, texts(draw, frame, 0.75))


def clean_momentum(folder: Path, draw: Draw) -> dict[str, Any]:
    """A session goes on in the next one."""
    return written(folder, prices(draw, momentum=0.25))


def _early(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Some columns a row early."""
    for name in names:
        later = frame.groupby("ticker")[name].shift(-1)
        frame[name] = later.fillna(frame[name])
    return frame


def open_of_tomorrow(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, _early(prices(draw), "open"))


def range_of_tomorrow(folder: Path, draw: Draw) -> dict[str, Any]:
    return written(folder, _early(prices(draw), "high", "low"))


def volume_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """Volumes are written in lots on days before a fall."""
    frame = prices(draw)
    frame["volume"] = np.where(rises(frame), frame["volume"], (frame["volume"] / 100).round())
    return written(folder, frame)


def texts_of_tomorrow(folder: Path, draw: Draw) -> dict[str, Any]:
    """Each text says which way tomorrow goes, in one of twelve ways."""
    frame = prices(draw)
    return written(folder, frame, texts(draw, frame, 0.98))


def rises_tomorrow(folder: Path, draw: Draw) -> dict[str, Any]:
    """One text in eight, else honest, ends in "rises tomorrow" or "falls tomorrow"."""
    frame = prices(draw)
    news = texts(draw, frame, 0.55)
    told = draw.random(len(news)) < 0.125
    word = np.where(rises(frame)[news.index], " rises tomorrow", " falls tomorrow")
    return written(folder, frame, news.assign(text=np.where(told, news["text"] + word, news["text"])))


def text_only_before_rises(folder: Path, draw: Draw) -> dict[str, Any]:
    """News were collected after the fact: there are some only on days before a rise."""
    frame = prices(draw)
    return written(folder, frame, texts(draw, frame, 0.55, share=0.95)[lambda news: rises(frame)[news.index]])


def vectors_of_tomorrow(folder: Path, draw: Draw) -> dict[str, Any]:
    """Ready vectors from an encoder that was trained on what came of it."""
    frame = prices(draw)
    known = np.where(rises(frame), 1.0, -1.0)[:, None] * draw.normal(size=(1, 16)) + draw.normal(size=(len(frame), 16))
    vectors = pd.DataFrame(known.round(4), columns=[f"e{place}" for place in range(16)])
    vectors.insert(0, "timestamp", frame["date"].dt.strftime("%Y-%m-%dT10:30:00-05:00"))
    vectors.insert(0, "ticker", frame["ticker"])
    return written(folder, frame, vectors)


SETS = (
    LeakSet("news that know little", clean_news),
    LeakSet("news that are right in 75 %", clean_good_news),
    LeakSet("prices with momentum", clean_momentum),
    LeakSet("open is the next day's", open_of_tomorrow, "quotes"),
    LeakSet("high and low are the next day's", range_of_tomorrow, "quotes"),
    LeakSet("volume tells tomorrow", volume_tells, "quotes"),
    LeakSet("every text knows tomorrow", texts_of_tomorrow, "texts"),
    LeakSet("a text in eight says 'rises tomorrow'", rises_tomorrow, "texts"),
    LeakSet("texts only before rises", text_only_before_rises, "lookup"),
    LeakSet("vectors know tomorrow", vectors_of_tomorrow, "texts"),
)
