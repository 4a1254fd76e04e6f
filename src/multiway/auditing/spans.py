"""Ranges of rows: whether targets lie in what a model was trained on, or before it."""

import dataclasses
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, finding

Rows = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class Spans:
    """Half-open ranges of rows, one per window.

    starts, stops: `(windows,)`.
    """

    starts: Rows
    stops: Rows

    @classmethod
    def of(cls, starts: Rows, length: int) -> Self:
        """Ranges of one length."""
        first = np.asarray(starts, np.int64)
        return cls(first, first + length)

    def __len__(self) -> int:
        """Number of ranges."""
        return len(self.starts)

    def mark_rows(self, size: int) -> NDArray[np.bool_]:
        """Which of so many rows lie in any range."""
        change = np.zeros(size + 1, np.int64)
        np.add.at(change, self.starts, 1)
        np.add.at(change, self.stops, -1)
        return np.asarray(change.cumsum()[:size] > 0)


def _row(position: int) -> str:
    return f"row {position}"


def check_overlap(training: Spans, targets: Spans, split: str, name: Callable[[int], str] = _row) -> Verdict | None:
    """Whether targets of a split lie in a training window, as its past or as its target.

    That the past of an evaluated window reaches back into training rows is as it should be.

    Args:
        training: All rows of each training window, past and target.
        targets: Target rows of each window of the split.
        split: Its name.
        name: Says a row in words.
    """
    if not len(targets) or not len(training):
        return None
    size = int(max(training.stops.max(), targets.stops.max()))
    before = np.concatenate([[0], training.mark_rows(size).cumsum()])
    hidden = np.flatnonzero(before[targets.stops] > before[targets.starts])
    if not len(hidden):
        return f"no {split} target lies in one of the {len(training):,} training windows ({len(targets):,} looked at)"
    row = int(hidden[0])
    start, stop = int(targets.starts[row]), int(targets.stops[row])
    shared = np.flatnonzero((training.starts < stop) & (training.stops > start))
    other = int(shared[0])
    example = (
        f"{split} window {row} has its target at {name(start)} to {name(stop - 1)}, and training window {other} "
        f"holds {name(int(training.starts[other]))} to {name(int(training.stops[other]) - 1)}"
    )
    return finding(
        "overlap",
        "error",
        f"{len(hidden):,} of {len(targets):,} {split} windows have a target that training windows hold; {example}",
        "Split by time before cutting windows.",
        count=len(hidden),
    )


def check_order(training: Spans, targets: Spans, split: str, name: Callable[[int], str] = _row) -> Verdict | None:
    """Whether a model was trained on rows later than the targets of a split."""
    if not len(targets) or not len(training):
        return None
    last = int(training.stops.max()) - 1
    early = np.flatnonzero(targets.stops <= last)
    if not len(early):
        return f"every training row is earlier than the {split} targets"
    start = int(targets.starts[int(early[0])])
    return finding(
        "order",
        "warning",
        f"{len(early):,} of {len(targets):,} {split} targets are earlier than the last training row, {name(last)}; "
        f"the first is {name(start)}: a forecaster would not have had what came later",
        "Train on the past, test on what follows.",
        count=len(early),
    )


def check_complete(count: int, expected: int, split: str, last: str = "") -> Verdict:
    """Whether every window that a split has room for is scored; a dropped last batch hides the end."""
    if count >= expected:
        return f"all {expected:,} {split} windows are there, the last of them too"
    where = f", and the last one scored is {last}" if last else ""
    return finding(
        "complete",
        "error",
        f"{expected - count:,} of {expected:,} {split} windows are not scored{where}: a last batch that is dropped "
        f"makes scores depend on the batch size",
        "Score every window.",
        count=expected - count,
    )
