"""Scans that are rows of arrays: in memory, or in a .npz as MedMNIST publishes its sets."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.catalogue import find_by_file
from multiway.data.findings import list_some, quote
from multiway.data.options import LabelKind, VolumeOptions
from multiway.data.samples import SPELLINGS, SPLITS
from multiway.data.sources.arrays import Archive, labels_in, name_rows, pairs_of
from multiway.data.sources.scans.cases import Cases, ScanFiles, Scans, scan_cases
from multiway.data.sources.scans.grids import header_after_preparing
from multiway.data.sources.scans.volume import Array, Volume, VolumeHeader, check_channels
from multiway.data.targets import are_classes, label_cells, read_labels
from multiway.errors import DataError, Fix

LABEL_KINDS = {"i": "number", "u": "number", "f": "number", "b": "bool"}
"""By the kind of a NumPy type; all else is text."""
CASES_PER_CLASS = 2
"""Scans are few."""


class ArrayFiles(ScanFiles):
    """Volumes that are rows of one array, `(cases, channels, *sizes)`, and their masks, `(cases, *sizes)`, if any."""

    def __init__(self, values: Array, masks: Array | None = None) -> None:
        self.values, self.masks = values, masks

    def volume(self, index: int) -> Volume:
        """One row."""
        return Volume(values=self.values[index], affine=None, source=self.place(index))

    def mask(self, index: int) -> Volume | None:
        """One row of the masks."""
        if self.masks is None:
            return None
        return Volume(values=self.masks[index][None], affine=None, source=f"y[{index}]")

    def place(self, index: int) -> str:
        """Which row."""
        return f"X[{index}]"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Arrays:
    """Volumes in memory.

    x: `(cases, *sizes)` or `(cases, channels, *sizes)`, three sizes.
    y: One class or number per case; None for prediction, or with masks.
    masks: Whole numbers, `(cases, *sizes)`.
    patients: One per case; a patient is never split.
    """

    x: Any
    y: Any = None
    masks: Any = None
    patients: Sequence[Any] | None = None

    def cases(self, options: VolumeOptions) -> Cases:
        """The arrays as cases; classes are the sorted values of `y`."""
        values = _read_volumes(self.x)
        count = len(values)
        labels, classes = (None, None) if self.y is None else _read_labels(self.y, count, options.kind)
        if self.patients is not None and len(self.patients) != count:
            raise DataError(f"patients: one is needed per case. Got {len(self.patients)} for {count} volumes.")
        files = ArrayFiles(values, None if self.masks is None else _read_masks(self.masks, values))
        scans = Scans(
            files=files,
            options=options,
            rows=np.arange(count),
            source="arrays in memory",
            has_one_size=True,
            header=header_after_preparing(files.header(0), options, "X"),
            has_masks=self.masks is not None,
            label_kind="text" if classes is None else LABEL_KINDS.get(classes.dtype.kind, "text"),
        )
        return scan_cases(
            scans,
            tuple(f"{row:0{len(str(count - 1))}d}" for row in range(count)),
            labels=labels,
            classes=None if classes is None else tuple(map(str, classes.tolist())),
            patients=None if self.patients is None else tuple(map(str, self.patients)),
        )


def _read_volumes(x: Any) -> Array:
    values = np.asarray(x)
    if values.dtype.kind not in "biuf":
        raise DataError(f"X: volumes hold numbers. Got values of type {values.dtype.name}. Convert them.")
    if values.ndim not in (4, 5) or not values.size:
        raise DataError(
            f"X: volumes are (cases, *sizes) or (cases, channels, *sizes) with three sizes. Got {values.shape}."
        )
    if values.dtype in (bool, np.float16):
        values = values.astype(np.uint8 if values.dtype == bool else np.float32)
    if values.ndim == 5:
        check_channels(values.shape[1], values.shape[2:], "X")
    return values[:, None] if values.ndim == 4 else values


def _read_masks(y: Any, volumes: Array) -> Array:
    given, shape = np.asarray(y), (len(volumes), *volumes.shape[2:])
    if given.dtype.kind not in "biuf" or given.shape != shape:
        raise DataError(
            f"y: one mask of whole numbers is needed per volume, {shape}. Got {given.dtype.name} {given.shape}."
        )
    return given.astype(np.uint8) if given.dtype == bool else given


def _read_labels(y: Any, count: int, kind: LabelKind) -> tuple[NDArray[Any], Array | None]:
    """Numbers, or positions in classes and these, or which of several labels."""
    if kind == "labels":
        cells = label_cells(y)
        if len(cells) != count:
            raise DataError(f"y: labels are needed per case, for {count}. Got {len(cells)}.")
        truth, names = read_labels(cells, None, "y", "cases")
        return truth, np.array(names, dtype=object)
    given = np.asarray(y)
    if given.shape != (count,):
        what = "number" if kind == "number" else "class"
        raise DataError(f"y: one {what} is needed per case, ({count},). Got {given.shape}.")
    if given.dtype.kind in "iuf" and not are_classes(kind, given, CASES_PER_CLASS):
        numbers = given.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise DataError(f"y: numbers are finite. Got {quote(given[~np.isfinite(numbers)][0])}.")
        return numbers, None
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.floor(given)).all()):
        bad = given[~np.isfinite(given) | (given != np.floor(given))][0]
        raise DataError(f"y: classes are words or whole numbers. Got {quote(bad)}. VolumeRegressor takes numbers.")
    if given.dtype.kind == "O" and all(isinstance(value, bool | np.bool_) for value in given):
        given = given.astype(bool)
    if given.dtype.kind == "O" and not all(isinstance(value, str | int | np.integer) for value in given):
        raise DataError("y: classes are words or whole numbers, each of them. Got other values among them.")
    try:
        classes, labels = np.unique(given, return_inverse=True)
    except TypeError:
        raise DataError("y: classes are all words or all whole numbers. Got both.") from None
    return labels.reshape(-1).astype(np.int64), classes


class ArchiveFiles(ScanFiles):
    """Volumes of the three parts, one after another.

    The images of a part are read when one is used, and kept until another part is.
    """

    def __init__(self, path: Path, options: VolumeOptions) -> None:
        self.where = quote(path.name, 80)
        self.archive = Archive(path, options.max_bytes, self.where)
        self.pairs = pairs_of(self.archive)
        names = {
            f"{SPELLINGS[part][0]}_{kind}": self.pairs[part][at] if part in self.pairs else None
            for part in SPLITS
            for at, kind in enumerate(("images", "labels"))
        }
        missing = [name for name, present in names.items() if present is None]
        if missing:
            raise DataError(
                f"{self.where}: images and labels of train, val and test are needed. It lacks {list_some(missing)} and "
                f"holds {list_some(self.archive.names)}. Save all six, or list files in a table."
            )
        self.headers = {split: self.archive.header(pair.samples) for split, pair in self.pairs.items()}
        self.rank = 5 if options.channels else 4
        for split in SPLITS:
            self._check_images(split)
        self.counts = {split: self.headers[split].shape[0] for split in self.pairs}
        self._images = functools.lru_cache(maxsize=1)(self._read_images)

    def _check_images(self, split: str) -> None:
        shape, name = self.headers[split].shape, self.pairs[split].samples
        form = "(cases, channels, size, size, size)" if self.rank == 5 else "(cases, size, size, size)"
        if len(shape) != self.rank or 0 in shape:
            fix = (". Set channels for an axis of channels (", Fix("read.channels", True), ")")
            raise DataError(
                f"{self.where}: '{name}' must be {form} with cases in it. Got {shape}",
                *(fix if len(shape) == 5 else ()),
                ". Save volumes so, or list files in a table.",
            )
        if self.rank == 5:
            check_channels(shape[1], shape[2:], f"{self.where}, '{name}'")
        if shape[1:] != self.headers["train"].shape[1:]:
            raise DataError(
                f"{self.where}: volumes of all parts must have one shape. Got {self.headers['train'].shape[1:]} in "
                f"'{self.pairs['train'].samples}' and {shape[1:]} in '{name}'."
            )

    def _find(self, index: int) -> tuple[str, int]:
        """Part of a volume, and its row there."""
        for split in SPLITS:
            if index < self.counts[split]:
                return split, index
            index -= self.counts[split]
        raise IndexError(index)

    def _read_images(self, split: str) -> Array:
        images = self.archive.read(self.pairs[split].samples)
        return images.astype(np.uint8) if images.dtype == bool else images

    def header(self, index: int) -> VolumeHeader:
        """What is said of a volume before it is read."""
        header = self.headers[self._find(index)[0]]
        dtype = np.dtype(np.uint8) if header.dtype == bool else header.dtype.newbyteorder("=")
        channels = header.shape[1] if self.rank == 5 else 1
        return VolumeHeader(sizes=header.shape[-3:], channels=channels, dtype=dtype, affine=None)

    def volume(self, index: int) -> Volume:
        """The volume as it is in the file."""
        split, row = self._find(index)
        values = self._images(split)[row]
        return Volume(values=values if self.rank == 5 else values[None], affine=None, source=self.place(index))

    def place(self, index: int) -> str:
        """File, array and row."""
        split, row = self._find(index)
        return f"{self.where}, {self.pairs[split].samples}[{row}]"


def is_medmnist(path: Path) -> bool:
    """Whether a .npz has arrays of images and labels."""
    names = Archive(path, 0, quote(path.name, 80)).names
    return any(name.endswith(("_images", "_labels")) for name in names)


def read_medmnist(path: Path, options: VolumeOptions) -> Cases:
    """Read the labels and the headers; images stay in the file."""
    files = ArchiveFiles(path, options)
    parts = {split: str(files.pairs[split].labels) for split in SPLITS}
    have_points = all(files.archive.header(name).dtype.kind == "f" for name in parts.values())
    are_numbers = options.kind == "number" or (options.kind == "auto" and have_points)
    labels = {
        split: np.array(labels_in(files.archive, name, files.counts[split], numbers=are_numbers))
        for split, name in parts.items()
    }
    if are_numbers:
        return _archive_cases(files, options, np.concatenate(list(labels.values())))
    known = find_by_file(path)
    names = None if known is None else known.classes
    numbers = np.arange(len(names)) if names else np.unique(labels["train"])
    for split, values in labels.items():
        outside = np.flatnonzero(~np.isin(values, numbers))
        if len(outside):
            rule = f"a label of the set is 0 to {len(numbers) - 1}" if names else "every label must occur in training"
            raise DataError(
                f"{files.where}: {rule}. Got {values[outside[0]]} in '{files.pairs[split].labels}' row {outside[0]} "
                f"({len(outside)} such). Known labels: {list_some(numbers)}. Correct them."
            )
    notes = []
    if known is not None and known.shapes and not options.shape_transform:
        fix = Fix("read.shape_transform", True)
        notes.append(f"{files.where} holds shapes; its authors vary their brightness ({fix})")
    if known is not None and tuple(files.counts.values()) != known.counts:
        notes.append(
            f"{files.where} has {list_some(files.counts.values())} cases, not the published {list_some(known.counts)}"
        )
    positions = np.searchsorted(numbers, np.concatenate(list(labels.values()))).astype(np.int64)
    classes = names or tuple(map(str, numbers.tolist()))
    return _archive_cases(files, options, positions, classes, tuple(notes))


def _archive_cases(
    files: ArchiveFiles,
    options: VolumeOptions,
    labels: NDArray[Any],
    classes: tuple[str, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> Cases:
    scans = Scans(
        files=files,
        options=options,
        rows=np.arange(sum(files.counts.values())),
        source=files.where,
        has_one_size=True,
        header=header_after_preparing(files.header(0), options, files.where),
    )
    rows, official = name_rows(files.counts)
    return scan_cases(scans, rows, labels=labels, classes=classes, notes=notes, official=official)
