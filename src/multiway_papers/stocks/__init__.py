"""The task `stocks`: rise or fall of the next day, from prices and texts."""

from multiway.lazy import extend
from multiway_papers.stocks.config import StockConfig as StockConfig
from multiway_papers.stocks.estimator import StockMovementClassifier as StockMovementClassifier

extend("stock protocols", "multiway_papers.protocols.stocknet")
extend("stock protocols", "multiway_papers.protocols.stock_hot_code")
