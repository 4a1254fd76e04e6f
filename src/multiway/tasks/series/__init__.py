"""Classes of series."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.tasks.series.config import SeriesConfig as SeriesConfig
    from multiway.tasks.series.task import SeriesClassifier as SeriesClassifier

__getattr__ = lazily(__name__)
