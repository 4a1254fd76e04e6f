"""Fields that need not lie in memory: they are read or made by blocks of times, when they are needed."""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
BLOCK = 1 << 22
"""Values that are worked on at once; a file that has no more is read whole."""
KEPT = 1 << 26
"""Values of the latest slabs that stay in memory, in float32."""


class Fields:
    """Fields `(times, *space)` that are indexed by their times as an array is, and made when they are.

    read: Fields of some times, which are given as an array.
    """

    def __init__(self, read: Callable[[Whole], Floats], shape: tuple[int, ...]) -> None:
        self.read, self.shape = read, shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Whole) -> Floats:
        return self.read(np.arange(len(self))[rows])


class Stored(Fields):
    """Those of a file, read by slabs of times, of which the latest are kept in float32.

    load: Fields from one time up to another.
    chunk: Times of a chunk of the file; 0 where it has none.
    """

    def __init__(self, load: Callable[[slice], Floats], shape: tuple[int, ...], chunk: int) -> None:
        super().__init__(self.gather, shape)
        most = max(1, BLOCK // math.prod(shape[1:]))
        self.load, self.length = load, min(chunk or most, most)

    def __getstate__(self) -> dict[str, Any]:
        """All but the slabs in memory."""
        return {name: each for name, each in vars(self).items() if name != "slab"}

    @functools.cached_property
    def slab(self) -> Any:
        """The fields from a time on that are read together."""
        kept = max(2, KEPT // (self.length * math.prod(self.shape[1:])))
        return functools.lru_cache(kept)(lambda start: self.load(slice(start, start + self.length)).astype(np.float32))

    def gather(self, rows: Whole) -> Floats:
        """Some fields, each slab opened once."""
        found, starts = np.empty((len(rows), *self.shape[1:])), rows - rows % self.length
        for start in np.unique(starts).tolist():
            found[starts == start] = self.slab(start)[rows[starts == start] - start]
        return found


Values = Floats | Fields
"""Fields in memory, or read when they are needed."""


def in_blocks(values: Values, more: int = 0) -> Iterator[tuple[int, int, Floats]]:
    """Where each block of times begins, how many times it has, and its fields with so many more after them."""
    size = many(values)
    for start in range(0, len(values), size):
        yield start, size, values[start : start + size + more]


def many(values: Values) -> int:
    """Times whose fields are worked on at once."""
    return max(1, BLOCK // max(1, math.prod(values.shape[1:])))


def at_hand(values: Values) -> Values:
    """The same in memory, where they are no more than a block."""
    return values[:] if len(values) <= many(values) else values


def thin(rows: Whole, most: int) -> Whole:
    """At most so many of some rows, evenly spread, the last among them."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, max(1, most)).astype(int)]
