"""Classes or numbers of the rows of a table."""

from multiway.tasks.tabular.config import TabularConfig as TabularConfig
from multiway.tasks.tabular.estimator import TabularClassifier as TabularClassifier
from multiway.tasks.tabular.estimator import TabularRegressor as TabularRegressor
