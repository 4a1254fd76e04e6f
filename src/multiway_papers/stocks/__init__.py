"""The task `stocks`: rise or fall of the next day, from prices and texts."""

from multiway_papers.stocks.config import StockConfig as StockConfig
from multiway_papers.stocks.estimator import StockMovementClassifier as StockMovementClassifier
