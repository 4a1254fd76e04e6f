"""DICOM: the slices of one series in a folder, sorted along their normal, in millimetres and rescaled units.

Of each file the first group decides how it is read, so that nothing is unpacked on its word.
"""

import collections
import dataclasses
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import list_some, quote
from multiway.data.sources.arrays import check_bytes, open_file
from multiway.data.sources.scans.volume import Affine, Array, Volume, VolumeHeader, axes_of, check_affine
from multiway.errors import DataError, Fix, in_a_line
from multiway.lazy import load_extra, silence

MAX_SLICES = 10_000
MOST_TILT = 1.0
"""Degrees between the step from slice to slice and their normal."""
EVEN = 0.02
"""Share of the slice distance by which single distances may differ."""
PLAIN_SYNTAXES = {  # to the order of bytes
    "1.2.840.10008.1.2": "<",
    "1.2.840.10008.1.2.1": "<",
    "1.2.840.10008.1.2.2": ">",
}
ReadT = TypeVar("ReadT")
UPRIGHT = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """One file of a series.

    series: What names it: its UID, number and description.
    position: Of the first voxel, in millimetres left, posterior and superior as DICOM counts; None if not said.
    across, down: Directions of rising column and row.
    spacing: Millimetres between rows and between columns.
    number, planned: Its number in the series, and how many images its acquisition has; 0 if not said.
    """

    name: str
    series: tuple[str, ...]
    rows: int
    columns: int
    stored: np.dtype[Any]
    used: int
    slope: float
    intercept: float
    position: tuple[float, ...] | None
    across: tuple[float, ...]
    down: tuple[float, ...]
    spacing: tuple[float, ...]
    thickness: float
    number: float
    planned: float
    pixels: bytes | None

    @property
    def geometry(self) -> tuple[object, ...]:
        """What all slices of a volume share."""
        return self.rows, self.columns, *np.round([*self.across, *self.down, *self.spacing], 3).tolist()


def slices_in(folder: Path) -> list[Path]:
    """Files of a folder that are DICOM, by name; an index of other files is none, and none of its paths is followed."""
    return sorted(
        path for path in folder.iterdir() if path.is_file() and path.name.upper() != "DICOMDIR" and is_dicom(path)
    )


def titles_of(data: Any) -> tuple[str, ...]:
    """What names the series of a file: its UID, number and description."""
    return tuple(str(data.get(f"Series{title}") or "").strip() for title in ("InstanceUID", "Number", "Description"))


def read_series(path: Path, limit: int, where: str, chosen: str | None = None) -> Volume:
    """Read the slices of a folder, or of one file, as a volume with axes column, row and slice.

    chosen: The series, by its UID, number or description, where a folder holds several.
    """
    slices, affine = _read_slices(path, limit, where, chosen, pixels=True)
    values = np.empty((1, slices[0].columns, slices[0].rows, len(slices)), type_of(slices))
    for index, one in enumerate(slices):
        values[0, :, :, index] = pixels_of(one).T
    return Volume(values=values, affine=affine, source=where, axes=axes_of(affine))


def read_series_header(path: Path, limit: int, where: str, chosen: str | None = None) -> VolumeHeader:
    """Read all of a series but its pixels."""
    slices, affine = _read_slices(path, limit, where, chosen, pixels=False)
    return VolumeHeader(
        sizes=(slices[0].columns, slices[0].rows, len(slices)),
        channels=1,
        dtype=type_of(slices),
        affine=affine,
        axes=axes_of(affine),
        lacking=lacking_slices(slices),
    )


def lacking_slices(slices: Sequence[Slice]) -> str:
    """What evenly spaced slices say of others before or behind them, which no gap shows; empty for nothing.

    Acquisitions may hold several series, and numbers may go on from one to the next, so neither is certain.
    """
    planned, numbers = max(one.planned for one in slices), sorted(one.number for one in slices)
    if planned > len(slices):
        return f"{len(slices)} of {planned:.0f} images of its acquisition"
    is_counted = len(slices) > 1 and numbers == [numbers[0] + place for place in range(len(numbers))]
    return f"instance numbers {numbers[0]:.0f} to {numbers[-1]:.0f}" if is_counted and numbers[0] > 1 else ""


def _read_slices(path: Path, limit: int, where: str, chosen: str | None, *, pixels: bool) -> tuple[list[Slice], Affine]:
    """Slices of one volume in their order, and its affine."""
    files = slices_in(path) if path.is_dir() else [path]
    if not files or len(files) > MAX_SLICES:
        raise DataError(
            f"{where}: a folder of one series holds 1 to {MAX_SLICES:,} DICOM files. Got {len(files):,}. Give a folder "
            f"of slices, or another format."
        )
    check_bytes(sum(file.stat().st_size for file in files), None, limit, where)
    slices = [
        read_slice(file, limit, where if file == path else f"{where}, {quote(file.name)}", pixels) for file in files
    ]
    series = collections.Counter(one.series for one in sorted(slices, key=lambda one: one.series[1:]))
    if len(series) > 1:
        slices = [one for one in slices if chosen in one.series]
    if len({one.series for one in slices}) != 1:
        held = [f"{' '.join(name[1:]).strip() or name[0]} of {count} files" for name, count in series.items()]
        raise DataError(
            f"{where}: a folder must hold one series. Got {len(series)}: {list_some(held)}. Name one by its number, "
            "description or UID (",
            Fix("read.series", like="NAME"),
            "), or put each into a folder of its own.",
        )
    first = slices[0]
    odd = next((one for one in slices if one.geometry != first.geometry), None)
    if odd is not None:
        raise DataError(
            f"{where}: slices of a volume share size, direction and spacing. {odd.name} has {odd.rows} x {odd.columns} "
            f"pixels and {first.name} {first.rows} x {first.columns}, or another direction or spacing. "
            f"Remove what is no slice (a localiser, say)."
        )
    ordered, step = _sort(slices, where)
    check_bytes(type_of(slices).itemsize * len(slices) * first.rows * first.columns, None, limit, where)
    return ordered, _affine(ordered[0], step, where)


def _sort(slices: list[Slice], where: str) -> tuple[list[Slice], NDArray[np.float64] | None]:
    """Slices along their normal, and the even step from one to the next."""
    if len(slices) == 1:
        return slices, None
    if any(one.position is None for one in slices):
        raise DataError(f"{where}: slices need ImagePositionPatient to be put in order. Convert it with its geometry.")
    normal = np.cross(slices[0].across, slices[0].down)
    ordered = sorted(slices, key=lambda one: float(np.dot(normal, one.position or (0, 0, 0))))
    positions = np.array([one.position for one in ordered], dtype=np.float64)
    steps = np.diff(positions @ normal)
    usual = float(np.sort(steps)[(len(steps) - 1) // 2])
    flat = np.flatnonzero(steps <= 1e-4)
    if len(flat):
        pair = f"{ordered[flat[0]].name} and {ordered[flat[0] + 1].name}"
        raise DataError(f"{where}: two slices lie in one place: {pair}. Keep one of them, or one series only.")
    odd = np.flatnonzero(np.abs(steps - usual) > max(EVEN * usual, 1e-2))
    if len(odd):
        gap = float(steps[odd[0]])
        missing = abs(gap / usual - round(gap / usual)) < EVEN and gap > usual
        what = f"{round(gap / usual) - 1} missing" if missing else "slices are not evenly spaced"
        raise DataError(
            f"{where}: {what}: {gap:.4g} mm between {ordered[odd[0]].name} and {ordered[odd[0] + 1].name}, "
            f"{usual:.4g} mm elsewhere. Add what is missing, or resample the series to NIfTI first."
        )
    step = (positions[-1] - positions[0]) / (len(slices) - 1)
    tilt = float(np.degrees(np.arccos(min(usual / float(np.linalg.norm(step)), 1.0))))
    if tilt > MOST_TILT:
        raise DataError(
            f"{where}: slices are {usual:.4g} mm apart and sheared by {tilt:.1f} degrees, as by a tilted gantry. "
            f"Convert the series to NIfTI with the tilt taken out (dcm2niix)."
        )
    return ordered, step


def _affine(first: Slice, step: NDArray[np.float64] | None, where: str) -> Affine:
    """Column, row and slice to millimetres right, anterior, superior; DICOM's first two directions are the opposite."""
    between_rows, between_columns = first.spacing
    if step is None:
        step = np.cross(first.across, first.down) * (first.thickness or 1.0)
    affine = np.eye(4)
    affine[:3, 0] = np.array(first.across) * between_columns
    affine[:3, 1] = np.array(first.down) * between_rows
    affine[:3, 2] = step
    affine[:3, 3] = first.position or (0.0, 0.0, 0.0)
    affine[:2] *= -1
    return check_affine(affine, where)


def is_dicom(path: Path) -> bool:
    """Whether a file has DICOM's mark."""
    try:
        with path.open("rb") as stream:
            return stream.read(132)[128:] == b"DICM"
    except OSError:
        return False


def read_slice(path: Path, limit: int, where: str, pixels: bool) -> Slice:
    """Read a file whole, and keep its pixels where they are needed."""
    return read_whole(path, limit, where, lambda data, syntax: _slice(data, syntax, path.name, where, pixels))


def read_whole(path: Path, limit: int, where: str, take: Callable[[Any, str], ReadT]) -> ReadT:
    """What `take` makes of a data set and its transfer syntax, of those that store pixels plainly."""
    pydicom = load_extra("pydicom", "Reading DICOM", "volumes")
    check_bytes(path.stat().st_size, None, limit, where)
    with open_file(path, where) as file:
        raw = file.read()
    try:
        with silence("pydicom"):
            stream = io.BytesIO(raw)
            if pydicom.filereader.read_preamble(stream, False) is None:
                raise ValueError("the mark DICM is missing")
            # the first group alone, so that nothing is unpacked on the word of the file
            group = pydicom.filereader.read_dataset(stream, False, True, stop_when=lambda tag, *_: tag >> 16 != 2)
            syntax = str(group.get("TransferSyntaxUID", "1.2.840.10008.1.2"))
            if syntax in PLAIN_SYNTAXES:
                return take(pydicom.dcmread(io.BytesIO(raw)), syntax)
    except DataError:
        raise
    except RecursionError:
        raise DataError(f"{where}: its sequences are nested too deeply to be meant. Write it again.") from None
    except Exception as error:  # whatever pydicom makes of broken bytes: dozens of types, by the element that is hit
        reason = quote(in_a_line(error) or type(error).__name__, 80)
        raise DataError(f"{where}: it is no sound DICOM file ({reason}). Write or copy it again.") from None
    name = quote(pydicom.uid.UID_dictionary.get(syntax, (syntax,))[0], 60)
    raise DataError(
        f"{where}: pixels must be stored plainly. Got transfer syntax {name}. Unpack it first (dcmdjpeg), or "
        f"convert the series to NIfTI (dcm2niix)."
    )


def _slice(data: Any, syntax: str, name: str, where: str, pixels: bool) -> Slice:
    frames, samples = int(data.get("NumberOfFrames") or 1), int(data.get("SamplesPerPixel") or 1)
    if frames != 1 or samples != 1:
        raise DataError(
            f"{where}: a slice has one frame and one sample per pixel. Got {frames} frames, {samples} samples. Convert "
            f"it to NIfTI (dcm2niix)."
        )
    rows, columns, bits = (int(data[name].value) for name in ("Rows", "Columns", "BitsAllocated"))
    used = int(data.get("BitsStored") or bits)
    if bits not in (8, 16, 32) or rows < 1 or columns < 1 or not 1 <= used <= bits:
        raise DataError(
            f"{where}: pixels have 8, 16 or 32 bits and lie in rows and columns. Got {used} of {bits} bits, {rows} x "
            f"{columns}. Convert it first."
        )
    if int(data.get("HighBit", used - 1)) != used - 1:
        raise DataError(f"{where}: its high bit must be {used - 1}. Got {data.get('HighBit')}. Convert it first.")
    signed = int(data.get("PixelRepresentation") or 0) == 1
    item = data.get_item("PixelData") if "PixelData" in data else None
    held = item.value if item is not None and isinstance(item.value, bytes) else b""
    declared = getattr(item, "length", len(held))
    needed = rows * columns * bits // 8
    if not needed <= len(held) <= needed + 1 or declared != len(held):
        raise DataError(
            f"{where}: {rows} x {columns} pixels of {bits} bits take {needed:,} bytes. It declares "
            f"{declared:,} and holds {len(held):,}. It is "
            f"cut short or its header lies; copy it again."
        )
    spacing = _numbers(data, "PixelSpacing", 2, None, where)
    if not spacing:
        raise DataError(f"{where}: it says no PixelSpacing, so its voxels have no size. Convert it with its geometry.")
    directions = _numbers(data, "ImageOrientationPatient", 6, UPRIGHT, where) or UPRIGHT
    return Slice(
        name=quote(name),
        series=titles_of(data),
        rows=rows,
        columns=columns,
        stored=np.dtype(f"{PLAIN_SYNTAXES[syntax]}{'i' if signed else 'u'}{bits // 8}"),
        used=used,
        slope=_number(data, "RescaleSlope", 1.0, where),
        intercept=_number(data, "RescaleIntercept", 0.0, where),
        position=_numbers(data, "ImagePositionPatient", 3, None, where),
        across=directions[:3],
        down=directions[3:],
        spacing=spacing,
        thickness=_number(data, "SpacingBetweenSlices", 0.0, where) or _number(data, "SliceThickness", 0.0, where),
        number=_number(data, "InstanceNumber", 0.0, where),
        planned=_number(data, "ImagesInAcquisition", 0.0, where),
        pixels=held[:needed] if pixels else None,
    )


def _number(data: Any, name: str, default: float, where: str) -> float:
    return (_numbers(data, name, 1, (default,), where) or (default,))[0]


def _numbers(
    data: Any, name: str, count: int, default: tuple[float, ...] | None, where: str
) -> tuple[float, ...] | None:
    """Finite numbers of an element; the default where it is absent or empty."""
    value = data.get(name)
    if value is None or value == "":
        return default
    parts = tuple(float(part) for part in (value if count > 1 else [value]))
    if len(parts) != count or not np.isfinite(parts).all():
        raise DataError(f"{where}: {name} must be {count} finite numbers. Got {list_some(parts)}. Write it again.")
    return parts


def type_of(slices: list[Slice]) -> np.dtype[Any]:
    """The stored type where all slices share it and none is rescaled, int16 where that holds all, else float32."""
    if all(_fits_int16(one) for one in slices):
        return np.dtype(np.int16)
    types = {one.stored.newbyteorder("=") for one in slices}
    is_plain = all(one.slope == 1 and one.intercept == 0 for one in slices)
    return types.pop() if is_plain and len(types) == 1 else np.dtype(np.float32)


def _fits_int16(one: Slice) -> bool:
    """Whether every value that the slice could hold is a whole number of 16 bits, though it may be rescaled."""
    if one.slope != int(one.slope) or one.intercept != int(one.intercept) or one.stored == np.uint8:
        return False
    low = -(1 << (one.used - 1)) if one.stored.kind == "i" else 0
    ends = [end * one.slope + one.intercept for end in (low, low + (1 << one.used) - 1)]
    return -(2**15) <= min(ends) and max(ends) < 2**15


def pixels_of(one: Slice) -> Array:
    """Rescaled `(rows, columns)`; bits beyond those used are cleared, and the sign is that of the highest used."""
    values = np.frombuffer(one.pixels or b"", one.stored).reshape(one.rows, one.columns)
    if one.used < 8 * one.stored.itemsize:
        values = np.bitwise_and(values, np.array((1 << one.used) - 1).astype(one.stored))
        if one.stored.kind == "i":
            sign = np.array(1 << (one.used - 1)).astype(one.stored)
            values = np.bitwise_xor(values, sign) - sign
    if one.slope == 1 and one.intercept == 0:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        return (values.astype(np.float64) * one.slope + one.intercept).astype(np.float32)
