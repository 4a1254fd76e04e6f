"""Classes of series."""

from multiway.tasks.series.config import SeriesConfig as SeriesConfig
from multiway.tasks.series.task import SeriesClassifier as SeriesClassifier
