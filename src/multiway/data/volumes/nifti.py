"""NIfTI-1 and NIfTI-2 files: nibabel says what the header means, the bytes are counted before they are read."""

import contextlib
import dataclasses
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import quoted
from multiway.data.volumes.arrays import BLOCK, MOST_DEFLATED, check_bytes, translated
from multiway.data.volumes.geometry import Affine, check_affine
from multiway.data.volumes.quiet import quietly
from multiway.data.volumes.volume import Volume, VolumeHeader, axes_of
from multiway.errors import DataError
from multiway.extras import load_extra
from multiway.files import write_with

NUMBERS = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4", 1024: "i8", 1280: "u8"}
"""NIfTI's codes of plain numbers."""
LARGEST_OFFSET = 1 << 24
LARGEST_REST = 4096


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class NiftiHeader:
    """What is needed of a header.

    shape: `(x, y, z)` or `(x, y, z, channels)`.
    stored: Type and byte order in the file.
    start: Bytes before the voxels.
    slope, intercept: Values are `slope * stored + intercept`; None where they are the stored ones.
    """

    shape: tuple[int, ...]
    stored: np.dtype[Any]
    start: int
    slope: float | None
    intercept: float
    affine: Affine

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.stored.newbyteorder("=") if self.slope is None else np.dtype(np.float32)

    def public(self) -> VolumeHeader:
        """The part that is common to all formats."""
        return VolumeHeader(
            sizes=self.shape[:3], channels=self.shape[3] if len(self.shape) == 4 else 1, dtype=self.dtype,
            affine=self.affine, axes=axes_of(self.affine),
        )  # fmt: skip


def read_nifti_header(path: Path, limit: int, where: str, channels: bool) -> NiftiHeader:
    """Read and check the header, and compare the size it declares with the limit and with the file.

    Raises:
        DataError: It is no sound NIfTI header.
        ConfigError: nibabel is not installed.
    """
    nibabel = load_extra("nibabel", "Reading NIfTI", "volumes")
    with _unpacked(path, where) as stream:
        raw = stream.read(540)
    is_second = len(raw) == 540 and raw[4:8] == b"n+2\x00"
    if not is_second and (len(raw) < 348 or raw[344:348] != b"n+1\x00"):
        raise DataError(
            f"{where}: it is no NIfTI file, or cut short in its header. Give .nii or .nii.gz in one file; convert "
            f"pairs of .hdr and .img first."
        )
    with quietly("nibabel.global"):
        kind = nibabel.Nifti2Header if is_second else nibabel.Nifti1Header
        header = kind(raw[:540] if is_second else raw[:348], check=False)
    shape = _shape([int(size) for size in header["dim"]], channels, where)
    code = int(header["datatype"])
    if code not in NUMBERS:
        raise DataError(f"{where}: its voxels must be plain numbers. Got NIfTI type {code}. Convert them first.")
    stored = np.dtype(NUMBERS[code]).newbyteorder(header.endianness)
    start = float(header["vox_offset"])
    if not (len(raw[:348]) <= start <= LARGEST_OFFSET and start == int(start)):
        raise DataError(f"{where}: its voxels must begin behind the header. Got offset {start:g}. Write it again.")
    slope, intercept = _scaling(float(header["scl_slope"]), float(header["scl_inter"]), where)
    result = NiftiHeader(
        shape=shape, stored=stored, start=int(start), slope=slope, intercept=intercept,
        affine=_affine(header, where),
    )  # fmt: skip
    packed = path.stat().st_size
    present = (packed * MOST_DEFLATED if _is_packed(path) else packed) - result.start
    check_bytes(_bytes(result, stored), present, limit, where)
    check_bytes(_bytes(result, result.dtype), None, limit, where)
    return result


def _bytes(header: NiftiHeader, dtype: np.dtype[Any]) -> int:
    count = int(dtype.itemsize)
    for size in header.shape:
        count *= size
    return count


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
        more = (
            "Take its last axis as channels (--set read.channels=true), or split it"
            if len(sizes) == 4
            else "Convert it"
        )
        raise DataError(f"{where}: a volume has three axes. Got {len(sizes)}, sizes {tuple(sizes)}. {more}.")
    return tuple(sizes)


def _scaling(slope: float, intercept: float, where: str) -> tuple[float | None, float]:
    if not (np.isfinite(slope) and np.isfinite(intercept)):
        raise DataError(
            f"{where}: its scaling must be finite. Got slope {slope:g}, intercept {intercept:g}. Set them in the "
            f"header (1 and 0 keep the stored values)."
        )
    return (None, 0.0) if slope == 0 or (slope == 1 and intercept == 0) else (slope, intercept)


def _affine(header: Any, where: str) -> Affine:
    """The header's own choice: sform, else qform, else spacing alone."""
    spacing = np.asarray(header["pixdim"][1:4], dtype=np.float64)
    if not (np.isfinite(spacing).all() and (spacing > 0).all()) and int(header["sform_code"]) <= 0:
        shown = ", ".join(f"{step:g}" for step in spacing)
        raise DataError(f"{where}: voxels must have a size above 0. Got spacing {shown} mm. Set it in the header.")
    try:
        with quietly("nibabel.global"), np.errstate(all="ignore"):
            affine = np.asarray(header.get_best_affine(), dtype=np.float64)
    except Exception as error:  # nibabel raises by what the quaternion is: several of its own errors and ValueError
        reason = quoted(" ".join(str(error).split()), 80)
        raise DataError(f"{where}: its orientation is broken ({reason}). Write its geometry again.") from None
    return check_affine(affine, where)


def read_nifti(path: Path, limit: int, where: str, channels: bool) -> Volume:
    """Read a NIfTI file; values are scaled to float32 where the header scales them.

    Raises:
        DataError: It is not sound: its header, or fewer bytes of voxels than that declares.
        ConfigError: nibabel is not installed.
    """
    header = read_nifti_header(path, limit, where, channels)
    flat = np.empty(_bytes(header, header.stored), np.uint8)
    with _unpacked(path, where) as stream:
        stream.seek(header.start)
        done = 0
        while done < len(flat):
            block = stream.read(min(BLOCK, len(flat) - done))
            if not block:
                raise DataError(
                    f"{where}: it ends after {done:,} of {len(flat):,} bytes of voxels. Write or copy it again."
                )
            flat[done : done + len(block)] = np.frombuffer(block, np.uint8)
            done += len(block)
        if len(stream.read(LARGEST_REST + 1)) > LARGEST_REST:  # reading to the end also compares gzip's checksum
            raise DataError(f"{where}: it goes on behind the voxels that its header declares. Write it again.")
    values = _scaled(flat.view(header.stored), header).reshape(header.shape, order="F")
    values = values[None] if len(header.shape) == 3 else np.moveaxis(values, -1, 0)
    return Volume(values=values, affine=header.affine, source=where, axes=axes_of(header.affine))


def _scaled(stored: NDArray[Any], header: NiftiHeader) -> NDArray[Any]:
    """Values in float32, a block at a time in float64."""
    if header.slope is None:
        return stored.astype(header.dtype, copy=False)
    values = np.empty(len(stored), np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is infinite and refused as a voxel
        for start in range(0, len(stored), BLOCK):
            block = stored[start : start + BLOCK].astype(np.float64)
            values[start : start + BLOCK] = block * header.slope + header.intercept
    return values


def _is_packed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")


@contextlib.contextmanager
def _unpacked(path: Path, where: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with translated(where):
        if _is_packed(path):
            with gzip.open(path, "rb") as stream:
                yield stream
        else:
            with path.open("rb") as stream:
                yield stream


def write_nifti(path: Path, values: NDArray[Any], affine: Affine | None) -> None:
    """Write a volume or map, whole or not at all.

    Args:
        path: Ends in .nii or .nii.gz.
        values: `(x, y, z)` or `(x, y, z, channels)`; 64-bit whole numbers and truth values are made smaller.
        affine: Of the volume that the values belong to; the identity if None.

    Raises:
        DataError: The values are no volume, or the name ends otherwise.
        ConfigError: nibabel is not installed.
        RunError: The folder cannot be written.
    """
    nibabel = load_extra("nibabel", "Writing NIfTI", "volumes")
    if values.ndim not in (3, 4) or not path.name.lower().endswith((".nii", ".nii.gz")):
        raise DataError(
            f"{quoted(path.name, 80)}: NIfTI files end in .nii or .nii.gz and hold 3 axes, or 4 with channels. Got "
            f"shape {values.shape}."
        )
    small = {
        "b": np.uint8,
        "q": np.int32,
        "l": np.int32,
        "L": np.uint32,
        "Q": np.uint32,
        "?": np.uint8,
        "e": np.float32,
    }
    kept = values.astype(small.get(values.dtype.char, values.dtype), copy=False)
    image = nibabel.Nifti1Image(kept, np.eye(4) if affine is None else affine)
    image.header.set_xyzt_units("mm")
    packed = image.to_bytes()
    write_with(
        path, lambda temporary: temporary.write_bytes(gzip.compress(packed, 6, mtime=0) if _is_packed(path) else packed)
    )
