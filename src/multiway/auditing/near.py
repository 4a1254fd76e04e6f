"""Near copies, one search with a fingerprint per kind: what is in two splits but for noise, a scale, a sign, a word."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.duplicates import Names
from multiway.auditing.report import Verdict, finding, verdict_on
from multiway.data.findings import quote

FAR = 9.0
"""Robust deviations above the usual nearest correlation, after Fisher's z."""
LEAST_SPREAD = 0.01
"""Of Fisher's z."""
FEWEST = 8
"""Training things, and steps of a series, that a search needs."""
NEAR, NEARER = 0.5, 0.1
"""Distance to the nearest row over that to the second nearest, of neighbours and of near copies in few dimensions."""
RARE = 1e-3
MOSTLY = 0.5
"""Share of the near neighbours that must be near copies; of rows drawn alone it is 0.2 in one dimension, else less."""
SHARE = 0.03
FEWEST_COLUMNS, FEWEST_VALUES = 3, 20
MOST_ROWS, MOST_KNOWN = 1000, 20_000

NumberT = TypeVar("NumberT", bound=np.generic)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64] | NDArray[np.float32]
Pair = tuple[int, int, float]
"""A row, the training row that it is like, and how much."""


class Fingerprints(Protocol):
    """What the search looks at: things as directions, whose correlation says how alike they are."""

    @property
    def known(self) -> Ints:
        """Rows of training, in the order of the columns of `similarities`."""

    @property
    def usual(self) -> Floats:
        """How like its nearest other a training thing is; empty where `least` alone decides."""

    @property
    def least(self) -> float:
        """What near copies reach."""

    def similarities(self, rows: Ints) -> Floats:
        """`(rows, known)`."""


def search(
    kind: Fingerprints, rows: Ints, digests: Sequence[bytes | None] | None = None, alike: float = 1.0
) -> list[Pair]:
    """Rows that are nearly a training row, each with that row.

    digests: Hash of each thing; what has an exact copy is left to the check by hash.
    alike: Correlation beyond which rows are near copies where most have one: then it is usual in training, too.
    """
    value = kind.similarities(rows)
    if digests is not None:
        copied = {digests[row] for row in kind.known} - {None}
        value[np.array([digests[row] in copied for row in rows], np.bool_)] = 0
    near, best = value.max(1), kind.known[value.argmax(1)]
    most = (near > alike) & ((near > alike).sum() > MOSTLY * len(near))
    chosen = np.flatnonzero(far_above(near, kind.usual, kind.least) | most)
    return [(int(rows[at]), int(best[at]), float(near[at])) for at in chosen]


def near_pairs(
    kind: Fingerprints, held: Mapping[str, Ints], names: Names, digests: Sequence[bytes | None]
) -> list[tuple[str, str, str, float]]:
    """What `search` finds in splits held out: split, name, the training thing that it is like, and how much."""
    return [
        (split, names[row], names[other], value)
        for split, rows in held.items()
        for row, other, value in search(kind, rows, digests)
    ]


def far_above(nearest: Floats, usual: Floats, least: float) -> NDArray[np.bool_]:
    """Which nearest correlations lie far above the usual ones, and above the least that says anything.

    Median and absolute deviation, so that copies among the usual ones do not hide others.
    """
    if not len(usual):
        return np.asarray(nearest > least)
    z, reference = (np.arctanh(np.clip(values, 0, 0.999999)) for values in (nearest, usual))
    middle = np.median(reference)
    spread = max(1.4826 * float(np.median(np.abs(reference - middle))), LEAST_SPREAD)
    return np.asarray((nearest > least) & (z > middle + FAR * spread))


def unit_rows(rows: Floats) -> NDArray[np.float32]:
    """Rows about their mean and of length one; rows that never change are 0."""
    centred = rows - rows.mean(1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    size = np.abs(rows).max(1, keepdims=True)
    return np.where(length > 1e-6 * size, centred / np.where(length > 0, length, 1), 0).astype(np.float32)


def thin_rows(rows: NDArray[NumberT], most: int) -> NDArray[NumberT]:
    """At most so many rows, evenly chosen."""
    return rows[:: max(-(-len(rows) // most), 1)]


def near_verdict(pairs: Iterable[tuple[str, str, str, float]], count: int, what: str) -> Verdict:
    """Say near copies: split, name, what it is like, and their correlation, of so many that were looked at."""
    examples = [f"{split} {quote(name)} ~ {quote(other)} (r {value:.3f})" for split, name, other, value in pairs]
    sound = f"none of {count:,} {what} is nearly a copy of one in another split"
    rule = f"{len(examples):,} of {count:,} {what} are nearly copies of some in another split"
    return verdict_on(examples, sound, "near", rule, "Keep all versions of a thing in one split.")


def check_near_rows(numbers: NDArray[np.float64], train: Ints, rest: Ints) -> Verdict | None:
    """Whether rows held out are training rows with a little noise.

    For rows drawn alone in d dimensions, the ratio of the distances to the nearest row and to the next lies below r
    with the chance r^d, whatever d is; noise on doubled rows makes very small ratios frequent and no others.
    """
    many = [len(np.unique(column[train])) >= FEWEST_VALUES for column in numbers.T]
    columns = np.nan_to_num(numbers[:, many])
    spread = columns[train].std(0)
    columns = columns / np.where(spread > 0, spread, 1)
    known, held = thin_rows(train, MOST_KNOWN), thin_rows(rest, MOST_ROWS)
    if columns.shape[1] < FEWEST_COLUMNS or len(known) < FEWEST_VALUES:
        return None
    near, nearer = _shares(columns[known], columns[held])
    if nearer <= max(SHARE, MOSTLY * near):
        return f"rows held out are no training rows with noise ({nearer:.1%} have a neighbour that is very near)"
    return finding(
        "near",
        "error",
        f"{nearer:.0%} of the rows held out are training rows but for a little noise: their nearest "
        f"training row is far nearer than the next",
        "Double rows after the split, in training alone.",
    )


def _shares(known: NDArray[np.float64], held: NDArray[np.float64]) -> tuple[float, float]:
    """Shares of rows whose nearest row, which differs in several columns, is nearer and far nearer than the next.

    Rows of whole numbers are often equal but for one or two cells, which noise on all of them does not leave.
    """
    square = np.square(held).sum(1)[:, None] + np.square(known).sum(1) - 2 * held @ known.T
    order = np.argpartition(square, 1, axis=1)[:, :2]
    nearest, second = (np.linalg.norm(held - known[rows], axis=1) for rows in order.T)
    differs = (np.abs(held - known[order[:, 0]]) > 0).sum(1) >= FEWEST_COLUMNS
    ratio = nearest / np.where(second > 0, second, np.inf)
    middle = float(np.clip(np.median(ratio), 1e-6, 1 - 1e-6))
    rare = RARE ** (np.log(middle) / np.log(0.5))  # what one row of a thousand has by chance, in as many dimensions
    near, nearer = (float((differs & (ratio < least)).mean()) for least in (NEAR, float(np.clip(rare, NEARER, NEAR))))
    return near, nearer
