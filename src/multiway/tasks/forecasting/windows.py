"""Windows of a panel: strided views of one tensor, gathered per batch, and stretches of them without a gap."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from multiway.data.scaling import Scaler
from multiway.errors import DataError, Fix
from multiway.models.regression import Regressors
from multiway.models.windows import History, Others
from multiway.tasks.forecasting.calendar import clock_of
from multiway.tasks.forecasting.panel import Panel, Share
from multiway.tasks.forecasting.sizes import Borders, smaller, usual_borders
from multiway.training.processes import total

BATCH_CELLS = 500_000
SHORTEST_STRETCH = 32


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
        rows, observed: Values and marks from the first row of the first past to the last target.
        covariates: Of the same rows; None without any.
        past: Values and marks from the first row of the panel on, for models that read all rows before a future.
        clock: Numbers of all rows of the panel on the calendar; None where nothing reads the past.
        chosen: Which of the windows these are, in order; None for all.
        others: What someone else forecast at past moments of the panel.
        share: Which of the series these are, where other processes hold the others.
        since: First target row of the windows that hold each series, `(variates,)`; None where all do.
        left: What effects of covariates leave of every window, `(windows, lookback + horizon, variates)`, where they
            differ from window to window; None where the rows say it.
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
        self.past: tuple[Tensor, Tensor | None] = (values[:stop], None if observed is None else observed[:stop])
        self.clock: Tensor | None = None
        self.rows = values[self.first : stop].contiguous()
        self.observed = None if observed is None else observed[self.first : stop].contiguous()
        self.covariates: Regressors | None = None
        self.others: Others | None = None
        self.share: Share | None = None
        self.since: Tensor | None = None
        self.left: Tensor | None = None

    def __len__(self) -> int:
        """Number of windows: rows - lookback - horizon + 1, none dropped, or as many as were chosen."""
        return max(len(self.rows) - self.lookback - self.horizon + 1, 0) if self.chosen is None else len(self.chosen)

    def replace(self, **changes: object) -> Self:
        """The same windows but for some attributes: `horizon=1` has those whose future is the next step."""
        part = copy.copy(self)
        vars(part).update(changes)
        return part

    def with_rows(self, rows: Tensor) -> Self:
        """The same windows of other values, `(rows, variates)`, which are 0 where nothing is observed."""
        rows = rows if self.observed is None else torch.where(self.observed, rows, 0.0)
        return self.replace(rows=rows.contiguous())

    def with_covariates(self, rows: Regressors | None) -> Self:
        """The same windows with covariates, of which `rows` holds those of all rows of the panel."""
        if rows is None:
            return self.replace(covariates=None, clock=None)
        stop = self.first + len(self.rows)
        return self.replace(covariates=rows.of_rows(self.first, stop), clock=rows.clock[:stop])

    @property
    def all_targets(self) -> int:
        """Series that are forecast, those of other processes among them."""
        return self.num_targets if self.share is None else self.share.of

    def total(self, *sums: Tensor) -> list[Tensor]:
        """Sums over the series of all processes."""
        return list(sums) if self.share is None else total(*sums)

    def of_targets(self) -> Self:
        """The same windows of the targets alone, with their own past."""
        targets = slice(self.num_variates - self.num_targets, None)
        return self.replace(
            num_variates=self.num_targets,
            past=tuple(None if cells is None else cells[:, targets] for cells in self.past),
            rows=self.rows[:, targets].contiguous(),
            observed=None if self.observed is None else self.observed[:, targets].contiguous(),
            since=None if self.since is None else self.since[targets],
            covariates=None if self.covariates is None else self.covariates.of_last(self.num_targets),
        )

    @property
    def is_explained(self) -> bool:
        """Whether there are covariates, besides the clock."""
        return any(each.numel() for each in (self.covariates or ())[:2])

    @property
    def never_observed(self) -> Tensor:
        """Variates without a value in any row of these windows, `(variates,)`."""
        return torch.zeros(self.num_variates, dtype=torch.bool) if self.observed is None else ~self.observed.any(0)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Copy some windows.

        Args:
            index: `(batch,)` int64, each below `len(self)`.

        Returns:
            `past` `(batch, lookback, variates)`, `future` `(batch, horizon, targets)`, both contiguous; `start`
            `(batch,)`, the row of the panel at which each past begins; and where cells are missing,
            `past_observed` and `future_observed`, False at the missing ones; and where there are covariates, `known`,
            `seen` and `clock`, as `Regressors` has them, and `rows`, `clocks` of the panel up to the last window.
        """
        index = (index if self.chosen is None else self.chosen[index]).to(self.rows.device)
        batch = {"start": index + self.first, **self._copies("", self.rows, index)}
        if self.left is not None:
            past, future = self.left[index].split([self.lookback, self.horizon], 1)
            batch |= {"past": past.contiguous(), "future": future.contiguous()}
        if self.observed is not None:
            batch |= self._copies("_observed", self.observed, index)
        if self.since is not None:
            started = self.since <= (batch["start"] + self.lookback)[:, None, None]
            for name, cells in batch.items():
                batch[name] = cells * started[..., -cells.shape[-1] :] if name != "start" else cells
        if self.covariates is not None:
            own = self.covariates.of_windows(index, self.lookback, self.horizon)
            batch |= {"known": own.known, "seen": own.seen, "clock": own.clock}
        if self.clock is not None:
            rows, observed = self.past
            batch |= {"rows": rows, "clocks": self.clock}
            batch |= {} if observed is None else {"rows_observed": observed}
        if self.others is not None:
            batch |= {"others": self.others.values, "others_ends": self.others.ends}
        return batch

    def between(self, start: int, stop: int) -> "Windows":
        """Those whose targets lie in some rows of the panel, and whose past lies in the rows of these."""
        sizes = {"lookback": self.lookback, "horizon": self.horizon, "num_targets": self.num_targets}
        part = Windows(self.rows, self.observed, start=start - self.first, stop=stop - self.first, **sizes)
        part = part.with_covariates(self.covariates)
        first = part.first + self.first
        clock = None if self.clock is None else self.clock[: first + len(part.rows)]
        past = tuple(None if cells is None else cells[: first + len(part.rows)] for cells in self.past)
        return part.replace(first=first, share=self.share, since=self.since, clock=clock, past=past, others=self.others)

    def spread(self, count: int) -> dict[str, Tensor]:
        """Copy at most so many windows, evenly spread from the first to the last."""
        return self.gather(torch.linspace(0, len(self) - 1, min(count, len(self))).long())

    def batches(self, rows: Tensor | None = None, cells: int | None = None) -> Iterator[dict[str, Tensor]]:
        """Some windows, or all in order, in batches of so many cells; by default they stay in a processor's cache."""
        width = self.num_variates + sum(rows[0].numel() for rows in (self.covariates or ())[:2])
        size = max((cells or BATCH_CELLS) // (width * (self.lookback + self.horizon)), 1)
        for index in torch.split(torch.arange(len(self)) if rows is None else rows, size):
            yield self.gather(index)

    def _copies(self, suffix: str, rows: Tensor, index: Tensor) -> dict[str, Tensor]:
        """Pasts and futures of some windows, from overlapping views of all, `(windows, steps * variates)`."""
        width, start = self.num_variates, rows.storage_offset()
        count, shape = len(rows) - self.lookback - self.horizon + 1, (len(index), -1, width)
        past = rows.as_strided((count, self.lookback * width), (width, 1), start)
        future = rows.as_strided((count, self.horizon * width), (width, 1), start + self.lookback * width)
        targets = future.index_select(0, index).view(shape)[..., width - self.num_targets :]
        return {f"past{suffix}": past.index_select(0, index).view(shape), f"future{suffix}": targets.contiguous()}

    def start_rows(self) -> NDArray[np.int64]:
        """Row of the panel at which each window's past begins."""
        return self.first + (np.arange(len(self)) if self.chosen is None else self.chosen.numpy())


def where_others(windows: Windows) -> Windows:
    """Those at whose start every other model has a forecast of every step and series."""
    others = windows.others
    if others is None:
        return windows
    known = others.ends[others.values[:, : windows.horizon].isfinite().flatten(1).all(1)].numpy()
    rows = windows.start_rows()
    return windows.replace(chosen=torch.from_numpy(rows[np.isin(rows + windows.lookback, known)] - windows.first))


class Groups:
    """Windows of groups of series, each a sample: those of the first group in the order of time, then of the next.

    Where several processes hold the series between them, each gathers those of its own groups.

    Args:
        windows: Of all series that this process holds, whose first one begins a group.
        size: Series of a group; the last one is filled up with series that are not observed.
    """

    def __init__(self, windows: Windows, size: int) -> None:
        self.windows, self.size = windows, size
        share = windows.share or Share(0, windows.num_variates, windows.num_variates)
        self.first, self.count = share.first // size * len(windows), -(-share.of // size) * len(windows)
        short, observed = -windows.num_variates % size, windows.observed
        if short and observed is None:
            observed = torch.ones_like(windows.rows, dtype=torch.bool)
        self.rows, self.observed = (
            None if cells is None else F.pad(cells, (0, short)).unflatten(1, (-1, size))
            for cells in (windows.rows, observed)
        )

    def __len__(self) -> int:
        """Samples of all processes."""
        return self.count

    def held(self, index: Tensor) -> Tensor:
        """Which of some samples this process gathers, as it counts them."""
        assert self.rows is not None
        own = index - self.first
        return own[(own >= 0) & (own < self.rows.shape[1] * len(self.windows))]

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Copy some samples of this process; see `Windows.gather`."""
        group, window = index // len(self.windows), index % len(self.windows)
        batch, lookback = dict[str, Tensor](), self.windows.lookback
        for suffix, rows in (("", self.rows), ("_observed", self.observed)):
            if rows is not None:
                steps = rows.unfold(0, lookback + self.windows.horizon, 1)[window, group].transpose(1, 2)
                batch |= {f"past{suffix}": steps[:, :lookback], f"future{suffix}": steps[:, lookback:]}
        return {name: each.contiguous() for name, each in batch.items()}

    def spread(self, count: int) -> dict[str, Tensor]:
        """Copy at most so many of the first group, evenly spread."""
        return self.gather(torch.linspace(0, len(self.windows) - 1, min(count, len(self.windows))).long())


def inputs_of(batch: Mapping[str, Tensor]) -> tuple[Any, ...]:
    """What a forecast is called with: the past, which cells of it are there or None, and covariates where some are."""
    own, covariates = (batch["past"], batch.get("past_observed")), covariates_of(batch)
    return own if covariates is None else (*own, covariates)


def covariates_of(batch: Mapping[str, Tensor]) -> Regressors | None:
    """Those of a batch, where some are."""
    if "known" not in batch:
        return None
    history = None
    if "rows" in batch:
        ends = batch["start"] + batch["past"].shape[1]
        others = Others(batch["others_ends"], batch["others"]) if "others" in batch else None
        history = History(batch["rows"], batch.get("rows_observed"), batch["clocks"], ends, others)
    return Regressors(batch["known"], batch["seen"], batch["clock"], history)


def check_borders(borders: Borders, lookback: int, horizon: int, rows: int | None = None) -> None:
    """Refuse borders that leave a split without a window, or that reach past the rows there are."""
    stretches = borders.by_name()
    lengths = ", ".join(f"{name} {stop - start}" for name, (start, stop) in stretches.items())
    for name, (start, stop) in stretches.items():
        needed = lookback + horizon if name == "train" else horizon
        if stop - start < needed:
            train, *others = (last - first for first, last in stretches.values())
            is_usual = (borders.validation[0], borders.test[0]) == usual_borders(borders.test[1])
            fixes = smaller(train, min(others), borders.test[1], horizon, lookback, is_usual=is_usual)
            parts: list[str | Fix] = [part for fix in fixes for part in (fix, " ")]
            raise DataError(
                f"split: {name} has {stop - start} rows and one window needs {needed} (lookback {lookback}, horizon "
                f"{horizon}; rows: {lengths}). Fit the sizes to the rows (",
                *parts[:-1],
                "), or give more rows.",
            )
        if start - (0 if name == "train" else lookback) < 0 or (rows is not None and stop > rows):
            raise DataError(
                f"split: {name} covers rows {start} to {stop} and its past {lookback} more before them. "
                f"Got {rows} rows. Choose other borders."
            )


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
    too_large = np.argwhere(np.abs(scaled) > np.finfo(np.float32).max)
    if len(too_large):
        row, variate = (int(part) for part in too_large[0])
        raise DataError(
            f"split_windows: scaled values must fit float32. Got {scaled[row, variate]:g} in row {row} of variate "
            f"{variate}: it is that many training standard deviations away. Correct or mask it."
        )
    values, observed = rows_observed(scaled)
    return {
        name: Windows(
            values, observed, start=start, stop=stop, lookback=lookback, horizon=horizon, num_targets=num_targets
        )
        for name, (start, stop) in borders.by_name().items()
    }


def rows_observed(scaled: NDArray[np.float64]) -> tuple[Tensor, Tensor | None]:
    """Rows in float32 with 0 for missing cells, and which cells are there; None where all are."""
    missing = np.isnan(scaled)
    values = torch.from_numpy(np.where(missing, 0, scaled).astype(np.float32))
    return values, torch.from_numpy(~missing) if missing.any() else None


def complete_stretches(windows: Windows, start: int, stop: int) -> tuple[list[tuple[int, int]], Tensor]:
    """Stretches of at least 32 successive windows without a missing cell, and the other windows, of start to stop.

    Windows that were chosen one by one form no stretch, nor do those of which effects leave something each.
    """
    if windows.chosen is not None or windows.left is not None:
        return [], torch.arange(start, stop)
    if windows.observed is None:
        return [(start, stop)], torch.empty(0, dtype=torch.long)
    span = windows.lookback + windows.horizon
    gaps = F.pad((~windows.observed[start : stop + span - 1].all(1)).cumsum(0), (1, 0))
    whole = (gaps[span:] == gaps[:-span]).int()
    edges = torch.diff(whole, prepend=whole.new_zeros(1), append=whole.new_zeros(1))
    first, last = (start + torch.nonzero(edges == side).flatten() for side in (1, -1))
    long = last - first >= SHORTEST_STRETCH
    stretches = list(zip(first[long].tolist(), last[long].tolist(), strict=True))
    alone = torch.ones(stop, dtype=torch.bool)
    for begin, end in [(0, start), *stretches]:
        alone[begin:end] = False
    return stretches, torch.nonzero(alone).flatten()


def all_windows(panel: Panel, scaler: Scaler, lookback: int, horizon: int, num_targets: int | None = None) -> Windows:
    """Every window of a panel, scaled; the last so many variates are targets, all if not given."""
    if panel.num_rows < lookback + horizon:
        raise DataError(
            f"{panel.source}: one window needs {lookback + horizon} rows (lookback {lookback}, horizon {horizon}); "
            f"there are {panel.num_rows}. Give more."
        )
    values, observed = rows_observed(scaler.transform(panel.values))
    stop = panel.num_rows
    return Windows(values, observed, start=0, stop=stop, lookback=lookback, horizon=horizon, num_targets=num_targets)


def last_window(panel: Panel, scaler: Scaler, lookback: int) -> tuple[Tensor, Tensor | None]:
    """The last look-back of a panel, scaled, as a batch of one, and which cells are there."""
    rows = panel.num_rows
    if rows < lookback:
        raise DataError(f"{panel.source}: a forecast needs {lookback} steps of history; there are {rows}. Give more.")
    values, observed = rows_observed(scaler.transform(panel.values[rows - lookback :]))
    return values[None], None if observed is None else observed[None]


def history_of(panel: Panel, scaler: Scaler) -> History:
    """All rows of a panel, scaled, as the history of the one window at its end, and what others forecast there."""
    values, observed = rows_observed(scaler.transform(panel.values))
    clock = torch.from_numpy(clock_of(panel.times, panel.frequency))
    return History(values, observed, clock, torch.tensor([panel.num_rows]), panel.others)
