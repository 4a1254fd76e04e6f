"""One DICOM file: a slice's pixels in rescaled units, and where it lies; the first group decides how it is read."""

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed, quoted
from multiway.data.volumes.arrays import check_bytes, opened
from multiway.data.volumes.quiet import quietly
from multiway.errors import DataError
from multiway.extras import load_extra

PLAIN_SYNTAXES = {  # to the order of bytes
    "1.2.840.10008.1.2": "<",
    "1.2.840.10008.1.2.1": "<",
    "1.2.840.10008.1.2.2": ">",
}
UPRIGHT = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """One file of a series.

    position: Of the first voxel, in millimetres left, posterior and superior as DICOM counts; None if not said.
    across, down: Directions of rising column and row.
    spacing: Millimetres between rows and between columns.
    """

    name: str
    series: str
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
    pixels: bytes | None

    @property
    def geometry(self) -> tuple[object, ...]:
        """What all slices of a volume share."""
        return self.rows, self.columns, *np.round([*self.across, *self.down, *self.spacing], 3).tolist()


def is_dicom(path: Path) -> bool:
    """Whether a file has DICOM's mark."""
    try:
        with path.open("rb") as stream:
            return stream.read(132)[128:] == b"DICM"
    except OSError:
        return False


def read_slice(path: Path, limit: int, where: str, pixels: bool) -> Slice:
    """Read a file whole, and keep its pixels where they are asked for.

    Raises:
        DataError: It is not sound, or packs its pixels.
        ConfigError: pydicom is not installed.
    """
    pydicom = load_extra("pydicom", "Reading DICOM", "volumes")
    check_bytes(path.stat().st_size, None, limit, where)
    with opened(path, where) as stream:
        raw = stream.read()
    try:
        with quietly("pydicom"):
            syntax = _syntax(pydicom, raw)
            if syntax in PLAIN_SYNTAXES:
                return _slice(pydicom.dcmread(io.BytesIO(raw)), syntax, path.name, where, pixels)
    except DataError:
        raise
    except RecursionError:
        raise DataError(f"{where}: its sequences are nested too deeply to be meant. Write it again.") from None
    except Exception as error:  # whatever pydicom makes of broken bytes: dozens of types, by the element that is hit
        reason = quoted(" ".join(str(error).split()) or type(error).__name__, 80)
        raise DataError(f"{where}: it is no sound DICOM file ({reason}). Write or copy it again.") from None
    name = quoted(pydicom.uid.UID_dictionary.get(syntax, (syntax,))[0], 60)
    raise DataError(
        f"{where}: pixels must be stored plainly. Got transfer syntax {name}. Unpack it first (dcmdjpeg or gdcmconv "
        f"--raw), or convert the series to NIfTI (dcm2niix)."
    )


def _syntax(pydicom: Any, raw: bytes) -> str:
    """Transfer syntax by the first group alone, so that nothing is unpacked on the word of the file."""
    stream = io.BytesIO(raw)
    if pydicom.filereader.read_preamble(stream, False) is None:
        raise ValueError("the mark DICM is missing")
    group = pydicom.filereader.read_dataset(stream, False, True, stop_when=lambda tag, *_: tag >> 16 != 2)
    return str(group.get("TransferSyntaxUID", "1.2.840.10008.1.2"))


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
    return Slice(
        name=quoted(name), series=str(data.get("SeriesInstanceUID", "")), rows=rows, columns=columns,
        stored=np.dtype(f"{PLAIN_SYNTAXES[syntax]}{'i' if signed else 'u'}{bits // 8}"),
        used=used,
        slope=_number(data, "RescaleSlope", 1.0, where), intercept=_number(data, "RescaleIntercept", 0.0, where),
        position=_numbers(data, "ImagePositionPatient", 3, None, where),
        across=(_numbers(data, "ImageOrientationPatient", 6, UPRIGHT, where) or UPRIGHT)[:3],
        down=(_numbers(data, "ImageOrientationPatient", 6, UPRIGHT, where) or UPRIGHT)[3:],
        spacing=_numbers(data, "PixelSpacing", 2, None, where) or _no_spacing(where),
        thickness=_number(data, "SpacingBetweenSlices", 0.0, where) or _number(data, "SliceThickness", 0.0, where),
        pixels=held[:needed] if pixels else None,
    )  # fmt: skip


def _no_spacing(where: str) -> tuple[float, ...]:
    raise DataError(f"{where}: it says no PixelSpacing, so its voxels have no size. Convert it with its geometry.")


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
        raise DataError(f"{where}: {name} must be {count} finite numbers. Got {listed(parts)}. Write it again.")
    return parts


def type_of(slices: list[Slice]) -> np.dtype[Any]:
    """The stored type where all slices share it and none is rescaled, int16 where that holds all, else float32."""
    if all(_fits_int16(one) for one in slices):
        return np.dtype(np.int16)
    plain = all(one.slope == 1 and one.intercept == 0 for one in slices)
    types = {one.stored.newbyteorder("=") for one in slices}
    return types.pop() if plain and len(types) == 1 else np.dtype(np.float32)


def _fits_int16(one: Slice) -> bool:
    """Whether every value that the slice could hold is a whole number of 16 bits, though it may be rescaled."""
    if one.slope != int(one.slope) or one.intercept != int(one.intercept) or one.stored == np.uint8:
        return False
    low, high = (
        (-(1 << (one.used - 1)), (1 << (one.used - 1)) - 1) if one.stored.kind == "i" else (0, (1 << one.used) - 1)
    )
    ends = [end * one.slope + one.intercept for end in (low, high)]
    return -(2**15) <= min(ends) and max(ends) < 2**15


def pixels_of(one: Slice) -> NDArray[Any]:
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
