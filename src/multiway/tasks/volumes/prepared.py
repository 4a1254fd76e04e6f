"""From a file, a table or arrays to normalised volumes with labels: what every later step of a run starts from."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway import files
from multiway.data.datasets import locate as locate
from multiway.data.findings import listed
from multiway.data.volumes import Cases, IntensityScale, VolumeBatches, load_values, read_cases
from multiway.errors import DataError
from multiway.tasks.volumes.config import VolumeConfig

SPLITS = ("train", "validation", "test")
CHUNK = 64


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """Cases whose volumes are read, and the scale that their training volumes give.

    store: `(cases, channels, *sizes)`, before normalisation.
    digest: Hash of the data, to know it again.
    notes: What a reader of the scores should know, one line each.
    """

    cases: Cases
    labels: NDArray[np.int64]
    store: NDArray[Any]
    scale: IntensityScale
    digest: str
    notes: tuple[str, ...]

    @property
    def channels(self) -> int:
        """Values per voxel."""
        return int(self.store.shape[1])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Voxels along each axis."""
        return tuple(self.store.shape[2:])

    def batches(self, split: str) -> VolumeBatches:
        """Samples of a split."""
        return VolumeBatches(self.store, self.labels, self.cases.indices(split), self.scale)


def prepare(config: VolumeConfig, source: str | Path | Cases) -> Prepared:
    """Read every volume; whatever can be wrong with the data shows here, before anything is written.

    Raises:
        DataError: A file is not sound, labels are missing, or a split has no case.
        ConfigError: An option does not fit the data.
    """
    cases = source if isinstance(source, Cases) else read_cases(source, config.read, config.split)
    labels = _checked_labels(cases)
    store = load_values(cases)
    return Prepared(
        cases=cases,
        labels=labels,
        store=store,
        scale=IntensityScale.fit(store, cases.indices("train"), config.read),
        digest=_digest(source, cases, labels, store),
        notes=(*cases.notes, *_notes(cases, labels)),
    )


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


def _digest(source: str | Path | Cases, cases: Cases, labels: NDArray[np.int64], store: NDArray[Any]) -> str:
    """Hash of a lone file, else of all that was read from a table and its scans."""
    if not isinstance(source, Cases) and Path(source).suffix.lower() == ".npz":
        return files.sha256_of(Path(source))
    found = hashlib.sha256(repr((cases.names, cases.classes, store.shape, store.dtype.str)).encode())
    for array in (labels, *(cases.indices(split) for split in SPLITS)):
        found.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
    for start in range(0, len(store), CHUNK):
        found.update(np.ascontiguousarray(store[start : start + CHUNK]).data)
    return found.hexdigest()
