"""Masks as DICOM-SEG objects: what a viewer of DICOM lays over the series that they belong to."""

import importlib.metadata
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from multiway import files
from multiway.data.findings import quote
from multiway.data.sources.scans.dicom import slices_in, titles_of
from multiway.data.sources.scans.volume import Array
from multiway.errors import DataError, in_a_line
from multiway.lazy import load_extra

SERIES_NUMBER = 300
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
