"""Volumes and masks to files, whole or not at all."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.volumes.nifti import write_nifti
from multiway.files import write_with


def write_grid(folder: Path, name: str, values: NDArray[Any], affine: NDArray[np.float64] | None) -> Path:
    """Write NIfTI, or .npy where there is no affine, into a folder that is made if need be; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name + (".npy" if affine is None else ".nii.gz"))
    if affine is None:
        write_npy(path, values)
    else:
        write_nifti(path, values, affine)
    return path


def write_npy(path: Path, values: NDArray[Any]) -> None:
    """Write an array, without pickle."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.save(file, values, allow_pickle=False)

    write_with(path, write)
