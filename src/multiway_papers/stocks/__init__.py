"""The task `stocks`: rise or fall of the next day, from prices and texts."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway_papers.stocks.config import StockConfig as StockConfig
    from multiway_papers.stocks.estimator import StockMovementClassifier as StockMovementClassifier

__getattr__ = lazily(__name__)
