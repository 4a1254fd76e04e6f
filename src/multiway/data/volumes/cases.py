"""Cases: names, labels and splits of many volumes, which are read one at a time."""

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed, quoted
from multiway.data.volumes.options import VolumeOptions
from multiway.data.volumes.preparing import prepare, prepared_header
from multiway.data.volumes.volume import Volume, VolumeHeader
from multiway.errors import DataError

SPLITS = ("train", "validation", "test")
SAME_SIZE = "Set size to crop or pad them (--size I,J,K), or resample_to to stretch them."
"""What to do where volumes of one size are needed."""


class Scans(Protocol):
    """Where volumes come from."""

    def header(self, index: int) -> VolumeHeader:
        """What is said of a volume before it is read."""

    def volume(self, index: int) -> Volume:
        """The volume as it is in the file."""

    def mask(self, index: int) -> Volume | None:
        """Its segmentation mask as it is in the file."""

    def place(self, index: int) -> str:
        """What messages call it: a file, and the row of the table."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cases:
    """Volumes of one task.

    names: One per case, different, and safe as parts of file names.
    labels: `(cases,)`, positions in `classes`; None where no column of labels is there.
    classes: Names of the classes, sorted; whole numbers in their order.
    patients: One per case, if known.
    splits: `train`, `validation` and `test` to indices of cases; empty where none was asked for.
    channels, sizes: After preparing, the same for every case; None where they differ or no file was opened yet.
    axes: Names of the three axes after preparing.
    mask_names: What the values 0, 1, 2 ... of the masks are called, where the data say it.
    notes: What a reader should know, one line each.
    """

    names: tuple[str, ...]
    labels: NDArray[np.int64] | None
    classes: tuple[str, ...]
    patients: tuple[str, ...] | None
    splits: dict[str, NDArray[np.int64]]
    channels: int | None
    sizes: tuple[int, ...] | None
    axes: tuple[str, ...]
    source: str
    options: VolumeOptions
    scans: Scans
    dtype: np.dtype[np.generic] | None = None
    has_masks: bool = False
    mask_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of cases."""
        return len(self.names)

    def read(self, index: int) -> Volume:
        """Volume of a case as it is in the file.

        Raises:
            DataError: The file is not sound.
        """
        return self.scans.volume(index)

    def prepared(self, index: int) -> Volume:
        """Volume of a case: oriented, resampled, windowed and sized, its affine with it.

        Raises:
            DataError: The file is not sound, or an option does not fit it.
        """
        return prepare(self.scans.volume(index), self.options)

    def spacing(self, index: int) -> tuple[float, ...] | None:
        """Millimetres per voxel of `prepared`, by the header alone; None where it has none."""
        return prepared_header(self.scans.header(index), self.options, self.scans.place(index)).spacing

    def mask(self, index: int) -> Volume | None:
        """Segmentation mask of a case on the grid of `prepared`, its values as in the file; None if there is none.

        Raises:
            DataError: The mask is not sound or lies on another grid than its volume.
        """
        mask = self.scans.mask(index)
        if mask is None:
            return None
        header = self.scans.header(index)
        same_place = header.affine is None or mask.affine is None or np.allclose(header.affine, mask.affine, atol=1e-3)
        if mask.sizes != header.sizes or mask.channels != 1 or not same_place:
            raise DataError(
                f"{mask.source}: a mask must lie on the grid of its volume. Got {_form(mask)} for {_form(header)} "
                f"of {self.scans.place(index)}. Resample it, or write it with the volume's affine."
            )
        grid = Volume(values=mask.values, affine=header.affine, source=mask.source, axes=header.axes)
        return prepare(grid, self.options, is_mask=True)

    def indices(self, split: str) -> NDArray[np.int64]:
        """Cases of a split.

        Raises:
            DataError: There is no such split.
        """
        if split not in self.splits:
            raise DataError(f"{self.source}: there is no split {quoted(split)}. Got {listed(self.splits) or 'none'}.")
        return self.splits[split]

    def with_classes(self, classes: Sequence[str]) -> "Cases":
        """The same cases with labels that count these classes, as a trained model does.

        Raises:
            DataError: A case has a class that is not among them.
        """
        unknown = [name for name in self.classes if name not in classes]
        if unknown and self.labels is not None:
            first = int(np.flatnonzero(self.labels == self.classes.index(unknown[0]))[0])
            raise DataError(
                f"{self.source}: label '{quoted(unknown[0])}' of {self.scans.place(first)} is none of the classes "
                f"{listed(classes)}. Correct it or leave the case out."
            )
        table = np.array([list(classes).index(name) for name in self.classes], dtype=np.int64)
        labels = None if self.labels is None else table[self.labels]
        return dataclasses.replace(self, labels=labels, classes=tuple(classes))

    def class_counts(self) -> dict[str, dict[str, int]]:
        """Cases of each class in each split."""
        if self.labels is None:
            return {}
        return {
            split: dict(
                zip(self.classes, map(int, np.bincount(self.labels[rows], minlength=len(self.classes))), strict=True)
            )
            for split, rows in self.splits.items()
        }


def _form(grid: Volume | VolumeHeader) -> str:
    spacing = "no spacing" if grid.spacing is None else " x ".join(f"{step:.4g}" for step in grid.spacing) + " mm"
    return f"{'x'.join(map(str, grid.sizes))} voxels, {spacing}, {grid.orientation or 'no orientation'}"
