"""Classes of series."""

from multiway.tasks.series.task import SeriesClassifier as SeriesClassifier
from multiway.tasks.series.task import SeriesConfig as SeriesConfig
