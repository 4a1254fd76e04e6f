"""Volumes and masks to files, whole or not at all."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway import files
from multiway.data.volumes.nifti import write_nifti


def write_grid(folder: Path, name: str, values: NDArray[Any], affine: NDArray[np.float64] | None) -> Path:
    """Write NIfTI, or .npy where there is no affine, into a folder that is made if need be; return its path."""
    files.make_folder(folder)
    path = folder / (name + (".npy" if affine is None else ".nii.gz"))
    if affine is None:
        files.write_array(path, values)
    else:
        write_nifti(path, values, affine)
    return path
