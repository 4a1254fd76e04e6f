"""Classes of texts."""

from multiway.tasks.text.config import TextConfig as TextConfig
from multiway.tasks.text.estimator import TextClassifier as TextClassifier
