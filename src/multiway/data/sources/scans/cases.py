"""Scans as inputs of samples: volumes and their masks, read one at a time when they are needed."""

import abc
import dataclasses
import functools
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from multiway.data.checking import marks_of
from multiway.data.findings import Failures, keep_errors
from multiway.data.options import VolumeOptions
from multiway.data.samples import SPLITS, Rows, Samples
from multiway.data.sources.bytes import MOST_UNFOLDED
from multiway.data.sources.scans.bodies import MARGIN, THIN, Room, find_body, sizes_needed
from multiway.data.sources.scans.grids import bring, check_finite, crop_starts, header_after_preparing, prepare
from multiway.data.sources.scans.volume import Array, Grid, Volume, VolumeHeader, millimetres, sizes_in_words
from multiway.data.splitting import Splits
from multiway.errors import DataError, Fix, Message

MEMORY_LIMIT = MOST_UNFOLDED
"""Bytes from which an array lies in a file: no budget, as nothing is refused for it; each file has had its own."""
SAME_SIZE: Message = (
    "Set size to crop or pad them (",
    Fix("read.size", like="I,J,K"),
    "), or resample_to to stretch them.",
)
"""What to do where volumes of one size are needed."""
LABELLING: Message = ("Name the column of classes or numbers (", Fix("read.label", like="NAME"), ").")


class ScanFiles(abc.ABC):
    """Where volumes come from: files of their own, or parts of one file or array that holds all."""

    @abc.abstractmethod
    def volume(self, index: int) -> Volume:
        """The volume as it is in the file."""

    @abc.abstractmethod
    def place(self, index: int) -> str:
        """What messages call it: a file, and the row of the table."""

    def file(self, index: int) -> Path | None:
        """The file of a volume, or the folder of its slices; None where one file or array holds all."""
        return None

    def header(self, index: int) -> VolumeHeader:
        """What is said of a volume before it is read."""
        return self.volume(index).header

    def mask(self, index: int) -> Volume | None:
        """Its segmentation mask as it is in the file, if there is one."""
        return None


@dataclasses.dataclass(frozen=True)
class CutMask:
    """What `size` leaves of a mask.

    kept, marked: Voxels that are marked and left, and all that are marked.
    needed: Voxels along each axis that hold all of them.
    """

    kept: int
    marked: int
    needed: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class ScanLook:
    """What a check keeps of a scan whose voxels are gone.

    low, high: Least and greatest value.
    digest: Equal for equal voxels.
    mask: Voxels of each value of its mask, if there is one.
    room: What its body needs.
    cut: What a size leaves of its mask, if there is one.
    fillers: Voxels of each number that usually means missing.
    is_rounded: Whether labels of its mask were brought to whole numbers.
    """

    low: float
    high: float
    digest: bytes
    header: VolumeHeader
    prepared: VolumeHeader
    mask: dict[float, int] | None
    room: Room
    cut: CutMask | None
    fillers: dict[float, int]
    is_rounded: bool = False


LINE = 64
"""Bytes of memory that a processor fetches at once."""


def _hash_of(values: NDArray[Any]) -> bytes:
    hashed = hashlib.sha256(f"{values.shape}{values.dtype.kind}".encode())
    few = max(1, LINE // values.itemsize)  # planes at once: a file may lie in memory in the other order
    for channel in values:
        for start in range(0, len(channel), few):
            hashed.update(np.ascontiguousarray(channel[start : start + few]).data)
    return hashed.digest()


NEAR_WHOLE = 1e-3
"""What scaling and single precision change of a label at most."""


def whole_labels(values: NDArray[Any]) -> NDArray[Any]:
    """Labels of a mask as whole numbers, where all are near one; else as they are."""
    if values.dtype.kind != "f":
        return values
    whole = np.round(values)
    return whole if bool((np.abs(values - whole) <= NEAR_WHOLE).all()) else values


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scans:
    """Volumes of some cases.

    files: Where they come from.
    rows: Which of the files they are.
    source: What messages call all of them.
    header: What is said of every volume after preparing, of sizes of the first; None where no file was opened yet.
    has_one_size: Whether all are known to be of one size.
    label_kind: What the labels were given as: "text", "number" or "bool".
    mask_names: What the values 0, 1, 2 ... of the masks are called, where the data say it.
    """

    files: ScanFiles
    options: VolumeOptions
    rows: Rows
    source: str
    header: VolumeHeader | None = None
    has_one_size: bool = False
    has_masks: bool = False
    label_kind: str = "text"
    mask_names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Self:
        return dataclasses.replace(self, rows=self.rows[rows])

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """Voxels of every prepared volume along each axis; None where they differ or are not known yet."""
        return self.header.sizes if self.header is not None and self.has_one_size else None

    def place(self, index: int) -> str:
        """What messages call a scan: a file, and the row of the table."""
        return self.files.place(int(self.rows[index]))

    def file(self, index: int) -> Path | None:
        """The file of a scan, or the folder of its slices; None where it is a part of an array."""
        return self.files.file(int(self.rows[index]))

    def file_header(self, index: int) -> VolumeHeader:
        """What is said of a scan before it is read or prepared."""
        return self.files.header(int(self.rows[index]))

    def read(self, index: int) -> Volume:
        """A scan as it is in the file."""
        return self.files.volume(int(self.rows[index]))

    def prepare(self, index: int) -> Volume:
        """A scan oriented, resampled, windowed and sized, its affine with it."""
        return prepare(self.read(index), self.options)

    def header_after_preparing(self, index: int) -> VolumeHeader:
        """What is said of `prepare`, by the header of the file alone."""
        return header_after_preparing(self.file_header(index), self.options, self.place(index))

    def spacing(self, index: int) -> tuple[float, ...] | None:
        """Millimetres per voxel of `prepare`; None where it has none."""
        return self.header_after_preparing(index).spacing

    def mask(self, index: int) -> Volume | None:
        """Segmentation mask on the grid of `prepare`, its values as in the file; None if there is none."""
        mask = self.file_mask(index)
        return None if mask is None else prepare(mask, self.options, is_mask=True)

    def file_mask(self, index: int) -> Volume | None:
        """Segmentation mask on the grid of its file; None if there is none."""
        mask = self.files.mask(int(self.rows[index]))
        if mask is None:
            return None
        header = self.file_header(index)
        same_place = header.affine is None or mask.affine is None or np.allclose(header.affine, mask.affine, atol=1e-3)
        if mask.sizes != header.sizes or mask.channels != 1 or not same_place:
            raise DataError(
                f"{mask.source}: a mask must lie on the grid of its volume. Got {_grid_in_words(mask, mask.sizes)} for "
                f"{_grid_in_words(header, header.sizes)} of {self.place(index)}. Resample it, or write it with the "
                f"volume's affine."
            )
        return Volume(values=whole_labels(mask.values), affine=header.affine, source=mask.source, axes=header.axes)

    def find_cut(self, index: int) -> CutMask | None:
        """What `size` leaves of a mask; None if there is none."""
        mask = self.file_mask(index)
        if mask is None:
            return None
        whole, left = (
            prepare(mask, options, is_mask=True).values[0] != 0 for options in (self._uncut_options, self.options)
        )
        return CutMask(int(left.sum()), int(whole.sum()), sizes_needed(whole))

    def find_uncut(self, index: int) -> tuple[Volume, NDArray[np.bool_]] | None:
        """A scan before a size cuts it, and which of its voxels are left; None where none is lost."""
        target, volume = self.options.size, prepare(self.read(index), self.options.replace(size=None, distance=False))
        if target is None or all(old <= new for old, new in zip(volume.sizes, target, strict=True)):
            return None
        starts = (max(start, 0) for start in crop_starts(volume.sizes, target))
        box = tuple(slice(start, start + new) for start, new in zip(starts, target, strict=True))
        left = np.zeros(volume.sizes, dtype=bool)
        left[box] = True
        return volume, left

    @property
    def _uncut_options(self) -> VolumeOptions:
        """How scans are prepared before they are cut."""
        return self.options.replace(size=None, window=None, distance=False)

    @functools.cached_property
    def volumes(self) -> Array:
        """Prepared volumes of one size, `(volumes, channels, *sizes)`, read once."""
        return self.stack()

    def stack(self, limit: int = MEMORY_LIMIT) -> Array:
        """Put volumes one at a time into one array `(volumes, channels, *sizes)`.

        Bytes and 16-bit whole numbers stay what they are unless an option made them fractions; all else is float32.
        Above `limit` bytes the array is a temporary file without a name instead of memory.
        """
        if self.header is None or not self.has_one_size:
            raise DataError(f"{self.source}: volumes of one size are needed. ", *SAME_SIZE)
        dtype = self.header.dtype
        is_small = dtype.kind in "iu" and dtype.itemsize <= 2 and dtype != np.uint16
        shape = (len(self), self.header.channels, *self.header.sizes)
        stored = _allocate(shape, dtype if is_small else np.dtype(np.float32), limit, self.source)
        for row in range(len(self)):
            volume = self.prepare(row)
            if volume.values.shape != shape[1:]:
                shapes = f"shape {shape[1:]}. Got {volume.values.shape}. "
                raise DataError(f"{volume.source}: prepared volumes must have {shapes}", *SAME_SIZE)
            stored[row] = volume.values
        return stored

    @functools.cached_property
    def looks(self) -> tuple[dict[int, ScanLook], Failures]:
        """A look at each scan, one at a time, and what is wrong with those that it cannot be had of."""
        looks: dict[int, ScanLook] = {}
        failures: Failures = []
        for index in range(len(self)):
            with keep_errors(failures):
                looks[index] = self._look(index)
        return looks, failures

    def _look(self, index: int) -> ScanLook:
        volume = self.read(index)
        check_finite(volume)
        values, mask = volume.values, self.mask(index)
        marks, counts = np.unique([] if mask is None else mask.values, return_counts=True)
        whole = bring(volume, self._uncut_options)
        given = None if mask is None or mask.values.dtype.kind != "f" else self.files.mask(int(self.rows[index]))
        return ScanLook(
            low=float(values.min()),
            high=float(values.max()),
            digest=_hash_of(values),
            header=volume.header,
            prepared=header_after_preparing(volume.header, self.options, volume.source),
            mask=None if mask is None else dict(zip(marks.tolist(), counts.tolist(), strict=True)),
            room=Room(whole=whole.header, needed=sizes_needed(find_body(whole.values), MARGIN, THIN)),
            cut=None if self.options.size is None else self.find_cut(index),
            fillers={value: len(rows) for value, rows in marks_of(values.ravel("K"), is_sure=True).items()},
            is_rounded=given is not None and not np.array_equal(given.values, whole_labels(given.values)),
        )

    def digests(self) -> list[bytes]:
        """A hash of each scan; those that are constant or cannot be read are like no other."""
        looks, _ = self.looks
        compared = {index: look.digest for index, look in looks.items() if look.low < look.high}
        return [compared.get(index, str(index).encode()) for index in range(len(self))]

    def content(self) -> Iterator[object]:
        """Everything that was read: prepared volumes, and masks where these are read too."""
        if "volumes" in vars(self):
            yield self.volumes
            return
        for index in range(len(self)):
            mask = self.mask(index)
            yield from (self.prepare(index).values, None if mask is None else mask.values)


Cases = Samples[Scans]


def _allocate(shape: tuple[int, ...], dtype: np.dtype[np.generic], limit: int, source: str) -> Array:
    needed = int(np.prod(shape)) * dtype.itemsize
    if needed <= limit:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        try:
            if hasattr(os, "posix_fallocate"):  # else a full disk would end the process at a later write
                os.posix_fallocate(file.fileno(), 0, needed)
            else:
                os.ftruncate(file.fileno(), needed)
        except OSError as error:
            raise DataError(
                f"{source}: its prepared volumes need {needed:,} bytes in {tempfile.gettempdir()}: {error.strerror}. "
                f"Free space, set TMPDIR, or choose a smaller size."
            ) from None
        return np.memmap(file, dtype, "r+", shape=shape)


def _grid_in_words(grid: Grid, sizes: tuple[int, ...]) -> str:
    spacing = "no spacing" if grid.spacing is None else millimetres(grid.spacing, 4)
    return f"{sizes_in_words(sizes, 'x')} voxels, {spacing}, {grid.orientation or 'no orientation'}"


def scan_cases(
    scans: Scans,
    names: tuple[str, ...],
    *,
    labels: NDArray[Any] | None = None,
    classes: tuple[str, ...] | None = None,
    target_name: str | None = None,
    patients: tuple[str, ...] | None = None,
    official: tuple[str, ...] | None = None,
    notes: tuple[str, ...] = (),
    subgroups: Mapping[str, Sequence[str]] | None = None,
) -> Cases:
    """Scans as samples, which are called cases and have a patient, and by column what they belong to.

    `names` are safe as parts of file names; `labels` are positions in `classes`, or numbers without these.
    """
    return Samples(
        inputs=scans,
        source=scans.source,
        word="cases",
        target=labels,
        classes=classes,
        target_name=None if labels is None else target_name,
        names={"case": names, **({} if patients is None else {"patient": patients}), **(subgroups or {})},
        groups=patients,
        official=official,
        notes=notes,
        labelling=LABELLING,
    )


def splits_named(cases: Samples[Any]) -> Splits:
    """Cases of each split that the data name."""
    official = np.array(cases.official or ())
    return {name: np.flatnonzero(official == name) for name in SPLITS if name in official}
