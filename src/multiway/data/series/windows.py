"""Windows of a panel: strided views of one tensor, gathered per batch."""

import copy
from collections.abc import Iterator
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.series.splits import Borders, check_borders
from multiway.errors import DataError

BATCH_CELLS = 500_000


class Windows:
    """Every look-back and horizon whose targets lie in one stretch of rows.

    A window is a run of neighbouring rows, so in memory it is one block; gathering a batch copies blocks.

    Args:
        values: `(rows, variates)`, missing cells as 0.
        observed: `(rows, variates)`, False where missing; None when nothing is.
        start: First target row; the first window's past begins `lookback` rows earlier, or at row 0.
        stop: Row after the last target.
        lookback: Past steps per window.
        horizon: Future steps per window.
        num_targets: The last so many variates are forecast, and the others seen alone; all if not given.

    Attributes:
        chosen: Which of the windows these are, in order; None for all.
    """

    def __init__(
        self,
        values: Tensor,
        observed: Tensor | None,
        *,
        start: int,
        stop: int,
        lookback: int,
        horizon: int,
        num_targets: int | None = None,
    ) -> None:
        self.lookback, self.horizon = lookback, horizon
        self.num_variates = values.shape[1]
        self.num_targets = self.num_variates if num_targets is None else num_targets
        self.chosen: Tensor | None = None
        self.first = max(start - lookback, 0)
        self._rows = values[self.first : stop].contiguous()
        self._observed = None if observed is None else observed[self.first : stop].contiguous()

    def __len__(self) -> int:
        """Number of windows: rows - lookback - horizon + 1, none dropped, or as many as were chosen."""
        return self._count if self.chosen is None else len(self.chosen)

    @property
    def _count(self) -> int:
        return max(len(self._rows) - self.lookback - self.horizon + 1, 0)

    def only(self, chosen: Tensor) -> Self:
        """Some of the windows, by their places."""
        part = copy.copy(self)
        part.chosen = chosen if self.chosen is None else self.chosen[chosen]
        return part

    def of_targets(self) -> Self:
        """The same windows of the targets alone, with their own past."""
        part, targets = copy.copy(self), slice(self.num_variates - self.num_targets, None)
        part.num_variates, part._rows = self.num_targets, self._rows[:, targets].contiguous()
        part._observed = None if self._observed is None else self._observed[:, targets].contiguous()
        return part

    @property
    def never_observed(self) -> Tensor:
        """Variates without a value in any row of these windows, `(variates,)`."""
        seen = torch.ones(self.num_variates, dtype=torch.bool) if self._observed is None else self._observed.any(0)
        return ~seen

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return self._observed is None

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Copy some windows.

        Args:
            index: `(batch,)` int64, each below `len(self)`.

        Returns:
            `past` `(batch, lookback, variates)`, `future` `(batch, horizon, targets)`, both contiguous; `start`
            `(batch,)`, the row of the panel at which each past begins; and where cells are missing,
            `past_observed` and `future_observed`, False at the missing ones.
        """
        index = (index if self.chosen is None else self.chosen[index]).to(self._rows.device)
        batch = {"start": index + self.first, **self._copies("", self._rows, index)}
        if self._observed is not None:
            batch |= self._copies("_observed", self._observed, index)
        return batch

    def between(self, start: int, stop: int) -> "Windows":
        """Those whose targets lie in some rows of the panel, and whose past lies in the rows of these."""
        sizes = {"lookback": self.lookback, "horizon": self.horizon, "num_targets": self.num_targets}
        part = Windows(self._rows, self._observed, start=start - self.first, stop=stop - self.first, **sizes)
        part.first += self.first
        return part

    def spread(self, count: int) -> dict[str, Tensor]:
        """Copy at most so many windows, evenly spread from the first to the last."""
        return self.gather(torch.linspace(0, len(self) - 1, min(count, len(self))).long())

    def batches(self, rows: Tensor | None = None) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
        """Some windows, or all in order, in batches that stay in a processor's cache."""
        size = max(BATCH_CELLS // (self.num_variates * (self.lookback + self.horizon)), 1)
        for index in torch.split(torch.arange(len(self)) if rows is None else rows, size):
            yield index, self.gather(index)

    def _copies(self, suffix: str, rows: Tensor, index: Tensor) -> dict[str, Tensor]:
        past, future = self._blocks(rows, 0, self.lookback), self._blocks(rows, self.lookback, self.horizon)
        shape = (len(index), -1, self.num_variates)
        targets = future.index_select(0, index).view(shape)[..., self.num_variates - self.num_targets :]
        return {f"past{suffix}": past.index_select(0, index).view(shape), f"future{suffix}": targets.contiguous()}

    def _blocks(self, rows: Tensor, offset: int, steps: int) -> Tensor:
        """Rows of windows as one overlapping view, `(windows, steps * variates)`."""
        width = self.num_variates
        start = rows.storage_offset() + offset * width
        return rows.as_strided((self._count, steps * width), (width, 1), start)

    def start_rows(self) -> NDArray[np.int64]:
        """Row of the panel at which each window's past begins."""
        return self.first + (np.arange(len(self)) if self.chosen is None else self.chosen.numpy())

    def past_view(self) -> Tensor:
        """All pasts as one strided view, `(windows, variates, lookback)`; nothing is copied."""
        return self._view(self._rows, 0, self.lookback)

    def future_view(self) -> Tensor:
        """All futures as one strided view, `(windows, variates, horizon)`; nothing is copied."""
        return self._view(self._rows, self.lookback, self.horizon)

    def past_observed_view(self) -> Tensor | None:
        """Which past cells are there, as `past_view`; None when all are."""
        return None if self._observed is None else self._view(self._observed, 0, self.lookback)

    def future_observed_view(self) -> Tensor | None:
        """Which future cells are there, as `future_view`; None when all are."""
        return None if self._observed is None else self._view(self._observed, self.lookback, self.horizon)

    def _view(self, rows: Tensor, offset: int, steps: int) -> Tensor:
        width = self.num_variates
        start = rows.storage_offset() + offset * width
        return rows.as_strided((self._count, width, steps), (width, 1, width), start)


def split_windows(
    scaled: NDArray[np.float64], borders: Borders, lookback: int, horizon: int, num_targets: int | None = None
) -> dict[str, Windows]:
    """Windows of the three splits over one float32 tensor; NaN becomes 0 and not observed.

    Args:
        scaled: `(rows, variates)`, scaled in float64 by the training rows.
        borders: Target rows of each split.
        lookback: Past steps per window.
        horizon: Future steps per window.
        num_targets: The last so many variates are forecast; all if not given.

    Returns:
        Keys `train`, `validation`, `test`.

    Raises:
        DataError: A split is too short for one window or reaches past the rows, or a number overflows float32.
    """
    check_borders(borders, lookback, horizon, len(scaled))
    _check_range(scaled)
    values, observed = observed_rows(scaled)
    return {
        name: Windows(
            values, observed, start=start, stop=stop, lookback=lookback, horizon=horizon, num_targets=num_targets
        )
        for name, (start, stop) in borders.by_name().items()
    }


def observed_rows(scaled: NDArray[np.float64]) -> tuple[Tensor, Tensor | None]:
    """Rows in float32 with 0 for missing cells, and which cells are there; None where all are."""
    missing = np.isnan(scaled)
    values = torch.from_numpy(np.where(missing, 0, scaled).astype(np.float32))
    return values, torch.from_numpy(~missing) if missing.any() else None


def _check_range(scaled: NDArray[np.float64]) -> None:
    too_large = np.argwhere(np.abs(scaled) > np.finfo(np.float32).max)
    if len(too_large):
        row, variate = (int(part) for part in too_large[0])
        raise DataError(
            f"split_windows: scaled values must fit float32. Got {scaled[row, variate]:g} in row {row} of variate "
            f"{variate}: it is that many training standard deviations away. Correct or mask it."
        )
