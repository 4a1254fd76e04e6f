"""A .npz with `train_images`, `train_labels`, `val_...` and `test_...`, as MedMNIST publishes its sets."""

import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiway.data.catalogue import known_by_file
from multiway.data.findings import listed, quoted
from multiway.data.samples import SPELLINGS, SPLITS
from multiway.data.sources.arrays import Archive, ArrayPair, labels_in, named_rows, pairs_of
from multiway.data.sources.scans.cases import Cases, Scans, scan_cases
from multiway.data.sources.scans.preparing import prepared_header
from multiway.data.sources.scans.reading import VolumeOptions
from multiway.data.sources.scans.volume import Array, Volume, VolumeHeader, check_channels
from multiway.errors import DataError, Fix


class ArchiveFiles:
    """Volumes of the three parts, one after another.

    The images of a part are read when one is used, and kept until another part is.
    """

    def __init__(self, path: Path, options: VolumeOptions) -> None:
        self.where = quoted(path.name, 80)
        self.archive = Archive(path, options.max_bytes, self.where)
        self.pairs = _pairs(self.archive)
        self.headers = {split: self.archive.header(pair.samples) for split, pair in self.pairs.items()}
        self.rank = 5 if options.channels else 4
        for split in SPLITS:
            self._check_images(split)
        self.counts = {split: header.shape[0] for split, header in self.headers.items()}
        self._images = functools.lru_cache(maxsize=1)(self._read_images)
        self._starts = dict(zip(SPLITS, np.cumsum([0, *self.counts.values()])[:-1].tolist(), strict=True))

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
        split = next(name for name in reversed(SPLITS) if index >= self._starts[name])
        return split, index - self._starts[split]

    def _read_images(self, split: str) -> Array:
        images = self.archive.read(self.pairs[split].samples)
        return images.astype(np.uint8) if images.dtype == bool else images

    def file(self, index: int) -> None:
        """Nothing: one of them holds all."""

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

    def mask(self, index: int) -> None:
        """Nothing: these files hold no masks."""

    def place(self, index: int) -> str:
        """File, array and row."""
        split, row = self._find(index)
        return f"{self.where}, {self.pairs[split].samples}[{row}]"


def is_medmnist(path: Path) -> bool:
    """Whether a .npz has arrays of images and labels."""
    names = Archive(path, 0, quoted(path.name, 80)).names
    return any(name.endswith(("_images", "_labels")) for name in names)


def read_medmnist(path: Path, options: VolumeOptions) -> Cases:
    """Read the labels and the headers; images stay in the file."""
    files = ArchiveFiles(path, options)
    labels, known = {split: _labels(files, split) for split in SPLITS}, known_by_file(path)
    classes, positions = _classes(files, labels, None if known is None else known.classes)
    notes = []
    if known is not None and known.shapes and not options.shape_transform:
        fix = Fix("read.shape_transform", True)
        notes.append(f"{files.where} holds shapes; its authors vary their brightness ({fix})")
    if known is not None and tuple(files.counts.values()) != known.counts:
        notes.append(
            f"{files.where} has {listed(files.counts.values())} cases, not the published {listed(known.counts)}"
        )
    scans = Scans(
        files=files, options=options, rows=np.arange(len(positions)), source=files.where, is_even=True,
        header=prepared_header(files.header(0), options, files.where),
    )  # fmt: skip
    names, official = named_rows(files.counts)
    return scan_cases(scans, names, labels=positions, classes=classes, notes=tuple(notes), official=official)


def _pairs(archive: Archive) -> dict[str, ArrayPair]:
    """Arrays of images and labels of the three parts."""
    pairs = pairs_of(archive)
    names = [(f"{SPELLINGS[part][0]}_{kind}", pairs[part][at] if part in pairs else None)
             for part in SPLITS for at, kind in enumerate(("images", "labels"))]  # fmt: skip
    missing = [name for name, present in names if present is None]
    if missing:
        raise DataError(
            f"{archive.where}: images and labels of train, val and test are needed. It lacks {listed(missing)} and "
            f"holds {listed(archive.names)}. Save all six, or list files in a table."
        )
    return pairs


def _labels(files: ArchiveFiles, split: str) -> NDArray[np.int64]:
    return np.array(labels_in(files.archive, str(files.pairs[split].labels), files.counts[split]), np.int64)


def _classes(
    files: ArchiveFiles, labels: dict[str, NDArray[np.int64]], names: tuple[str, ...] | None
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Classes of a known set by its names, else the labels of the training part; and all labels as their positions."""
    known = np.arange(len(names)) if names else np.unique(labels["train"])
    for split, values in labels.items():
        outside = np.flatnonzero(~np.isin(values, known))
        if len(outside):
            rule = f"a label of the set is 0 to {len(known) - 1}" if names else "every label must occur in training"
            raise DataError(
                f"{files.where}: {rule}. Got {values[outside[0]]} in '{files.pairs[split].labels}' row {outside[0]} "
                f"({len(outside)} such). Known labels: {listed(known)}. Correct them."
            )
    positions = np.searchsorted(known, np.concatenate(list(labels.values()))).astype(np.int64)
    return names or tuple(map(str, known.tolist())), positions
