"""Labelled scenes: one large image of many bands with a class per pixel."""

import dataclasses
import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiway.data.catalogue import entries
from multiway.data.findings import quoted
from multiway.data.sources.arrays import Archive
from multiway.data.sources.scans.options import MAX_BYTES
from multiway.data.sources.scans.volume import Array
from multiway.errors import ConfigError, DataError

INDIAN_PINES = "indian-pines"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """One image.

    values: `(bands, rows, columns)`, in the type of the file.
    labels: `(rows, columns)` whole numbers, or None for an image to predict.
    names: What the labels 0, 1, 2 ... are called, where that is known.
    """

    values: Array
    labels: NDArray[np.int64] | None
    source: str
    names: tuple[str, ...] | None = None


def is_scene(source: str | Path) -> bool:
    """Whether it is a known scene, or a .npz with an array `image` of three axes."""
    if str(source) == INDIAN_PINES:
        return True
    path = Path(source)
    try:
        return path.suffix == ".npz" and path.is_file() and "image" in Archive(path, MAX_BYTES, str(path)).names
    except DataError:
        return False


def read_scene(source: str | Path, max_bytes: int = MAX_BYTES) -> Scene:
    """Read `image` (bands, rows, columns) and `labels` (rows, columns) from a .npz, or a known scene by name.

    Raises:
        DataError: An array is missing, has another form, holds what is not finite, or does not fit the other.
    """
    if str(source) == INDIAN_PINES:
        return _indian_pines()
    path = Path(source)
    where = quoted(path.name, 80)
    archive = Archive(path, max_bytes, where)
    values = archive.read("image")
    if values.ndim != 3 or 0 in values.shape:
        raise DataError(f"{where}: 'image' must be (bands, rows, columns). Got {values.shape}. Add or move an axis.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise DataError(f"{where}: every pixel of 'image' must be a finite number. Replace those that are not.")
    if "labels" not in archive.names:
        return Scene(values=values, labels=None, source=where)
    labels = archive.read("labels")
    _check_labels(labels, values, where)
    return Scene(values=values, labels=labels.astype(np.int64), source=where)


def _check_labels(labels: Array, values: Array, where: str) -> None:
    if labels.dtype.kind not in "iub" or labels.shape != values.shape[1:]:
        raise DataError(
            f"{where}: 'labels' must hold one whole number per pixel of 'image'. Got {labels.dtype.name} "
            f"{labels.shape} for an image of {values.shape[1:]}. Save one label per pixel."
        )


def _indian_pines() -> Scene:
    """The scene of 145 x 145 pixels, 200 bands and 16 classes that ships in the package tensorly (CC BY 3.0).

    Baumgardner, Biehl and Landgrebe (2015), doi:10.4231/R7RX991C. Label 0 is a pixel that was never labelled.
    """
    try:
        from tensorly.datasets import load_indian_pines
    except ImportError:
        raise ConfigError(f"the scene {INDIAN_PINES} ships in tensorly: pip install 'tensorly>=0.9'.") from None
    bunch = load_indian_pines()
    values = np.ascontiguousarray(np.asarray(bunch["tensor"]).transpose(2, 0, 1)).astype(np.float32)
    labels = np.asarray(bunch["ticks"][0]).astype(np.int64)
    known, digest = entries()[INDIAN_PINES], hashlib.sha256(values.tobytes() + labels.tobytes()).hexdigest()
    if f"sha256:{digest}" != known.known_hash:  # of the values as float32, bands first, then of the labels as int64
        raise DataError(f"{INDIAN_PINES}: the copy in tensorly is another scene (sha256:{digest}). Install it anew.")
    return Scene(values=values, labels=labels, source=INDIAN_PINES, names=known.classes)
