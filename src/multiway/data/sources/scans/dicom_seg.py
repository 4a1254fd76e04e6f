"""Masks as DICOM-SEG objects, written and read: what a viewer of DICOM lays over the series that they belong to."""

import importlib.metadata
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from multiway import files
from multiway.data.findings import quote
from multiway.data.sources.arrays import check_bytes
from multiway.data.sources.scans.dicom import is_dicom, read_whole, slices_in, titles_of
from multiway.data.sources.scans.volume import Array, Volume, VolumeHeader
from multiway.errors import DataError, in_a_line
from multiway.lazy import load_extra

SERIES_NUMBER = 300
ON_GRID = 0.05
"""Voxels that a frame may lie off the grid of its series."""
MAY_BE_EMPTY = (
    "AccessionNumber",
    "PatientBirthDate",
    "PatientID",
    "PatientName",
    "PatientSex",
    "ReferringPhysicianName",
    "StudyDate",
    "StudyID",
    "StudyTime",
)
"""Elements that every object of a study has, though nothing need stand in them: tools that hide names drop them."""


def write_dicom_seg(path: Path, mask: Array, series: Path, names: Mapping[int, str], chosen: str | None = None) -> None:
    """Write the mask of a series as one object with a segment for each class; viewers show the names of the classes.

    Args:
        path: What is written.
        mask: `(columns, rows, slices)`, on the grid of the series as it is read.
        series: Folder of the slices, or a file of one.
        chosen: The series, where the folder holds several.
        names: Classes by their values in the mask; other values are background.

    Raises:
        DataError: The slices lack what every object of a study has, such as the UID of the study.
    """
    purpose, version = "Writing DICOM-SEG", importlib.metadata.version("multiway")
    highdicom, pydicom = (load_extra(name, purpose, "volumes") for name in ("highdicom", "pydicom"))
    codes = load_extra("pydicom.sr.codedict", purpose, "volumes").codes
    algorithm = highdicom.AlgorithmIdentificationSequence("multiway", codes.cid7162.ArtificialIntelligence, version)
    segments = [
        highdicom.seg.SegmentDescription(
            number,
            name,
            codes.SCT.AnatomicalStructure,
            codes.SCT.AnatomicalStructure,
            "AUTOMATIC",
            algorithm,
        )
        for number, name in enumerate(names.values(), 1)
    ]
    numbers = np.zeros(mask.shape, np.uint16 if len(names) > 255 else np.uint8)
    for number, value in enumerate(names, 1):
        numbers[mask == value] = number
    slices = [pydicom.dcmread(file) for file in (slices_in(series) if series.is_dir() else [series])]
    if len({titles_of(one) for one in slices}) > 1:
        slices = [one for one in slices if chosen in titles_of(one)]
    for one in slices:
        for name in MAY_BE_EMPTY:
            one.setdefault(name, "")
    try:
        normal = np.cross(*np.reshape(np.array(slices[0].ImageOrientationPatient, float), (2, 3)))
        slices.sort(key=lambda one: float(normal @ np.array(one.ImagePositionPatient, float)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of masks that mark nothing, and of names that older viewers cut
            made = highdicom.seg.Segmentation(
                slices,
                numbers.transpose(2, 1, 0),
                "BINARY",
                segments,
                series_instance_uid=highdicom.UID(),
                series_number=SERIES_NUMBER,
                sop_instance_uid=highdicom.UID(),
                instance_number=1,
                manufacturer="multiway",
                manufacturer_model_name="multiway",
                software_versions=version,
                device_serial_number="0",
            )
    except (AttributeError, TypeError, ValueError) as error:
        raise DataError(
            f"{quote(series.name, 80)}: its slices lack what a DICOM-SEG object refers to "
            f"({quote(in_a_line(error), 120)}). Complete them, or take the masks as NIfTI alone."
        ) from None
    files.write_with(path, made.save_as)


def read_dicom_seg(path: Path, series: VolumeHeader, limit: int, where: str) -> Volume | None:
    """Segments of an object as a mask on the grid of its series, by their numbers; None where a file is no such object.

    Raises:
        DataError: It is broken, lies off that grid, or its segments overlap.
    """
    if path.is_dir() or not is_dicom(path):
        return None
    values = read_whole(path, limit, where, lambda data, syntax: _read_segments(data, series, limit, where))
    return None if values is None else Volume(values=values[None], affine=series.affine, source=where, axes=series.axes)


def _read_segments(data: Any, series: VolumeHeader, limit: int, where: str) -> Array | None:
    """Numbers of the segments `(columns, rows, slices)`, 0 where none is; frames that mark nothing may lack."""
    if data.get("Modality") != "SEG":
        return None
    if series.affine is None:
        raise DataError(f"{where}: a DICOM-SEG object lies on the grid of a scan in millimetres. Got an array.")
    frames = list(data.PerFrameFunctionalGroupsSequence)
    check_bytes(len(frames) * int(data.Rows) * int(data.Columns), None, limit, where)
    pixels = data.pixel_array.reshape(len(frames), int(data.Rows), int(data.Columns))
    if data.SegmentationType == "FRACTIONAL":
        pixels = pixels > int(data.MaximumFractionalValue) / 2
    mask, inverse = np.zeros(series.sizes, np.uint16), np.linalg.inv(series.affine)
    for frame, marks in zip(frames, pixels, strict=True):
        rows, columns = np.nonzero(marks)
        places = _places(data, frame, rows, columns, inverse, where)
        if ((places < 0) | (places >= series.sizes)).any():
            raise DataError(f"{where}: it marks voxels outside of its series. Give the series that it was made for.")
        if "SegmentIdentificationSequence" in frame:
            number = int(frame.SegmentIdentificationSequence[0].ReferencedSegmentNumber)
        else:
            number = marks[rows, columns]  # a map of labels
        known = mask[tuple(places.T)]
        if ((known != 0) & (known != number)).any():
            raise DataError(f"{where}: its segments overlap, and a voxel has one class. Give an object without that.")
        mask[tuple(places.T)] = number
    return mask


def _places(data: Any, frame: Any, rows: Array, columns: Array, inverse: Array, where: str) -> Array:
    """Voxels of a series `(pixels, 3)` that some pixels of a frame are."""
    shared = data.SharedFunctionalGroupsSequence[0]

    def group(name: str) -> Any:
        return (frame if name in frame else shared)[name][0]

    position = np.array(group("PlanePositionSequence").ImagePositionPatient, float)
    across, down = np.reshape(np.array(group("PlaneOrientationSequence").ImageOrientationPatient, float), (2, 3))
    between_rows, between_columns = map(float, group("PixelMeasuresSequence").PixelSpacing)
    points = position + between_columns * np.outer(columns, across) + between_rows * np.outer(rows, down)
    points[:, :2] *= -1  # left and posterior, to right and anterior
    places = points @ inverse[:3, :3].T + inverse[:3, 3]
    whole = np.rint(places).astype(np.int64)
    if len(places) and np.abs(places - whole).max() > ON_GRID:
        raise DataError(f"{where}: its frames lie off the grid of its series. Resample it, or give its own series.")
    return whole
