"""From cases to normalised volumes with labels, and what training learns of them."""

import dataclasses
import os
import tempfile
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.config import Config, Plain
from multiway.data.findings import listed
from multiway.data.samples import SPLITS
from multiway.data.sources.scans.cases import SAME_SIZE, Cases
from multiway.data.sources.scans.encoding import IntensityScale, Spacings, evenly, spacings_of, warn_of_spacing
from multiway.data.sources.scans.loading import Source, read_cases
from multiway.data.sources.scans.options import VolumeOptions, VolumeSplit
from multiway.data.sources.scans.volume import Array, Volume
from multiway.errors import DataError, Fix

MEMORY_LIMIT = 4 * 2**30


class VolumeState(Config):
    """What a run has learnt of its volumes."""

    classes: tuple[str, ...]
    """Names, in the order of the logits."""
    channels: int
    """Values per voxel."""
    sizes: tuple[int, ...]
    """Voxels along each axis, after preparing."""
    axes: tuple[str, ...]
    """Names of the axes."""
    scale: IntensityScale
    """Intensities of the training volumes."""
    label_kind: str = "text"
    """Kind of the labels that were given: "text", "number" or "bool"."""
    spacings: Spacings | None = None
    """Least and greatest millimetres per voxel after preparing; None where the scans do not say it."""

    def normalised(self, volume: Volume) -> Tensor:
        """A prepared volume as the training's were, `(1, channels, *sizes)`.

        Raises:
            DataError: It is of another size or has other channels than those of the training.
        """
        shape = (self.channels, *self.sizes)
        if volume.values.shape != shape:
            raise DataError(
                f"{volume.source}: the run was trained on (channels, *sizes) {shape}. Got {volume.values.shape}. Give "
                f"scans of that size, or train with read.size or read.resample_to, which bring any scan to one size."
            )
        warn_of_spacing(volume.spacing, self.spacings)
        return self.scale.apply_to(volume.values)[None]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedVolumes:
    """Labelled cases; those of a training are read as a whole, later ones one at a time.

    store: `(cases, channels, *sizes)`, before normalisation; None for later data.
    scale: Of the training volumes.
    """

    cases: Cases
    labels: NDArray[np.int64]
    store: Array | None
    scale: IntensityScale
    notes: tuple[str, ...]

    @property
    def source(self) -> str:
        """Where the volumes came from."""
        return self.cases.source

    @property
    def values(self) -> Array:
        """The volumes of a training."""
        assert self.store is not None
        return self.store

    @property
    def state(self) -> VolumeState:
        """What training learns."""
        cases = self.cases
        return VolumeState(
            classes=cases.classes, channels=int(self.values.shape[1]), scale=self.scale, axes=cases.axes,
            sizes=tuple(self.values.shape[2:]), label_kind=cases.label_kind,
            spacings=spacings_of(cases.spacing, cases.indices("train").tolist()),
        )  # fmt: skip

    def content(self) -> Iterator[object]:
        """Everything that was read."""
        yield self.cases.names, self.cases.classes
        yield self.labels
        yield from (self.cases.indices(split) for split in SPLITS)
        yield self.values

    def rows(self, split: str) -> NDArray[np.int64]:
        """Cases of a split; all of them where the data has no such split."""
        return self.cases.splits.get(split, np.arange(self.cases.count))

    def part(self, split: str) -> "VolumeBatches":
        """Samples of a split."""
        rows = self.rows(split)
        return VolumeBatches(self.values, self.labels[rows], rows, self.scale)

    def counts(self, split: str) -> Plain:
        """How many cases and patients a split has, and cases of each class."""
        rows, patients = self.cases.indices(split), self.cases.patients
        return {
            "cases": len(rows),
            "patients": None if patients is None else len({patients[row] for row in rows}),
            "classes": self.cases.class_counts()[split],
        }


@dataclasses.dataclass(frozen=True, eq=False)
class VolumeBatches:
    """Samples for the training loop: normalised volumes and their labels.

    store: `(cases, channels, *sizes)`, as `load_values` gives.
    labels: `(samples,)`.
    rows: Rows of `store` that are the samples.
    scale: Applied to each batch.
    """

    store: Array
    labels: NDArray[np.int64]
    rows: NDArray[np.int64]
    scale: IntensityScale

    def __len__(self) -> int:
        return len(self.rows)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Copy some samples: `inputs` `(batch, channels, *sizes)` float32 and `target` `(batch,)` int64."""
        volumes = torch.from_numpy(self.store).index_select(0, torch.from_numpy(self.rows)[index])
        return {"inputs": self.scale.apply(volumes), "target": torch.from_numpy(self.labels)[index]}

    def some(self, most: int) -> Tensor:
        """Indices of so many samples at most, evenly spread."""
        return evenly(len(self), most)

    def batches(self, size: int) -> Iterator[dict[str, Tensor]]:
        """All samples in order."""
        for index in torch.arange(len(self)).split(size):
            yield self.gather(index)


def prepare_volumes(source: Source, options: VolumeOptions, split: VolumeSplit) -> PreparedVolumes:
    """Read every volume; whatever can be wrong with the data shows here, before anything is written.

    Raises:
        DataError: A file is not sound, labels are missing, or a split has no case.
        ConfigError: An option does not fit the data.
    """
    cases = read_cases(source, options, split)
    labels = _checked_labels(cases)
    store = load_values(cases)
    scale = IntensityScale.fit(store.__getitem__, cases.indices("train").tolist(), options)
    notes = (*cases.notes, *_notes(cases, labels))
    return PreparedVolumes(cases=cases, labels=labels, store=store, scale=scale, notes=notes)


def prepare_later(source: Source, options: VolumeOptions, state: VolumeState) -> PreparedVolumes:
    """Labelled cases that came after the training; no volume is read yet.

    Raises:
        DataError: There are no labels, or a label is none of the run's classes.
    """
    cases = read_cases(source, options, same_sizes=False)
    if cases.labels is None:
        raise DataError(f"{cases.source}: scores need labels, and there are none. Name their column (read.label).")
    known = cases.with_classes(state.classes)
    assert known.labels is not None
    return PreparedVolumes(cases=known, labels=known.labels, store=None, scale=state.scale, notes=known.notes)


def no_labels(cases: Cases) -> DataError:
    """The error that says that nothing can be learnt."""
    text = f"{cases.source}: classes are learnt from labels, and there are none. Name their column ("
    return DataError(text, Fix("read.label", like="NAME"), ").")


def _checked_labels(cases: Cases) -> NDArray[np.int64]:
    if cases.labels is None:
        raise no_labels(cases)
    if len(cases.classes) < 2:
        raise DataError(
            f"{cases.source}: two classes or more are needed. Got {listed(cases.classes)} in every case. Give others."
        )
    empty = [split for split in SPLITS if not len(cases.splits.get(split, ()))]
    if empty:
        raise DataError(
            f"{cases.source}: {empty[0]} has no case. Got {cases.count} in all. Give more, or change the shares (",
            Fix("split.validation", 0.15),
            " ",
            Fix("split.test", 0.2),
            ").",
        )
    if len(np.unique(cases.labels[cases.indices("train")])) < 2:
        raise DataError(f"{cases.source}: every training case has one class. Give cases of two, or split otherwise.")
    return cases.labels


def _notes(cases: Cases, labels: NDArray[np.int64]) -> Iterator[str]:
    for split in SPLITS:
        counts = np.bincount(labels[cases.indices(split)], minlength=len(cases.classes))
        absent = [cases.classes[label] for label in np.flatnonzero(counts == 0)]
        if absent and (split == "train" or int((counts > 0).sum()) > 1):
            yield f"{split} has no case of {listed(absent)}" + ("" if split == "train" else ": AUC is undefined")
        if absent and split == "validation":
            yield "The best epoch is that of the lowest validation loss, as validation has no AUC."


def load_values(cases: Cases, indices: Sequence[int] | None = None, *, limit: int = MEMORY_LIMIT) -> Array:
    """Prepare cases one at a time into one array.

    Bytes and 16-bit whole numbers stay what they are unless an option made them fractions; all else is float32.

    Args:
        cases: Cases of one size.
        indices: Which, in this order; all if not given.
        limit: Bytes above which the array is a temporary file without a name instead of memory.

    Returns:
        `(cases, channels, *sizes)`.

    Raises:
        DataError: Cases differ in size, a file is not sound, or the disk is full.
    """
    rows = range(cases.count) if indices is None else indices
    if cases.sizes is None or cases.channels is None or cases.dtype is None:
        raise DataError(f"{cases.source}: volumes of one size are needed. ", *SAME_SIZE)
    store = _empty((len(rows), cases.channels, *cases.sizes), stored_type(cases.dtype), limit, cases.source)
    for row, index in enumerate(rows):
        volume = cases.prepared(int(index))
        if volume.values.shape != store.shape[1:]:
            shapes = f"shape {store.shape[1:]}. Got {volume.values.shape}. "
            raise DataError(f"{volume.source}: prepared volumes must have {shapes}", *SAME_SIZE)
        store[row] = volume.values
    return store


def stored_type(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """What values of a type are stored as."""
    is_small = dtype.kind in "iu" and dtype.itemsize <= 2 and dtype != np.uint16
    return dtype if is_small else np.dtype(np.float32)


def _empty(shape: tuple[int, ...], dtype: np.dtype[np.generic], limit: int, source: str) -> Array:
    needed = int(np.prod(shape)) * dtype.itemsize
    if needed <= limit:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        try:
            _reserve(file.fileno(), needed)
        except OSError as error:
            raise DataError(
                f"{source}: its prepared volumes need {needed:,} bytes in {tempfile.gettempdir()}: {error.strerror}. "
                f"Free space, set TMPDIR, or choose a smaller size."
            ) from None
        return np.memmap(file, dtype, "r+", shape=shape)


def _reserve(descriptor: int, count: int) -> None:
    """Take the bytes on the disk now, where the system can: a full disk would end the process at a later write."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, count)
    else:
        os.ftruncate(descriptor, count)
