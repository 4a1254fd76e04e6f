"""`read_volume` and `read_header`: one scan from any of the formats, and how scans are read and split."""

from pathlib import Path

import numpy as np

from multiway.data.findings import list_some, quote
from multiway.data.options import MAX_BYTES as MAX_BYTES
from multiway.data.sources import arrays
from multiway.data.sources.bytes import spend
from multiway.data.sources.scans import dicom, nifti
from multiway.data.sources.scans.volume import Volume, VolumeHeader, check_channels
from multiway.errors import DataError, Fix

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


def read_volume(
    path: str | Path, *, max_bytes: int = MAX_BYTES, channels: bool = False, series: str | None = None
) -> Volume:
    """Read one scan; the named `series` of a folder that holds several.

    `max_bytes` is compared with the header, and that with the file, before anything is read. With `channels` a fourth
    axis is one of channels: the last of NIfTI, the first of .npy and .npz.
    """
    path = Path(path)
    where = quote(path.name, 80)
    spend(path)
    match format_of(path):
        case "nifti":
            return nifti.read_nifti(path, max_bytes, where, channels)
        case "dicom":
            return dicom.read_series(path, max_bytes, where, series)
        case "npy":
            values = arrays.read_npy(path, max_bytes, where)
        case _:
            archive = arrays.Archive(path, max_bytes, where)
            values = archive.read(_name_only(archive))
    _check_form(values.shape, channels, where)
    values = values.astype(np.uint8) if values.dtype == bool else values
    return Volume(values=values if values.ndim == 4 else values[None], affine=None, source=where)


def read_header(
    path: str | Path, *, max_bytes: int = MAX_BYTES, channels: bool = False, series: str | None = None
) -> VolumeHeader:
    """Read what a file says of its volume, and compare its size with the limit and with the file."""
    path = Path(path)
    where = quote(path.name, 80)
    spend(path)
    match format_of(path):
        case "nifti":
            return nifti.read_nifti_header(path, max_bytes, where, channels)
        case "dicom":
            return dicom.read_series_header(path, max_bytes, where, series)
        case "npy":
            header = arrays.read_npy_header(path, max_bytes, where)
        case _:
            archive = arrays.Archive(path, max_bytes, where)
            header = archive.header(_name_only(archive))
    count, *sizes = _check_form(header.shape, channels, where)
    dtype = np.dtype(np.uint8) if header.dtype == bool else header.dtype.newbyteorder("=")
    return VolumeHeader(sizes=tuple(sizes), channels=count, dtype=dtype, affine=None)


def _check_form(shape: tuple[int, ...], channels: bool, where: str) -> tuple[int, ...]:
    """Channels and sizes of an array."""
    form = shape if channels and len(shape) == 4 else (1, *shape)
    if len(form) != 4 or 0 in form:
        fix = (" Set channels if the first is one of channels (", Fix("read.channels", True), ").")
        head = f"{where}: a volume has three axes with voxels on each. Got shape {shape}."
        raise DataError(head, *(fix if len(shape) == 4 else ()))
    check_channels(form[0], form[1:], where)
    return form


def _name_only(archive: arrays.Archive) -> str:
    if len(archive.names) != 1:
        raise DataError(
            f"{archive.where}: a .npz of one volume holds one array. Got {list_some(archive.names) or 'none'}. Save "
            "each "
            f"volume by itself, or give the file itself as data if it is MedMNIST's."
        )
    return archive.names[0]


def format_of(path: Path) -> str:
    """How to read a path: `nifti`, `npy`, `npz` or `dicom`."""
    name = path.name.lower()
    if path.is_dir():
        return "dicom"
    if not path.is_file():
        raise DataError(f"{quote(path, 200)}: there is no such file. Correct the path; {FORMATS}")
    refuse_foreign(path)
    if name.endswith((".nii", ".nii.gz")):
        return "nifti"
    if name.endswith((".npy", ".npz")):
        return name[-3:]
    if name.endswith(DICOM_ENDINGS) or dicom.is_dicom(path):
        return "dicom"
    raise DataError(f"{quote(path, 200)}: its name says no format of volumes. {FORMATS}")


def foreign_form(path: Path) -> str | None:
    """What a file is by its name, if it is a scan, or an index of scans, in a form that is not read."""
    name = path.name.lower()
    return FOREIGN.get(name, FOREIGN.get(path.suffix.lower(), None if not name.endswith(".mgh.gz") else FREESURFER))


def refuse_foreign(path: Path) -> None:
    """Say what a scan is that is not read."""
    form = foreign_form(path)
    if form is not None and not path.is_dir():
        raise DataError(f"{quote(path, 200)}: it is {form}, which is not read. {FORMATS}")


def is_scan(path: Path) -> bool:
    """Whether a name looks like a scan's."""
    return path.name.lower().endswith(ENDINGS)
