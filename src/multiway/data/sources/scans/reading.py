"""`read_volume` and `read_header`: one scan from any of the formats, and how scans are read and split."""

from pathlib import Path
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from multiway.data.findings import listed, quoted
from multiway.data.sources import arrays
from multiway.data.sources.bytes import MAX_BYTES as MAX_BYTES
from multiway.data.sources.bytes import spend
from multiway.data.sources.options import Budget
from multiway.data.sources.scans import dicom, nifti
from multiway.data.sources.scans.volume import Volume, VolumeHeader, check_channels, is_orientation
from multiway.data.splitting import SplitShares
from multiway.errors import DataError, Fix

Triple = tuple[int, int, int]
Normalisation = Literal["auto", "none", "unit", "volume", "train"]
DICOM_ENDINGS = (".dcm", ".dicom", ".ima")
ENDINGS = (".nii", ".nii.gz", ".npy", ".npz", *DICOM_ENDINGS)
FREESURFER = "a volume of FreeSurfer (convert it: mri_convert x.mgz x.nii.gz)"
FOREIGN = {
    "dicomdir": "a DICOMDIR, an index whose paths are not followed",
    **dict.fromkeys((".mgz", ".mgh"), FREESURFER),
    ".mnc": "a volume of MINC (convert it: mnc2nii x.mnc x.nii)",
    **dict.fromkeys((".nrrd", ".nhdr"), "a volume of NRRD"),
    **dict.fromkeys((".mha", ".mhd"), "a MetaImage"),
    **dict.fromkeys((".hdr", ".img"), "half of a pair of .hdr and .img"),
}
"""Scans in other forms, by their ending or name."""
FORMATS = "Give .nii, .nii.gz, .npy, .npz, .dcm, or a folder that holds one DICOM series."


class VolumeOptions(Budget):
    """How scans and the table that lists them are read."""

    paths = ("root",)

    path: str = "path"
    """Column of files: NIfTI, .npy, .npz, .dcm, or a folder that holds one DICOM series."""
    label: str = "label"
    """Column of classes, as words or whole numbers."""
    patient: str | None = None
    """Column of patients, who are never split; `patient` or `patient_id` if there and not given."""
    mask: str = "mask"
    """Column of segmentation masks; used if there."""
    split: str = "split"
    """Column that says train, validation or test; used if there."""
    root: str | None = None
    """Folder that relative paths start from and that no path may leave; the table's own if not given."""
    axes: tuple[str, str, str] | None = None
    """Names of the three axes, for figures and reports."""
    channels: bool = False
    """Take a fourth axis as channels: the last one of NIfTI, the first one of .npy and .npz."""
    orientation: str | None = None
    """Where the axes point, as RAS or LPS; as they lie in the file if not given."""
    spacing: tuple[float, float, float] | None = None
    """Millimetres between voxels, interpolated to."""
    size: Triple | None = None
    """Voxels per axis, cropped or padded to around the centre, after `spacing`."""
    cut_masks: bool = False
    """Take masks that `size` cuts; they are refused unless this is given."""
    resample_to: Triple | None = None
    """Voxels per axis, interpolated to, whatever the spacing."""
    window: tuple[float, float] | None = None
    """Lowest and highest intensity; what lies outside is set to them."""
    normalise: Normalisation = "auto"
    """Intensities: `unit` (0 to 1 by the window or by 255), `train` (mean and deviation of the training voxels),
    `volume` (of each volume alone), `none`; `auto` is `unit` with a window or for bytes, else `train`."""
    shape_transform: bool = False
    """For volumes that are shapes: times U(0, 1) in training and 0.5 in evaluation."""
    distance: bool = False
    """For volumes that are shapes: add a channel that holds how many voxels deep each one lies below the surface."""

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.orientation is not None and not is_orientation(self.orientation):
            raise ValueError(
                f"orientation takes one letter of each pair RL, AP and SI, such as RAS. Got {self.orientation!r}"
            )
        if self.spacing is not None and not all(0.001 <= step <= 1000 for step in self.spacing):
            raise ValueError(f"spacing is in millimetres, 0.001 to 1000 on each axis. Got {self.spacing}")
        for name, sizes in (("size", self.size), ("resample_to", self.resample_to)):
            if sizes is not None and not all(1 <= size <= 4096 for size in sizes):
                raise ValueError(f"{name} takes 1 to 4096 voxels on each axis. Got {sizes}")
        if self.window is not None and not self.window[0] < self.window[1]:
            raise ValueError(f"window must rise. Got {self.window}")
        if self.resample_to is not None and (self.spacing is not None or self.size is not None):
            raise ValueError("resample_to sets the grid by itself. Leave out spacing and size, or resample_to")
        if self.axes is not None and len(set(self.axes)) < 3:
            raise ValueError(f"axes must be three different names. Got {self.axes}")
        return self


class VolumeSplit(SplitShares):
    """How cases are split where the data does not say: by patient, each class in its share as far as possible."""


def read_volume(path: str | Path, *, max_bytes: int = MAX_BYTES, channels: bool = False) -> Volume:
    """Read one scan.

    `max_bytes` is compared with the header, and that with the file, before anything is read. With `channels` a fourth
    axis is one of channels: the last of NIfTI, the first of .npy and .npz.
    """
    path = Path(path)
    where = quoted(path.name, 80)
    spend(path)
    match format_of(path):
        case "nifti":
            return nifti.read_nifti(path, max_bytes, where, channels)
        case "dicom":
            return dicom.read_series(path, max_bytes, where)
        case "npy":
            values = arrays.read_npy(path, max_bytes, where)
        case _:
            archive = arrays.Archive(path, max_bytes, where)
            values = archive.read(_only(archive))
    _form(values.shape, channels, where)
    values = values.astype(np.uint8) if values.dtype == bool else values
    return Volume(values=values if values.ndim == 4 else values[None], affine=None, source=where)


def read_header(path: str | Path, *, max_bytes: int = MAX_BYTES, channels: bool = False) -> VolumeHeader:
    """Read what a file says of its volume, and compare its size with the limit and with the file."""
    path = Path(path)
    where = quoted(path.name, 80)
    spend(path)
    match format_of(path):
        case "nifti":
            return nifti.read_nifti_header(path, max_bytes, where, channels)
        case "dicom":
            return dicom.read_series_header(path, max_bytes, where)
        case "npy":
            header = arrays.read_npy_header(path, max_bytes, where)
        case _:
            archive = arrays.Archive(path, max_bytes, where)
            header = archive.header(_only(archive))
    count, *sizes = _form(header.shape, channels, where)
    dtype = np.dtype(np.uint8) if header.dtype == bool else header.dtype.newbyteorder("=")
    return VolumeHeader(sizes=tuple(sizes), channels=count, dtype=dtype, affine=None)


def _form(shape: tuple[int, ...], channels: bool, where: str) -> tuple[int, ...]:
    """Channels and sizes of an array."""
    form = shape if channels and len(shape) == 4 else (1, *shape)
    if len(form) != 4 or 0 in form:
        fix = (" Set channels if the first is one of channels (", Fix("read.channels", True), ").")
        head = f"{where}: a volume has three axes with voxels on each. Got shape {shape}."
        raise DataError(head, *(fix if len(shape) == 4 else ()))
    check_channels(form[0], form[1:], where)
    return form


def _only(archive: arrays.Archive) -> str:
    if len(archive.names) != 1:
        raise DataError(
            f"{archive.where}: a .npz of one volume holds one array. Got {listed(archive.names) or 'none'}. Save each "
            f"volume by itself, or give the file itself as data if it is MedMNIST's."
        )
    return archive.names[0]


def format_of(path: Path) -> str:
    """How to read a path: `nifti`, `npy`, `npz` or `dicom`."""
    name = path.name.lower()
    if path.is_dir():
        return "dicom"
    if not path.is_file():
        raise DataError(f"{quoted(path, 200)}: there is no such file. Correct the path; {FORMATS}")
    refuse_foreign(path)
    if name.endswith((".nii", ".nii.gz")):
        return "nifti"
    if name.endswith((".npy", ".npz")):
        return name[-3:]
    if name.endswith(DICOM_ENDINGS) or dicom.is_dicom(path):
        return "dicom"
    raise DataError(f"{quoted(path, 200)}: its name says no format of volumes. {FORMATS}")


def foreign_form(path: Path) -> str | None:
    """What a file is by its name, if it is a scan, or an index of scans, in a form that is not read."""
    name = path.name.lower()
    return FOREIGN.get(name, FOREIGN.get(path.suffix.lower(), None if not name.endswith(".mgh.gz") else FREESURFER))


def refuse_foreign(path: Path) -> None:
    """Say what a scan is that is not read."""
    form = foreign_form(path)
    if form is not None and not path.is_dir():
        raise DataError(f"{quoted(path, 200)}: it is {form}, which is not read. {FORMATS}")


def is_scan(path: Path) -> bool:
    """Whether a name looks like a scan's."""
    return path.name.lower().endswith(ENDINGS)
