"""Classes or numbers of the rows of a table."""

from multiway.tasks.tabular.estimator import TabularClassifier as TabularClassifier
from multiway.tasks.tabular.estimator import TabularRegressor as TabularRegressor
from multiway.tasks.tabular.task import TabularConfig as TabularConfig
