"""The task `stocks`: rise or fall of the next day, from prices and texts."""

from multiway.tasks.stocks.config import StockConfig as StockConfig
from multiway.tasks.stocks.estimator import StockMovementClassifier as StockMovementClassifier
from multiway.tasks.stocks.run import StockRun as StockRun
from multiway.tasks.stocks.run import load as load
from multiway.tasks.stocks.run import resume as resume
from multiway.tasks.stocks.run import start as start
