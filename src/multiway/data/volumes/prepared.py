"""From a file, a table or arrays to normalised volumes with labels: what every later step of a run starts from."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from multiway.config import Config
from multiway.data.findings import listed
from multiway.data.volumes.cases import SPLITS, Cases
from multiway.data.volumes.intensity import IntensityScale
from multiway.data.volumes.loading import read_cases
from multiway.data.volumes.options import VolumeOptions, VolumeSplit
from multiway.data.volumes.spacing import Spacings, spacings_of, spread_evenly, warn_of_spacing
from multiway.data.volumes.store import VolumeBatches, load_values
from multiway.data.volumes.volume import Volume
from multiway.errors import DataError


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
        wanted = (self.channels, *self.sizes)
        if volume.values.shape != wanted:
            raise DataError(
                f"{volume.source}: the run was trained on (channels, *sizes) {wanted}. Got {volume.values.shape}. Give "
                f"scans of that size, or train with read.size or read.resample_to, which bring any scan to one size."
            )
        warn_of_spacing(volume.spacing, self.spacings)
        return self.scale.apply_to(volume.values)[None]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedVolumes:
    """Labelled cases; those of a training are read as a whole, later ones one at a time.

    store: `(cases, channels, *sizes)`, before normalisation; None for later data.
    scale: Of the training volumes.
    label_kind: See `VolumeState`.
    """

    cases: Cases
    labels: NDArray[np.int64]
    store: NDArray[Any] | None
    scale: IntensityScale
    notes: tuple[str, ...]
    label_kind: str = "text"

    @property
    def source(self) -> str:
        """Where the volumes came from."""
        return self.cases.source

    @property
    def spacings(self) -> Spacings | None:
        """Those of the training volumes, see `VolumeState`."""
        return spacings_of(self.cases.spacing(row) for row in spread_evenly(self.cases.indices("train").tolist()))

    @property
    def values(self) -> NDArray[Any]:
        """The volumes of a training."""
        assert self.store is not None
        return self.store

    def content(self) -> Iterator[object]:
        """Everything that was read."""
        yield self.cases.names, self.cases.classes
        yield self.labels
        yield from (self.cases.indices(split) for split in SPLITS)
        yield self.values

    def batches(self, split: str) -> VolumeBatches:
        """Samples of a split."""
        return VolumeBatches(self.values, self.labels, self.cases.indices(split), self.scale)

    def rows(self, split: str) -> NDArray[np.int64]:
        """Cases of a split; all of them where the data has no such split."""
        return self.cases.splits.get(split, np.arange(self.cases.count))


def prepare_volumes(
    source: str | Path | Cases, options: VolumeOptions, split: VolumeSplit, label_kind: str = "text"
) -> PreparedVolumes:
    """Read every volume; whatever can be wrong with the data shows here, before anything is written.

    Raises:
        DataError: A file is not sound, labels are missing, or a split has no case.
        ConfigError: An option does not fit the data.
    """
    cases = source if isinstance(source, Cases) else read_cases(source, options, split)
    labels = _checked_labels(cases)
    store = load_values(cases)
    return PreparedVolumes(
        cases=cases, labels=labels, store=store, notes=(*cases.notes, *_notes(cases, labels)), label_kind=label_kind,
        scale=IntensityScale.fit(store, cases.indices("train"), options),
    )  # fmt: skip


def prepare_later(source: str | Path | Cases, options: VolumeOptions, state: VolumeState) -> PreparedVolumes:
    """Labelled cases that came after the training; no volume is read yet.

    Raises:
        DataError: There are no labels, or a label is none of the run's classes.
    """
    cases = source if isinstance(source, Cases) else read_cases(source, options, same_sizes=False)
    if cases.labels is None:
        raise DataError(f"{cases.source}: scores need labels, and there are none. Name their column (read.label).")
    known = cases.with_classes(state.classes)
    assert known.labels is not None
    return PreparedVolumes(cases=known, labels=known.labels, store=None, scale=state.scale, notes=known.notes)


def _checked_labels(cases: Cases) -> NDArray[np.int64]:
    if cases.labels is None:
        raise DataError(
            f"{cases.source}: classes are learnt from labels, and there are none. Name their column (--label NAME)."
        )
    if len(cases.classes) < 2:
        raise DataError(
            f"{cases.source}: two classes or more are needed. Got {listed(cases.classes)} in every case. Give others."
        )
    empty = [split for split in SPLITS if not len(cases.splits.get(split, ()))]
    if empty:
        raise DataError(
            f"{cases.source}: {empty[0]} has no case. Got {cases.count} in all. Give more, or change the shares "
            f"(--set split.validation=0.15 --set split.test=0.2)."
        )
    if len(np.unique(cases.labels[cases.indices("train")])) < 2:
        raise DataError(f"{cases.source}: every training case has one class. Give cases of two, or split otherwise.")
    return cases.labels


def _notes(cases: Cases, labels: NDArray[np.int64]) -> list[str]:
    notes = []
    for split in SPLITS:
        counts = np.bincount(labels[cases.indices(split)], minlength=len(cases.classes))
        absent = [cases.classes[place] for place in np.flatnonzero(counts == 0)]
        if absent and (split == "train" or int((counts > 0).sum()) > 1):
            notes.append(
                f"{split} has no case of {listed(absent)}" + ("" if split == "train" else ": AUC is undefined")
            )
        if absent and split == "validation":
            notes.append("The best epoch is that of the lowest validation loss, as validation has no AUC.")
    return notes
