"""NIfTI-1 and NIfTI-2 files: nibabel parses and scales, and what a header declares is checked before it is believed."""

import contextlib
import dataclasses
import gzip
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from multiway import files
from multiway.data.findings import quote
from multiway.data.sources.arrays import BLOCK, MOST_DEFLATED, check_bytes, translate_errors
from multiway.data.sources.bytes import SMALL_SCANS, unfolded
from multiway.data.sources.scans.volume import Affine, Array, Volume, VolumeHeader, axes_of, check_affine
from multiway.errors import DataError, Fix, in_a_line
from multiway.lazy import load_extra, silence

SIZES = {1: 348, 2: 540}
"""Bytes of a header, by the version of the format."""
LARGEST_OFFSET = 1 << 24
LARGEST_REST = 4096
SMALLER: dict[str, type[np.generic]] = {
    "b": np.uint8,
    "?": np.uint8,
    "e": np.float32,
    "q": np.int32,
    "l": np.int32,
    "L": np.uint32,
    "Q": np.uint32,
}
"""Types that NIfTI's readers seldom know, and what is written in their place."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class NiftiHeader(VolumeHeader):
    """What is needed of a header.

    is_placed: Whether it says how the voxels lie; else the affine is nibabel's for such files, LAS by the voxels' size.
    stored: Type and byte order in the file.
    start: Bytes before the voxels.
    slope, intercept: Values are `slope * stored + intercept`; None where they are the stored ones.
    """

    stored: np.dtype[Any]
    start: int
    slope: float | None
    intercept: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes, that of channels last if there are several."""
        return self.sizes if self.channels == 1 else (*self.sizes, self.channels)


def read_nifti_header(path: Path, limit: int, where: str, channels: bool) -> NiftiHeader:
    """Read and check the header, and compare the size it declares with the limit and with the file."""
    header = _parse(path, where)
    slope, intercept = float(header["scl_slope"]), float(header["scl_inter"])
    if not (np.isfinite(slope) and np.isfinite(intercept)):
        raise DataError(
            f"{where}: its scaling must be finite. Got slope {slope:g}, intercept {intercept:g}. Set them in the "
            f"header (1 and 0 keep the stored values)."
        )
    is_scaled = not (slope == 0 or (slope == 1 and intercept == 0))
    shape = _shape([int(size) for size in header["dim"]], channels, where)
    try:
        stored: np.dtype[Any] = np.dtype(header.get_data_dtype())
    except KeyError:  # a code that is none of the format's
        stored = np.dtype(np.void)
    if stored.kind not in "iuf" or stored.itemsize > 8:
        code = int(header["datatype"])
        raise DataError(f"{where}: its voxels must be plain numbers. Got NIfTI type {code}. Convert them first.")
    start = float(header["vox_offset"])
    if not (header.sizeof_hdr <= start <= LARGEST_OFFSET and start == int(start)):
        raise DataError(f"{where}: its voxels must begin behind the header. Got offset {start:g}. Write it again.")
    affine = _affine(header, where)
    result = NiftiHeader(
        sizes=shape[:3],
        channels=math.prod(shape[3:]),
        affine=affine,
        axes=axes_of(affine),
        stored=stored,
        start=int(start),
        dtype=np.dtype(np.float32) if is_scaled else stored.newbyteorder("="),
        slope=slope if is_scaled else None,
        intercept=intercept,
        is_placed=int(header["qform_code"]) > 0 or int(header["sform_code"]) > 0,
    )
    present = path.stat().st_size
    if _is_packed(path):
        limit, present = unfolded(limit, present, SMALL_SCANS), present * MOST_DEFLATED
    present -= int(start)
    check_bytes(math.prod(shape) * int(stored.itemsize), present, limit, where)
    check_bytes(result.nbytes, None, limit, where)
    return result


def _parse(path: Path, where: str) -> Any:
    """The header as nibabel parses it, nothing of it checked."""
    nibabel = load_extra("nibabel", "Reading NIfTI", "volumes")
    with _open(path, where) as stream:
        raw = stream.read(SIZES[2])
    is_second = len(raw) == SIZES[2] and raw[4:8] == b"n+2\x00"
    if not is_second and (len(raw) < SIZES[1] or raw[344:348] != b"n+1\x00"):
        raise DataError(
            f"{where}: it is no NIfTI file, or cut short in its header. Give .nii or .nii.gz in one file; convert "
            f"pairs of .hdr and .img first."
        )
    with silence("nibabel.global"):
        if is_second:
            return nibabel.Nifti2Header(raw, check=False)
        return nibabel.Nifti1Header(raw[: SIZES[1]], check=False)


def _shape(dim: list[int], channels: bool, where: str) -> tuple[int, ...]:
    """Sizes of the axes; axes of one voxel behind the third are dropped."""
    rank, sizes = dim[0], dim[1 : max(min(dim[0], 7), 0) + 1]
    if not 1 <= rank <= 7 or any(size < 1 for size in sizes):
        raise DataError(
            f"{where}: its header must name 1 to 7 axes of at least one voxel. Got {rank} axes, sizes "
            f"{tuple(dim[1:])}. Write it again."
        )
    while len(sizes) > 3 and sizes[-1] == 1:
        sizes = sizes[:-1]
    if len(sizes) < 3 or len(sizes) > (4 if channels else 3):
        head = f"{where}: a volume has three axes. Got {len(sizes)}, sizes {tuple(sizes)}. "
        if len(sizes) != 4:
            raise DataError(f"{head}Convert it.")
        raise DataError(f"{head}Take its last axis as channels (", Fix("read.channels", True), "), or split it.")
    return tuple(sizes)


def _affine(header: Any, where: str) -> Affine:
    """The header's own choice: sform, else qform, else spacing alone, which must be sound in any case."""
    spacing = np.asarray(header["pixdim"][1:4], dtype=np.float64)
    if not (np.isfinite(spacing).all() and (spacing > 0).all()):
        shown = ", ".join(f"{step:g}" for step in spacing)
        raise DataError(f"{where}: voxels must have a size above 0. Got spacing {shown} mm. Set it in the header.")
    try:
        with silence("nibabel.global"), np.errstate(all="ignore"):
            affine = np.asarray(header.get_best_affine(), dtype=np.float64)
    except Exception as error:  # nibabel raises by what the quaternion is: several of its own errors and ValueError
        reason = quote(in_a_line(error), 80)
        raise DataError(f"{where}: its orientation is broken ({reason}). Write its geometry again.") from None
    return check_affine(affine, where)


def read_nifti(path: Path, limit: int, where: str, channels: bool) -> Volume:
    """Read a NIfTI file; values are scaled to float32 where the header scales them."""
    header = read_nifti_header(path, limit, where, channels)
    raw = bytearray(math.prod(header.shape) * int(header.stored.itemsize))
    with _open(path, where) as stream:
        stream.seek(header.start)
        done = 0
        while block := stream.read(min(BLOCK, len(raw) - done)):  # gzip would hold all of it thrice
            raw[done : done + len(block)] = block
            done += len(block)
        if done < len(raw):
            raise DataError(f"{where}: it ends after {done:,} of {len(raw):,} bytes of voxels. Write or copy it again.")
        if len(stream.read(LARGEST_REST + 1)) > LARGEST_REST:  # reading to the end also compares gzip's checksum
            raise DataError(f"{where}: it goes on behind the voxels that its header declares. Write it again.")
        stored = np.ndarray(header.shape, header.stored, raw, order="F")
        values = stored.astype(header.dtype, copy=False) if header.slope is None else np.empty_like(stored, np.float32)
        if header.slope is not None:
            scale = load_extra("nibabel.volumeutils", "Reading NIfTI", "volumes").apply_read_scaling
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is infinite and refused as a voxel
                for index in range(stored.shape[-1]):  # a slice at a time in float64
                    values[..., index] = scale(stored[..., index], header.slope, header.intercept)
    values = values[None] if header.channels == 1 else np.moveaxis(values, -1, 0)
    return Volume(values=values, affine=header.affine, source=where, axes=header.axes, is_placed=header.is_placed)


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


@contextlib.contextmanager
def _open(path: Path, where: str) -> Iterator[io.BufferedIOBase]:
    with translate_errors(where), gzip.open(path) if _is_packed(path) else path.open("rb") as stream:
        yield stream


def write_nifti(path: Path, values: Array, affine: Affine | None) -> None:
    """Write a volume or map, whole or not at all.

    `values` are `(x, y, z)` or `(x, y, z, channels)`; 64-bit whole numbers and truth values are made smaller.
    """
    nibabel = load_extra("nibabel", "Writing NIfTI", "volumes")
    if values.ndim not in (3, 4) or not path.name.lower().endswith((".nii", ".nii.gz")):
        raise DataError(
            f"{quote(path.name, 80)}: NIfTI files end in .nii or .nii.gz and hold 3 axes, or 4 with channels. Got "
            f"shape {values.shape}."
        )
    kept = values.astype(SMALLER.get(values.dtype.char, values.dtype), copy=False)
    image = nibabel.Nifti1Image(kept, np.eye(4) if affine is None else affine)
    image.header.set_xyzt_units("mm")
    packed = image.to_bytes()
    files.write_with(
        path, lambda temporary: temporary.write_bytes(gzip.compress(packed, 6, mtime=0) if _is_packed(path) else packed)
    )


def write_grid(folder: Path, name: str, values: Array, affine: Affine | None) -> Path:
    """Write NIfTI, or .npy where there is no affine, into a folder that is there; return its path."""
    path = folder / (name + (".npy" if affine is None else ".nii.gz"))
    if affine is None:
        files.write_array(path, values)
    else:
        write_nifti(path, values, affine)
    return path
