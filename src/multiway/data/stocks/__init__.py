"""Stocks: prices of many tickers and texts about them, on the days of their exchange; knows no model."""

from multiway.data.stocks.options import StockOptions as StockOptions
from multiway.data.stocks.panel import FIELDS as FIELDS
from multiway.data.stocks.panel import StockPanel as StockPanel
from multiway.data.stocks.reading import read_stocks as read_stocks
from multiway.data.stocks.texts import StockTexts as StockTexts
