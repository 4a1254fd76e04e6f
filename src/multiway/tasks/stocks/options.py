"""How prices and texts of stocks are read, and the options of the command line; nothing is repaired silently."""

import datetime
import re
from typing import Literal, Self
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from multiway.config import Config
from multiway.data.sources.bytes import MAX_BYTES
from multiway.tasks.options import read_names, read_number
from multiway.tasks.protocol import Option

NO_TEXTS = "none"


class StockOptions(Config):
    """How a table or folder of prices is read, and the texts beside it."""

    texts: str | None = None
    """File or folder of texts, or of ready vectors (columns e0, e1, ..., or one list column `embedding`); what the data
    set brings if not given; `none` for prices only."""
    ticker: str = "ticker"
    """Column of tickers, which are text whatever they look like; the usual other names are found."""
    date: str = "date"
    """Column of trading days; the usual other names are found."""
    text: str = "text"
    """Column of texts; the usual other names are found."""
    stamp: str | None = None
    """Column that says when a text was written; the usual names are found."""
    time_zone: str | None = None
    """Zone of times of texts that name none, such as UTC; without it they are refused. Plain days need none."""
    exchange_zone: str = "America/New_York"
    """Zone of the exchange, in which its days begin and end."""
    close: str = "16:00"
    """When the exchange closes; a text written then or later counts as of the next day."""
    jumps: Literal["error", "warn", "ignore"] = "error"
    """An adjusted close that jumps like a split (2:1, 3:1, 1:10, ...), or on its own."""
    start: str | None = None
    """First day kept, such as 2014-01-01."""
    end: str | None = None
    """Last day kept."""
    max_bytes: int = Field(MAX_BYTES, gt=0)
    """What a packed table or file of texts may unfold to, and the cells of a Parquet file may take."""

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        for name in ("time_zone", "exchange_zone"):
            zone = getattr(self, name)
            if zone is not None and not is_zone(zone):
                raise ValueError(f"{name} is a name such as UTC or America/New_York. Got {zone!r}")
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", self.close):
            raise ValueError(f"close is a time such as 16:00. Got {self.close!r}")
        for name in ("start", "end"):
            day = getattr(self, name)
            if day is not None and not _is_day(day):
                raise ValueError(f"{name} is a day such as 2014-01-31. Got {day!r}")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(f"start must not lie after end. Got {self.start} and {self.end}")
        return self


def is_zone(name: str) -> bool:
    """Whether a name is one of the zones that this machine knows."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # absent, a folder, no plain name; ZoneInfoNotFoundError is a KeyError
        return False
    return True


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


OPTIONS = (
    Option(
        name="texts", field="read.texts", commands=("train", "check", "audit", "predict"),
        help="Texts of each ticker, or ready vectors: a file or folder. 'none': none.",
    ),
    Option(
        name="time_zone", field="read.time_zone", help="Zone of time stamps that state none: UTC, Europe/London."
    ),
    Option(name="exchange_zone", field="read.exchange_zone", help="Zone of the exchange."),
    Option(
        name="close", field="read.close",
        help="When the exchange closes, 16:00; later texts count as the next day's.",
    ),
    Option(
        name="protocol", field="protocol.name",
        help="How samples are labelled and split: chronological, or as published: stocknet, published-code.",
    ),
    Option(
        name="encoder", field="text.encoder", commands=("train",),
        help="Turns texts into vectors: auto, minilm, finbert, hashed, a folder.",
    ),
    Option(
        name="modality", field="model.modality", commands=("train",), choices=("multimodal", "price", "text"),
        help="What the network sees.",
    ),
    Option(
        name="date", commands=("explain",),
        help="Day to explain, 2015-11-03; if not given, the last tested, or those of confident errors.",
    ),
    Option(
        name="tickers", commands=("explain",), read=read_names,
        help="Stocks to explain, separated by commas; a few if not given.",
    ),
    Option(
        name="top", commands=("backtest",), read=read_number,
        help="Share of the tickers to buy, and to sell short: 0.2; above and below one half if not given.",
    ),
    Option(
        name="cost_bps", commands=("backtest",), read=read_number,
        help="Cost of a trade in hundredths of a percent; 10 if not given.",
    ),
)  # fmt: skip
