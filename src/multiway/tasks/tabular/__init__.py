"""Classes or numbers of the rows of a table."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.tasks.tabular.config import TabularConfig as TabularConfig
    from multiway.tasks.tabular.estimator import TabularClassifier as TabularClassifier
    from multiway.tasks.tabular.estimator import TabularRegressor as TabularRegressor

__getattr__ = lazily(__name__)
