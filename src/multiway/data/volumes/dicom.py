"""DICOM: the slices of one series in a folder, sorted along their normal, in millimetres and rescaled units."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed, quoted
from multiway.data.volumes.arrays import check_bytes
from multiway.data.volumes.dicom_slice import Slice, is_dicom, pixels_of, read_slice, type_of
from multiway.data.volumes.geometry import Affine, check_affine
from multiway.data.volumes.volume import Volume, VolumeHeader, axes_of
from multiway.errors import DataError

MAX_SLICES = 10_000
EVEN = 0.02
"""Share of the slice distance by which single distances may differ."""


def slices_in(folder: Path) -> list[Path]:
    """Files of a folder that are DICOM, by name; an index of other files is none, and none of its paths is followed."""
    return sorted(
        path for path in folder.iterdir() if path.is_file() and path.name.upper() != "DICOMDIR" and is_dicom(path)
    )


def read_series(path: Path, limit: int, where: str) -> Volume:
    """Read the slices of a folder, or of one file, as a volume with axes column, row and slice.

    Raises:
        DataError: A file is not sound, or the slices are not one volume.
        ConfigError: pydicom is not installed.
    """
    slices, affine = _series(path, limit, where, pixels=True)
    values = np.empty((1, slices[0].columns, slices[0].rows, len(slices)), type_of(slices))
    for index, one in enumerate(slices):
        values[0, :, :, index] = pixels_of(one).T
    return Volume(values=values, affine=affine, source=where, axes=axes_of(affine))


def read_series_header(path: Path, limit: int, where: str) -> VolumeHeader:
    """Read all of a series but its pixels.

    Raises:
        DataError: As `read_series`, for what the headers tell.
        ConfigError: pydicom is not installed.
    """
    slices, affine = _series(path, limit, where, pixels=False)
    return VolumeHeader(
        sizes=(slices[0].columns, slices[0].rows, len(slices)), channels=1, dtype=type_of(slices), affine=affine,
        axes=axes_of(affine),
    )  # fmt: skip


def _series(path: Path, limit: int, where: str, *, pixels: bool) -> tuple[list[Slice], Affine]:
    files = slices_in(path) if path.is_dir() else [path]
    if not files or len(files) > MAX_SLICES:
        raise DataError(
            f"{where}: a folder of one series holds 1 to {MAX_SLICES:,} DICOM files. Got {len(files):,}. Give a folder "
            f"of slices, or another format."
        )
    check_bytes(sum(file.stat().st_size for file in files), None, limit, where)
    slices = [
        read_slice(file, limit, where if file == path else f"{where}, {quoted(file.name)}", pixels) for file in files
    ]
    _check_alike(slices, where)
    ordered, step = _sorted(slices, where)
    check_bytes(type_of(slices).itemsize * len(slices) * slices[0].rows * slices[0].columns, None, limit, where)
    return ordered, _affine(ordered[0], step, where)


def _check_alike(slices: list[Slice], where: str) -> None:
    series = {one.series for one in slices}
    if len(series) > 1:
        counts = [sum(one.series == name for one in slices) for name in sorted(series)]
        raise DataError(
            f"{where}: a folder must hold one series. Got {len(series)}, of {listed(counts)} files. Put each series "
            f"into a folder of its own."
        )
    odd = next((one for one in slices if one.geometry != slices[0].geometry), None)
    if odd is not None:
        raise DataError(
            f"{where}: slices of a volume share size, direction and spacing. {odd.name} has {odd.rows} x {odd.columns} "
            f"pixels and {slices[0].name} {slices[0].rows} x {slices[0].columns}, or another direction or spacing. "
            f"Remove what is no slice (a localiser, say)."
        )


def _sorted(slices: list[Slice], where: str) -> tuple[list[Slice], NDArray[np.float64] | None]:
    """Slices along their normal, and the step from one to the next."""
    if len(slices) == 1:
        return slices, None
    if any(one.position is None for one in slices):
        raise DataError(f"{where}: slices need ImagePositionPatient to be put in order. Convert it with its geometry.")
    normal = np.cross(slices[0].across, slices[0].down)
    ordered = sorted(slices, key=lambda one: float(np.dot(normal, one.position or (0, 0, 0))))
    places = np.array([one.position for one in ordered]) @ normal
    steps = np.diff(places)
    usual = float(np.median(steps))
    _check_steps(steps, usual, ordered, where)
    first, last = (np.array(ordered[end].position, dtype=np.float64) for end in (0, -1))
    return ordered, (last - first) / (len(slices) - 1)


def _check_steps(steps: NDArray[np.float64], usual: float, ordered: list[Slice], where: str) -> None:
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
