"""Blocks of a scene: they never share a pixel, and each belongs to one split."""

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed
from multiway.data.samples import SPLITS
from multiway.data.splitting import Splits, SplitShares
from multiway.errors import DataError, Fix


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """A rectangle of a scene."""

    rows: slice
    columns: slice

    @property
    def name(self) -> str:
        """First row and column."""
        return f"rows-{self.rows.start:04d}-columns-{self.columns.start:04d}"


def blocks_of(sizes: tuple[int, int], side: int) -> list[Block]:
    """Cut rows and columns into blocks of about a side; every pixel is in exactly one."""
    edges = [np.linspace(0, size, max(round(size / side), 1) + 1).astype(int).tolist() for size in sizes]
    spans = [[slice(low, high) for low, high in itertools.pairwise(edge)] for edge in edges]
    return [Block(rows, columns) for rows in spans[0] for columns in spans[1]]


def split_blocks(
    labels: NDArray[np.int64], blocks: list[Block], shares: SplitShares, ignored: int | None
) -> Splits:  # fmt: skip
    """Give whole blocks to train, validation and test so that each class is in each as far as blocks allow.

    The rarest class that still has free blocks is served first: its largest block goes to the split that is furthest
    below its share of that class. Blocks without a labelled pixel are left out.

    Args:
        labels: `(rows, columns)`.
        blocks: From `blocks_of`.
        shares: Of validation and test; the seed breaks ties.
        ignored: Label that does not count.

    Raises:
        DataError: A split would be empty.
    """
    classes = [int(label) for label in np.unique(labels) if label != ignored]
    counts = np.array([[int((labels[b.rows, b.columns] == label).sum()) for label in classes] for b in blocks])
    counts = counts + np.random.default_rng(shares.seed).uniform(0, 0.5, counts.shape) * (counts > 0)
    parts = [1 - sum((shares.validation, shares.test)), shares.validation, shares.test]
    owed = np.outer(parts, counts.sum(0))  # (splits, classes)
    given = np.zeros_like(owed)
    free = [index for index in range(len(blocks)) if counts[index].sum() > 0]
    chosen: dict[str, list[int]] = {split: [] for split in SPLITS}
    while free:
        left = counts[free].sum(0)
        rarest = int(np.argmin(np.where(left > 0, left, np.inf)))
        block = max(free, key=lambda index: counts[index, rarest])
        lack = (owed - given)[:, rarest] / np.maximum(owed[:, rarest], 1e-9)
        split = int(np.argmax(lack))
        chosen[SPLITS[split]].append(block)
        given[split] += counts[block]
        free.remove(block)
    if not all(chosen.values()):
        empty = [split for split, members in chosen.items() if not members]
        raise DataError(f"{listed(empty)} would have no block. Set a smaller block (", Fix("block", 8), ").")
    return {split: np.array(sorted(members), dtype=np.int64) for split, members in chosen.items()}
