"""Stocks: prices and texts of many tickers, and the samples that are cut from them."""

from multiway.data.stocks.cutting import build_samples as build_samples
from multiway.data.stocks.cutting import tomorrow as tomorrow
from multiway.data.stocks.grouping import Groups as Groups
from multiway.data.stocks.panel import FIELDS as FIELDS
from multiway.data.stocks.panel import StockPanel as StockPanel
from multiway.data.stocks.protocols import StockProtocol as StockProtocol
from multiway.data.stocks.samples import StockSamples as StockSamples
from multiway.data.stocks.texts import StockTexts as StockTexts
