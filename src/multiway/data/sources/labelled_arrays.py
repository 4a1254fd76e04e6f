"""A .npz of samples and their labels: one pair of arrays for all of them, or one for each part."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from multiway.data.findings import quoted
from multiway.data.samples import SPELLINGS
from multiway.data.sources.arrays import Archive
from multiway.errors import DataError

ALL = "all"
"""The part of samples that no split is known of."""
WHOLE = (("images", "labels"), ("x", "y"), ("X", "y"), ("data", "labels"))
BY_PART = (("{}_images", "{}_labels"), ("x_{}", "y_{}"), ("X_{}", "y_{}"))


class ArrayPair(NamedTuple):
    """Names of an array of samples and of that of their labels, where there is one."""

    samples: str
    labels: str | None


def pairs_of(archive: Archive) -> dict[str, ArrayPair]:
    """Arrays of samples and labels by part, which is `ALL` where there is one pair; none under other names."""
    whole = [ArrayPair(*names) for names in WHOLE if names[0] in archive.names]
    if whole:
        return {ALL: _present(whole[0], archive)}
    spelt = [
        (part, ArrayPair(x.format(word), y.format(word)))
        for part, words in SPELLINGS.items() for x, y in BY_PART for word in words
    ]  # fmt: skip
    named = {part: pair for part, pair in reversed(spelt) if pair.samples in archive.names}
    return {part: _present(named[part], archive) for part in SPELLINGS if part in named}


def _present(pair: ArrayPair, archive: Archive) -> ArrayPair:
    return pair if pair.labels in archive.names else ArrayPair(pair.samples, None)


def labels_in(archive: Archive, name: str, count: int, *, words: bool = False) -> list[Any]:
    """Labels of so many samples: whole numbers, or also words."""
    header = archive.header(name, words=words)
    if header.dtype.kind not in ("iubU" if words else "iub") or header.shape not in ((count,), (count, 1)):
        kind = "whole number or word" if words else "whole number"
        raise DataError(
            f"{archive.where}: '{quoted(name)}' must hold one {kind} for each of {count} images. "
            f"Got {header.dtype.name} {header.shape}. Save as many labels as images."
        )
    given = archive.read(name, words=words).reshape(-1)
    labels = list((given if given.dtype.kind == "U" else given.astype(np.int64)).tolist())
    if "" in labels:
        raise DataError(f"{archive.where}: '{quoted(name)}' names no class for image {labels.index('')}. Fill it in.")
    return labels


def named_rows(counts: Mapping[str, int]) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Names of samples that follow each other part by part, and the split of each; a part `ALL` is no split."""
    rows = [(part, row) for part, count in counts.items() for row in range(count)]
    official = None if ALL in counts else tuple(part for part, _ in rows)
    return tuple(f"{part}-{row:05d}" for part, row in rows), official
