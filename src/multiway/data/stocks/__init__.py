"""Stocks: prices of many tickers and texts about them, and the samples that are cut from them; knows no model."""

from multiway.data.stocks.checking import check_stocks as check_stocks
from multiway.data.stocks.coverage import Coverage as Coverage
from multiway.data.stocks.coverage import coverage as coverage
from multiway.data.stocks.cutting import build_samples as build_samples
from multiway.data.stocks.cutting import tomorrow as tomorrow
from multiway.data.stocks.grouping import Groups as Groups
from multiway.data.stocks.layouts import looks_like_stocks as looks_like_stocks
from multiway.data.stocks.options import StockOptions as StockOptions
from multiway.data.stocks.panel import FIELDS as FIELDS
from multiway.data.stocks.panel import StockPanel as StockPanel
from multiway.data.stocks.protocols import StockProtocol as StockProtocol
from multiway.data.stocks.reading import read_stocks as read_stocks
from multiway.data.stocks.samples import StockSamples as StockSamples
from multiway.data.stocks.texts import StockTexts as StockTexts
