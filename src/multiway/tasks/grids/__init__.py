"""The next fields of a grid: space x time."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.tasks.grids.config import GridConfig as GridConfig
    from multiway.tasks.grids.estimator import GridForecaster as GridForecaster

__getattr__ = lazily(__name__)
