"""Classes of texts."""

from multiway.tasks.text.config import TextConfig as TextConfig
from multiway.tasks.text.task import TextClassifier as TextClassifier
