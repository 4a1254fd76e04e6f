"""`read_cases`: a MedMNIST file, a table of files or a folder of scans as cases."""

from pathlib import Path

import numpy as np

from multiway.data.findings import listed, quoted
from multiway.data.volumes.cases import Cases
from multiway.data.volumes.medmnist import read_medmnist
from multiway.data.volumes.options import VolumeOptions, VolumeSplit
from multiway.data.volumes.preparing import prepared_header
from multiway.errors import DataError


def read_cases(
    source: str | Path,
    options: VolumeOptions | None = None,
    split: VolumeSplit | None = None,
    *,
    same_sizes: bool = True,
) -> Cases:
    """Find the cases of a source: headers, labels and splits, not yet the voxels.

    Args:
        source: A MedMNIST .npz; a CSV, TSV, Parquet or JSON list of files; a folder of scans; or one scan.
        options: How to read and prepare.
        split: How to split what does not say itself. Without it nothing is split and no scan is opened, as for
            prediction; `channels` and `sizes` are then None unless the source knows them.
        same_sizes: Refuse cases that differ in size or channels after preparing.

    Raises:
        DataError: The source is not sound: one line with the file, the row, the value and the mend.
    """
    options = options or VolumeOptions()
    path = Path(source)
    if not path.exists():
        raise DataError(f"{quoted(path, 200)} does not exist. Give a .npz, a table of files, or a folder of scans.")
    if path.suffix.lower() == ".npz" and path.is_file():
        return _from_medmnist(path, options)
    raise DataError(f"{quoted(path, 200)} cannot be read yet.")


def _from_medmnist(path: Path, options: VolumeOptions) -> Cases:
    table = read_medmnist(path, options)
    header = prepared_header(table.scans.header(0), options, table.scans.where)
    notes = list(table.notes)
    for split, rows in table.splits.items():
        present = np.unique(table.labels[rows])
        if len(present) < 2:
            notes.append(f"{split} has one class only, {listed([table.classes[i] for i in present])}: AUC is undefined")
    return Cases(
        names=table.names, labels=table.labels, classes=table.classes, patients=None, splits=table.splits,
        channels=header.channels, sizes=header.sizes, axes=header.axes, source=table.scans.where,
        options=options, scans=table.scans,
        dtype=header.dtype, notes=tuple(notes),
    )  # fmt: skip
