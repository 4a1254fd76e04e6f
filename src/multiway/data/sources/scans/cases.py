"""Cases: names, labels and splits of many volumes, which are read one at a time."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed, quoted
from multiway.data.matching import match_classes
from multiway.data.samples import Samples
from multiway.data.sources.scans.options import VolumeOptions, VolumeSplit
from multiway.data.sources.scans.preparing import prepare, prepared_header
from multiway.data.sources.scans.volume import BARE_AXES, Array, Grid, Volume, VolumeHeader, check_channels, millimetres
from multiway.data.splitting import Splits, drawn_notes, split
from multiway.errors import DataError, Fix, Message

SAME_SIZE: Message = (
    "Set size to crop or pad them (", Fix("read.size", like="I,J,K"), "), or resample_to to stretch them."
)  # fmt: skip
"""What to do where volumes of one size are needed."""
LABEL_KINDS = {"i": "number", "u": "number", "f": "number", "b": "bool"}
"""By the kind of a NumPy type; all else is text."""


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
    label_kind: What the labels were given as: "text", "number" or "bool".
    patients: One per case, if known.
    splits: `train`, `validation` and `test` to indices of cases; empty where nothing is split.
    channels, sizes: After preparing, the same for every case; None where they differ or no file was opened yet.
    axes: Names of the three axes after preparing.
    mask_names: What the values 0, 1, 2 ... of the masks are called, where the data say it.
    notes: What a reader should know, one line each.
    """

    names: tuple[str, ...]
    labels: NDArray[np.int64] | None = None
    classes: tuple[str, ...] = ()
    label_kind: str = "text"
    patients: tuple[str, ...] | None = None
    splits: Splits = dataclasses.field(default_factory=dict)
    channels: int | None = None
    sizes: tuple[int, ...] | None = None
    axes: tuple[str, ...] = BARE_AXES
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
                f"{mask.source}: a mask must lie on the grid of its volume. Got {_form(mask, mask.sizes)} for "
                f"{_form(header, header.sizes)} of {self.scans.place(index)}. Resample it, or write it with the "
                f"volume's affine."
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
        if self.labels is None:
            return dataclasses.replace(self, classes=tuple(classes))
        names = [self.classes[label] for label in self.labels.tolist()]
        labels = match_classes(names, classes, self.source, "cases", self.scans.place)
        return dataclasses.replace(self, labels=labels, classes=tuple(classes))

    def class_counts(self) -> dict[str, dict[str, int]]:
        """Cases of each class in each split."""
        if self.labels is None:
            return {}
        counts = {
            split: np.bincount(self.labels[rows], minlength=len(self.classes)).tolist()
            for split, rows in self.splits.items()
        }
        return {split: dict(zip(self.classes, numbers, strict=True)) for split, numbers in counts.items()}


def _form(grid: Grid, sizes: tuple[int, ...]) -> str:
    spacing = "no spacing" if grid.spacing is None else millimetres(grid.spacing, 4)
    return f"{'x'.join(map(str, sizes))} voxels, {spacing}, {grid.orientation or 'no orientation'}"


def split_cases(
    labels: NDArray[np.int64] | None,
    patients: Sequence[str] | None,
    names: Sequence[str],
    how: VolumeSplit,
    source: str,
    official: Sequence[str] | None = None,
) -> tuple[Splits, tuple[str, ...]]:  # fmt: skip
    """Splits of cases as the data name them, else by patient and class, and what is to be noted of it.

    Raises:
        DataError: A split would be empty.
    """
    cases = Samples(
        inputs=np.array(names), source=source, word="cases", target=labels, classes=None if labels is None else (),
        groups=None if patients is None else tuple(patients), official=None if official is None else tuple(official),
    )  # fmt: skip
    splits = split(cases, how)
    return splits, drawn_notes(cases, splits)


class ArrayScans:
    """Volumes that are rows of one array, `(cases, channels, *sizes)`, and their masks, `(cases, *sizes)`, if any."""

    def __init__(self, values: Array, masks: Array | None = None) -> None:
        self.values, self.masks = values, masks

    def header(self, index: int) -> VolumeHeader:
        """What is known of a volume without looking at its voxels."""
        channels, *sizes = self.values.shape[1:]
        return VolumeHeader(sizes=tuple(sizes), channels=channels, dtype=self.values.dtype, affine=None)

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
    y: One class per case; None for prediction, or with masks.
    masks: Whole numbers, `(cases, *sizes)`.
    patients: One per case; a patient is never split.
    """

    x: Any
    y: Any = None
    masks: Any = None
    patients: Sequence[Any] | None = None

    def cases(self, options: VolumeOptions, how: VolumeSplit | None = None) -> Cases:
        """The arrays as cases, split where it is said how; the classes are the sorted values of `y`.

        Raises:
            DataError: Shapes, types or counts do not fit.
        """
        values = _volumes(self.x)
        count = len(values)
        labels, classes = (None, np.empty(0, object)) if self.y is None else _labels(self.y, count)
        if self.patients is not None and len(self.patients) != count:
            raise DataError(f"patients: one is needed per case. Got {len(self.patients)} for {count} volumes.")
        patients = None if self.patients is None else tuple(map(str, self.patients))
        scans = ArrayScans(values, None if self.masks is None else _masks(self.masks, values))
        names = tuple(f"{row:0{len(str(count - 1))}d}" for row in range(count))
        header = prepared_header(scans.header(0), options, "X")
        return Cases(
            names=names, labels=labels,
            classes=tuple(map(str, classes.tolist())), label_kind=LABEL_KINDS.get(classes.dtype.kind, "text"),
            patients=patients, splits={} if how is None else split_cases(labels, patients, names, how, "X")[0],
            channels=header.channels, sizes=header.sizes, axes=header.axes, source="arrays in memory",
            options=options, scans=scans, dtype=header.dtype, has_masks=self.masks is not None,
        )  # fmt: skip


def _volumes(x: Any) -> Array:
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


def _masks(y: Any, volumes: Array) -> Array:
    given, shape = np.asarray(y), (len(volumes), *volumes.shape[2:])
    if given.dtype.kind not in "biuf" or given.shape != shape:
        raise DataError(
            f"y: one mask of whole numbers is needed per volume, {shape}. Got {given.dtype.name} {given.shape}."
        )
    return given.astype(np.uint8) if given.dtype == bool else given


def _labels(y: Any, count: int) -> tuple[NDArray[np.int64], Array]:
    given = np.asarray(y)
    if given.shape != (count,):
        raise DataError(f"y: one class is needed per case, ({count},). Got {given.shape}.")
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.floor(given)).all()):
        bad = given[~np.isfinite(given) | (given != np.floor(given))][0]
        raise DataError(f"y: classes are words or whole numbers. Got {quoted(bad)}.")
    if given.dtype.kind == "O" and all(isinstance(value, bool | np.bool_) for value in given):
        given = given.astype(bool)
    if given.dtype.kind == "O" and not all(isinstance(value, str | int | np.integer) for value in given):
        raise DataError("y: classes are words or whole numbers, each of them. Got other values among them.")
    try:
        classes, labels = np.unique(given, return_inverse=True)
    except TypeError:
        raise DataError("y: classes are all words or all whole numbers. Got both.") from None
    return labels.reshape(-1).astype(np.int64), classes
