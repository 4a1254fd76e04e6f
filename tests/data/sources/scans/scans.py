"""Small scans for tests: NIfTI by nibabel, DICOM by pydicom, whole or with one flaw."""

from pathlib import Path

import nibabel
import numpy as np
import pydicom
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

CT = "1.2.840.10008.5.1.4.1.1.2"


def oblique(spacing=(0.7, 1.3, 2.9), seed=4) -> np.ndarray:
    """An affine that is turned, not sheared."""
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    affine = np.eye(4)
    affine[:3, :3] = turn * spacing
    affine[:3, 3] = (-31.0, 17.5, 4.25)
    return affine


def voxels(shape=(5, 7, 3), seed=0, dtype=np.int16) -> np.ndarray:
    return np.random.default_rng(seed).integers(-100, 400, shape).astype(dtype)


def nifti(path: Path, values=None, affine=None, kind=nibabel.Nifti1Image) -> Path:
    values = voxels() if values is None else values
    nibabel.save(kind(values, np.diag([1.5, 2.0, 3.0, 1.0]) if affine is None else affine), path)
    return path


def patched(path: Path, offset: int, content: bytes) -> Path:
    """Overwrite bytes of a file that is not compressed."""
    raw = bytearray(path.read_bytes())
    raw[offset : offset + len(content)] = content
    path.write_bytes(bytes(raw))
    return path


def dicom_slice(pixels: np.ndarray, place: float, series: str, **elements) -> FileDataset:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = CT, generate_uid(entropy_srcs=[series, str(place)])
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = FileDataset(None, {}, file_meta=meta, preamble=b"\x00" * 128)
    data.SOPClassUID, data.SOPInstanceUID = CT, meta.MediaStorageSOPInstanceUID
    data.SeriesInstanceUID, data.Modality, data.PatientID = series, "CT", "p1"
    data.Rows, data.Columns = pixels.shape
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
    data.BitsAllocated = data.BitsStored = 8 * pixels.dtype.itemsize
    data.HighBit, data.PixelRepresentation = data.BitsStored - 1, int(pixels.dtype.kind == "i")
    data.PixelSpacing, data.SliceThickness = [1.25, 0.75], 2.0
    data.ImageOrientationPatient, data.ImagePositionPatient = [1, 0, 0, 0, 1, 0], [-10.0, 20.0, place]
    data.PixelData = pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()
    for name, value in elements.items():
        if value is None:
            delattr(data, name)
        else:
            setattr(data, name, value)
    return data


def dicom(path: Path, data: FileDataset) -> Path:
    data.save_as(path, enforce_file_format=True)
    return path


def series(folder: Path, values=None, places=None, **elements) -> Path:
    """A folder of one series: `values` is `(columns, rows, slices)`; files are named against their order."""
    values = voxels((5, 7, 4)) if values is None else values
    folder.mkdir(parents=True, exist_ok=True)
    uid = generate_uid(entropy_srcs=[str(folder)])
    for index in range(values.shape[2]):
        place = 2.0 * index if places is None else places[index]
        name = f"{(index * 3 + 1) % values.shape[2]}-{index}.dcm"
        dicom(folder / name, dicom_slice(np.ascontiguousarray(values[:, :, index].T), place, uid, **elements))
    return folder


assert pydicom.__version__
