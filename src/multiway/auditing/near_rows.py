"""Near copies among rows of numbers: a neighbour far nearer than the next one, as noise on a doubled row leaves it."""

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, found

NEAR, NEARER = 0.5, 0.1
"""Distance to the nearest row, beside that to the second nearest, of neighbours and of near copies."""
MOSTLY = 0.5
"""Share of the near neighbours that must be near copies; of rows drawn alone it is 0.2 in one dimension, else less."""
SHARE = 0.03
FEWEST_COLUMNS = 3
FEWEST_VALUES = 20
MOST_ROWS, MOST_KNOWN = 1000, 20_000

Floats = NDArray[np.float64]


def check_near_rows(numbers: Floats, train: NDArray[np.int64], rest: NDArray[np.int64]) -> Verdict | None:
    """Whether rows held out are training rows with a little noise.

    For rows drawn alone in d dimensions, the ratio of the two distances lies below r with the chance r^d, whatever d
    is; noise on doubled rows makes very small ratios frequent and no others.
    """
    columns = _usable(numbers, train)
    known, wanted = _some(train, MOST_KNOWN), _some(rest, MOST_ROWS)
    if columns.shape[1] < FEWEST_COLUMNS or len(known) < FEWEST_VALUES:
        return None
    near, nearer = _shares(columns[known], columns[wanted])
    if nearer <= max(SHARE, MOSTLY * near):
        return f"rows held out are no training rows with noise ({nearer:.1%} have a neighbour that is very near)"
    return found(
        "near", "error", f"{nearer:.0%} of the rows held out are training rows but for a little noise: their nearest "
        f"training row is ten times nearer than the next", "Double rows after the split, in training alone.",
    )  # fmt: skip


def _usable(numbers: Floats, train: NDArray[np.int64]) -> Floats:
    """Columns of many values, in deviations."""
    many = [len(np.unique(column[train])) >= FEWEST_VALUES for column in numbers.T]
    columns = np.nan_to_num(numbers[:, many])
    spread = columns[train].std(0)
    return np.asarray(columns / np.where(spread > 0, spread, 1))


def _some(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    return rows[:: max(-(-len(rows) // most), 1)]


def _shares(known: Floats, wanted: Floats) -> tuple[float, float]:
    """Shares of rows whose nearest row, which differs in several columns, is nearer and far nearer than the next.

    Rows of whole numbers are often equal but for one or two cells, which noise on all of them does not leave.
    """
    square = np.square(wanted).sum(1)[:, None] + np.square(known).sum(1) - 2 * wanted @ known.T
    order = np.argpartition(square, 1, axis=1)[:, :2]
    nearest, second = (np.linalg.norm(wanted - known[place], axis=1) for place in order.T)
    differs = (np.abs(wanted - known[order[:, 0]]) > 0).sum(1) >= FEWEST_COLUMNS
    near, nearer = (float((differs & (nearest < ratio * second)).mean()) for ratio in (NEAR, NEARER))
    return near, nearer
