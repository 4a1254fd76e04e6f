"""What a scan's file says beside its voxels: grid, type, how it was packed, and bytes that are no voxels."""

import struct
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.report import Verdict, found
from multiway.data.volumes.volume import VolumeHeader

GZIP = b"\x1f\x8b"
FEWEST = 3
"""Cases of a class, and of a value, that tell it without exception."""

Ints = NDArray[np.int64]


def facts_of(header: VolumeHeader, file: Path | None) -> dict[str, Hashable]:
    """Everything that a network does not see, and that may follow the class all the same."""
    spacing = None if header.spacing is None else tuple(round(step, 3) for step in header.spacing)
    facts: dict[str, Hashable] = {
        "sizes": header.sizes, "spacing": spacing, "orientation": header.orientation, "type": header.dtype.str,
    }  # fmt: skip
    if file is None or not file.is_file():
        return facts
    packing, size = _packing(file)
    return {**facts, "file": file.suffix, "packing": packing, "bytes that are no voxels": size - header.nbytes}


def _packing(file: Path) -> tuple[bytes, int]:
    """How gzip was called, without the time, and the size of what it holds; the file's own size if it is plain."""
    with file.open("rb") as stream:
        head = stream.read(10)
        if head[:2] != GZIP:
            return b"", file.stat().st_size
        stream.seek(-4, 2)
        return head[2:4] + head[8:10], int(struct.unpack("<I", stream.read(4))[0])


def numbered(values: Iterable[Hashable]) -> Ints:
    """A whole number for each distinct value."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def check_without_exception(codes: Mapping[str, Ints], classes: Ints, what: str, target: str) -> Verdict | None:
    """Whether each value of a fact goes with one class, in sets too small for a look-up's interval to say so."""
    if np.bincount(classes).min(initial=FEWEST) < FEWEST or len(np.unique(classes)) < 2:
        return None
    for name, code in codes.items():
        table = np.zeros((int(code.max()) + 1, int(classes.max()) + 1), np.int64)
        np.add.at(table, (code, classes), 1)
        if (table > 0).sum() == len(table) and table.sum(1).min() >= FEWEST and len(table) > 1:
            return found(
                "lookup", "error", f"{what} tells {target} without exception: each of the {len(table)} values of "
                f"{name} goes with one class in all {len(classes):,} cases",
                "Bring all files into one form, from one source.",
            )  # fmt: skip
    return None
