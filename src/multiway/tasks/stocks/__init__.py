"""The task `stocks`: rise or fall of the next day, from prices and texts."""

from multiway.tasks.stocks.config import StockConfig as StockConfig
from multiway.tasks.stocks.estimator import StockMovementClassifier as StockMovementClassifier
