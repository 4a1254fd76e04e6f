"""Windows of a panel: strided views of one tensor, gathered per batch."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.splits import Borders, check_borders


class Windows:
    """Every look-back and horizon whose targets lie in one stretch of rows.

    Args:
        values: `(rows, variates)`, missing cells as 0.
        observed: `(rows, variates)`, False where missing; None when nothing is.
        start: First target row; the first window's past begins `lookback` rows earlier, or at row 0.
        stop: Row after the last target.
        lookback: Past steps per window.
        horizon: Future steps per window.
    """

    def __init__(
        self, values: Tensor, observed: Tensor | None, *, start: int, stop: int, lookback: int, horizon: int
    ) -> None:
        self.lookback, self.horizon = lookback, horizon
        self.num_variates = values.shape[1]
        self.first = max(start - lookback, 0)
        self._rows = values[self.first : stop]
        self._observed = None if observed is None else observed[self.first : stop]
        self._steps = torch.arange(lookback + horizon)

    def __len__(self) -> int:
        """Number of windows: rows - lookback - horizon + 1, none dropped."""
        return max(len(self._rows) - self.lookback - self.horizon + 1, 0)

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return self._observed is None

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Copy some windows: `past` (batch, lookback, variates), `future` (batch, horizon, variates).

        Where cells are missing, `past_observed` and `future_observed` say which are there.
        """
        rows = index[:, None] + self._steps
        batch = self._split("", self._rows[rows])
        if self._observed is not None:
            batch |= self._split("_observed", self._observed[rows])
        return batch

    def _split(self, suffix: str, whole: Tensor) -> dict[str, Tensor]:
        past, future = whole.split([self.lookback, self.horizon], dim=1)
        return {f"past{suffix}": past, f"future{suffix}": future}

    def start_rows(self) -> NDArray[np.int64]:
        """Row of the panel at which each window's past begins."""
        return self.first + np.arange(len(self))

    def past_view(self) -> Tensor:
        """All pasts as one strided view, `(windows, variates, lookback)`; nothing is copied."""
        return self._rows[: len(self._rows) - self.horizon].unfold(0, self.lookback, 1)

    def future_view(self) -> Tensor:
        """All futures as one strided view, `(windows, variates, horizon)`."""
        return self._rows[self.lookback :].unfold(0, self.horizon, 1)

    def past_observed_view(self) -> Tensor | None:
        """Which past cells are there, as `past_view`."""
        return (
            None
            if self._observed is None
            else self._observed[: len(self._rows) - self.horizon].unfold(0, self.lookback, 1)
        )

    def future_observed_view(self) -> Tensor | None:
        """Which future cells are there, as `future_view`."""
        return None if self._observed is None else self._observed[self.lookback :].unfold(0, self.horizon, 1)


def split_windows(scaled: NDArray[np.float64], borders: Borders, lookback: int, horizon: int) -> dict[str, Windows]:
    """Windows of the three splits over one float32 tensor; NaN becomes 0 and not observed.

    Raises:
        DataError: A split is too short for one window.
    """
    check_borders(borders, lookback, horizon)
    missing = np.isnan(scaled)
    values = torch.from_numpy(np.where(missing, 0, scaled).astype(np.float32))
    observed = torch.from_numpy(~missing) if missing.any() else None
    return {
        name: Windows(values, observed, start=start, stop=stop, lookback=lookback, horizon=horizon)
        for name, (start, stop) in (
            ("train", borders.train),
            ("validation", borders.validation),
            ("test", borders.test),
        )
    }
