"""How series rise over the training rows, and later values without as much of it as the rows since then explain."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.config import Config
from multiway.data.scaling import Floats


class Trend(Config):
    r"""The rise of each series by row: a line, or a growth where that errs less, which values above zero may have.

    $$y_t = a + d t \qquad y_t = a e^{g t}$$

    Both are fitted by least squares, the second one to logarithms. Of d and g one is zero.
    """

    drift: Floats
    """`(series,)`, d in the units of the file."""
    growth: Floats
    """`(series,)`, g."""

    @classmethod
    def of(cls, values: Floats) -> Self:
        """That of training rows `(time, series)`, NaN where missing."""
        is_positive = (np.isnan(values) | (values > 0)).all(0)
        drift, line = _fit_line(values)
        growth, logs = _fit_line(np.log(np.where(is_positive, values, 1.0)))
        errors = [np.nansum(np.square(values - fitted), 0) for fitted in (line, np.exp(logs))]
        grows = is_positive & (errors[1] < errors[0])
        return cls(drift=np.where(grows, 0.0, drift), growth=np.where(grows, growth, 0.0))

    def nearest(self, values: Floats, rows: NDArray[np.float64], centre: Floats) -> Floats:
        """Values `(time, series)` as they are or without the trend since the training, whichever is nearer its centre.

        rows: How many each lies after the last training row.
        """
        since = np.maximum(rows, 0.0)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):  # what is as far as that is not nearer
            brought = (values - self.drift * since) * np.exp(-self.growth * since)
            return np.where(np.abs(brought - centre) < np.abs(values - centre), brought, values)


def _fit_line(values: Floats) -> tuple[Floats, Floats]:
    """The slope of each series, and its line."""
    seen = ~np.isnan(values)
    count, rows = np.maximum(seen.sum(0), 1), np.arange(len(values))[:, None]
    middle, mean = (rows * seen).sum(0) / count, np.nansum(values, 0) / count
    offsets = np.where(seen, rows - middle, 0.0)
    slope = (offsets * np.nan_to_num(values)).sum(0) / np.maximum(np.square(offsets).sum(0), 1.0)
    return slope, mean + slope * (rows - middle)
