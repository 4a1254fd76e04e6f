"""Options of the command line for stocks."""

from multiway.tasks.options import names, number
from multiway.tasks.protocol import Option

STOCKS = (
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
        name="protocol", field="protocol.name", choices=("chronological", "stocknet", "published-code"),
        help="How samples are labelled and split.",
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
        name="tickers", commands=("explain",), read=names,
        help="Stocks to explain, separated by commas; a few if not given.",
    ),
    Option(
        name="top", commands=("backtest",), read=number,
        help="Share of the tickers to buy, and to sell short: 0.2; above and below one half if not given.",
    ),
    Option(
        name="cost_bps", commands=("backtest",), read=number,
        help="Cost of a trade in hundredths of a percent; 10 if not given.",
    ),
)  # fmt: skip
