"""Labelled series that share a piece, wherever it begins: windows of one recording, and copies that come later."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.duplicates import Names
from multiway.auditing.fingerprints import surprises
from multiway.auditing.near import FEWEST, near_verdict, search, thinned, unit_rows
from multiway.auditing.report import Verdict

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Array32 = NDArray[np.float32]
LAGS = 4
"""Steps by which a next one is explained; few, as windows may share a short end."""
NUMBERS, SHORTEST = 24, 12
"""Of a piece at least, over all variates; and its steps."""
MOST_VARIATES = 8
MOST_NUMBERS = 2_000_000
"""Of all pieces of the training series, so that memory is bounded."""
MOST_HELD = 300
MOST_STRANGERS = 100
"""Training series by which the usual is measured."""
CALM, LEAST_CALM = 0.75, 0.9
"""Share of the steps, without the largest surprises, that must correlate too."""
SOUND = "none of {:,} series shares a piece with a training series"


class Pieces:
    """Surprises of series, compared from any step on.

    What a series' own past explains is left out, so that machines that hum alike are no copies.

    Args:
        values: `(series, steps, variates)` of surprises, NaN where missing.
        known: Training series.
        labels: Class of each; those of other classes say how alike strangers are.
    """

    least = 0.97

    def __init__(self, values: Floats, known: Ints, labels: Ints) -> None:
        self.values = values
        self.size = max(-(-NUMBERS // max(self.values.shape[2], 1)), SHORTEST)
        self.known = thinned(known, max(MOST_NUMBERS // max(self.values[0].size * self.size, 1), 1))
        self.owners, starts = np.nonzero(self._begins(self.values[self.known]))
        self.starts = starts
        self.units = self._units(self.values[self.known[self.owners][:, None], starts[:, None] + np.arange(self.size)])
        some = thinned(self.known, MOST_STRANGERS)
        strangers = self._compared(self.values, some, labels[some][:, None] != labels[self.known])
        backwards = self._compared(self.values[:, ::-1], some, some[:, None] != self.known)
        self.usual = np.maximum(strangers.max(1), backwards.max(1))

    def similarities(self, rows: Ints) -> Floats:
        """Correlation of all that each shares with each training series, where they are most alike."""
        return self._compared(self.values, rows, rows[:, None] != self.known)

    def _begins(self, values: Floats) -> NDArray[np.bool_]:
        """`(series, steps)`, from which on a piece has no gap."""
        total = np.pad(np.isfinite(values).all(2).cumsum(1), ((0, 0), (1, 0)))
        return np.asarray(total[:, self.size :] - total[:, : -self.size] == self.size)

    def _units(self, pieces: Floats) -> Array32:
        return unit_rows(pieces.reshape(len(pieces), -1))

    def _compared(self, values: Floats, rows: Ints, allowed: NDArray[np.bool_]) -> Floats:
        """The first, the middle and the last piece of each row beside every training piece of the series allowed."""
        alike = np.zeros(allowed.shape)
        for at, row in enumerate(rows.tolist()):
            starts = np.flatnonzero(self._begins(values[row][None])[0])
            if not len(starts) or not len(self.owners):
                continue
            starts = np.unique(starts[[0, len(starts) // 2, -1]])
            pieces = self._units(values[row][starts[:, None] + np.arange(self.size)])
            value = np.abs(pieces @ self.units.T) * allowed[at][self.owners]
            for start, best in zip(starts.tolist(), value.argmax(1).tolist(), strict=True):
                other = self.owners[best]
                shared = _shared(values[row], self.values[self.known[other]], int(self.starts[best]) - start)
                alike[at, other] = max(alike[at, other], shared)
        return alike


def _unexplained(values: Floats, known: Ints) -> Floats:
    """Surprises of each series in deviations of the training series; variates that hold none are left out."""
    chosen = np.unique(np.linspace(0, values.shape[2] - 1, min(values.shape[2], MOST_VARIATES)).astype(int))
    apart = np.pad(values[:, :, chosen], ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
    rows = surprises(apart.reshape(-1, len(chosen)), LAGS).reshape(apart.shape)[:, :-1]
    spread = np.array([np.nanstd(column) if np.isfinite(column).any() else 0.0 for column in rows[known].T])
    return np.asarray(rows[:, :, spread > 0] / spread[spread > 0])


def _shared(one: Floats, other: Floats, offset: int) -> float:
    """Absolute correlation of all steps that two series share at an offset, also without the largest surprises."""
    first, second = one[max(-offset, 0) :], other[max(offset, 0) :]
    steps = min(len(first), len(second))
    both = np.isfinite(first[:steps]).all(1) & np.isfinite(second[:steps]).all(1)
    first, second = (part[:steps][both].ravel() for part in (first, second))
    calm = np.abs(first) <= np.quantile(np.abs(first), CALM)
    value, quiet = (_correlation(first[rows], second[rows]) for rows in (slice(None), calm))
    return value if quiet > LEAST_CALM else 0.0


def _correlation(one: Floats, other: Floats) -> float:
    first, second = unit_rows(np.stack([one, other]))
    return float(abs(first @ second))


def check_pieces(
    values: Floats, splits: Mapping[str, Ints], names: Names, labels: Ints, digests: Sequence[bytes | None]
) -> Verdict | None:
    """Whether series `(series, steps, variates)` of other splits share a piece with training series."""
    if len(splits["train"]) < FEWEST or values.shape[1] < SHORTEST + LAGS + 1:
        return None
    surprising = _unexplained(values, splits["train"])
    if not surprising.shape[2]:
        return None
    kind = Pieces(surprising, splits["train"], labels)
    held = {split: thinned(rows, MOST_HELD) for split, rows in splits.items() if split != "train"}
    pairs = [(split, names[row], names[other], value) for split, rows in held.items()
             for row, other, value in search(kind, rows, digests)]  # fmt: skip
    looked = sum(map(len, held.values()))
    return near_verdict(pairs, looked, "series") if pairs else SOUND.format(looked)
