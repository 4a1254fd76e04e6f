"""1,000 damaged files: each is read as the format's own library reads it, or refused in one line.

Nothing is printed, nothing hangs, and no more memory is taken than a small multiple of the limit.
"""

import io
import logging
import random
import signal
import struct
import tracemalloc
import warnings

import nibabel
import numpy as np
import pydicom
import pytest

from data.sources.scans import scans
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.reading import read_header, read_volume
from multiway.errors import MultiwayError

FILES, PARTS = 1000, 2
LIMIT = 1 << 16
MOST_MEMORY = 24 * LIMIT
SECONDS = 60

EDGES = [0, 1, -1, 2, 255, 256, 32767, -32768, 2**31 - 1, -(2**31), 2**32 - 1, 65535]
NUMBERS = [0.0, -1.0, float("nan"), float("inf"), 1e38, -1e38, 1e-40, 2.0]
NIFTI_FIELDS = [
    *((40 + 2 * i, "<h") for i in range(8)), (70, "<h"), (72, "<h"), *((76 + 4 * i, "<f") for i in range(8)),
    (108, "<f"), (112, "<f"), (116, "<f"), (252, "<h"), (254, "<h"), *((256 + 4 * i, "<f") for i in range(18)),
    (344, "<i"), (0, "<i"), (348, "<i"),
]  # fmt: skip


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Sound files of every format, as bytes."""
    folder = tmp_path_factory.mktemp("originals")
    values = scans.voxels((6, 5, 4))
    scans.nifti(folder / "a.nii", values, scans.oblique())
    scans.nifti(folder / "b.nii", values.astype(np.float32), kind=nibabel.Nifti2Image)
    scans.nifti(folder / "c.nii.gz", values)
    np.save(folder / "d.npy", values)
    np.savez(folder / "e.npz", values)
    np.savez_compressed(folder / "f.npz", values)
    data = scans.dicom_slice(values[0], 1.0, "1.2.3", RescaleSlope=1, RescaleIntercept=-1024)
    data.ReferencedStudySequence = [pydicom.Dataset(), pydicom.Dataset()]
    data.ReferencedStudySequence[0].PatientName = "x"
    scans.dicom(folder / "g.dcm", data)
    scans.dicom(folder / "h.dcm", scans.dicom_slice(values[1], 1.0, "1.2.3"))
    labels = np.array([[0], [1]], np.uint8)
    parts = {f"{part}_{kind}": labels if kind == "labels" else values[None].repeat(2, 0)
             for part in ("train", "val", "test") for kind in ("images", "labels")}  # fmt: skip
    np.savez_compressed(folder / "m.npz", **parts)
    return [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]


def damaged(name: str, raw: bytes, chance: random.Random) -> bytes:
    """Cut, flip, overwrite, insert or double some bytes; or set a header's field to an edge."""
    content = bytearray(raw)
    head = min(len(content), 600)
    for _ in range(chance.choice([1, 1, 1, 2, 4, 12])):
        at = chance.randrange(head if chance.random() < 0.6 else len(content))
        match chance.randrange(7):
            case 0:
                content[at] ^= 1 << chance.randrange(8)
            case 1:
                content[at] = chance.choice([0, 255, 127, 128, chance.randrange(256)])
            case 2:
                del content[at : None if chance.random() < 0.5 else at + chance.randrange(1, 40)]
            case 3:
                content[at:at] = chance.randbytes(chance.randrange(1, 20))
            case 4:
                width = chance.choice(["<h", "<H", "<i", "<I", ">I"])
                low, high = (-(2 ** (8 * struct.calcsize(width) - 1)), 2 ** (8 * struct.calcsize(width) - 1) - 1)
                value = chance.choice(EDGES)
                value = min(max(value, low if width[1].islower() else 0), high)
                content[at : at + struct.calcsize(width)] = struct.pack(width, value)
            case 5 if name.endswith(".nii"):
                offset, form = chance.choice(NIFTI_FIELDS)
                value = chance.choice(NUMBERS) if form == "<f" else chance.choice(EDGES)
                if form == "<h":
                    value = min(max(value, -32768), 32767)
                elif form == "<i":
                    value = min(max(value, -(2**31)), 2**31 - 1)
                content[offset : offset + struct.calcsize(form)] = struct.pack(form, value)
            case _:
                other = chance.randrange(len(content) or 1)
                content[at : at + 8] = content[other : other + 8]
        if not content:
            break
        head = min(len(content), 600)
    return bytes(content)


def oracle(name: str, raw: bytes) -> np.ndarray | None:
    """Values by the format's own library; None where it refuses."""
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name.endswith(".npy"):
                return np.load(io.BytesIO(raw), allow_pickle=False)
            if name.endswith(".npz"):
                with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
                    return archive[archive.files[0]]
            if name.endswith(".dcm"):
                data = pydicom.dcmread(io.BytesIO(raw))
                slope, intercept = float(data.get("RescaleSlope") or 1), float(data.get("RescaleIntercept") or 0)
                return (data.pixel_array * slope + intercept).T[..., None]
            kind = nibabel.Nifti2Image if raw[4:7] == b"n+2" else nibabel.Nifti1Image
            return kind.from_bytes(raw).get_fdata(dtype=np.float64)
    except Exception:
        return None
    finally:
        logging.disable(logging.NOTSET)


@pytest.fixture
def deadline():
    def stop(*_):
        raise TimeoutError(f"damaged files took more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def read(path):
    """The volume of a file, by whatever reads it, or its refusal."""
    try:
        if path.name == "m.npz":
            cases = read_cases(path)
            return cases.inputs.read(len(cases) - 1)
        header = read_header(path, max_bytes=LIMIT)
        volume = read_volume(path, max_bytes=LIMIT)
    except MultiwayError as error:
        assert "\n" not in str(error)
        assert str(error).startswith(path.name), error
        return None
    assert (header.sizes, header.dtype) == (volume.sizes, volume.values.dtype)
    return volume


@pytest.mark.parametrize("part", range(PARTS))
def test_damage(part, originals, tmp_path, deadline, capfd):
    chance = random.Random(part)
    sound = compared = 0
    for name, raw in originals:  # what is imported on first use is no cost of a damaged file
        (tmp_path / name).write_bytes(raw)
        assert read(tmp_path / name) is not None
    tracemalloc.start()
    try:
        for _ in range(FILES // PARTS):
            name, raw = chance.choice(originals)
            raw = damaged(name, raw, chance)
            (tmp_path / name).write_bytes(raw)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            volume = read(tmp_path / name)
            assert tracemalloc.get_traced_memory()[1] - before < MOST_MEMORY, name
            if volume is None:
                continue
            sound += 1
            assert volume.values.nbytes <= LIMIT
            assert volume.affine is None or np.isfinite(volume.affine).all()
            if name != "m.npz" and not name.endswith(".gz") and (expected := oracle(name, raw)) is not None:
                compared += 1
                expected = expected.reshape(volume.values[0].shape)
                with np.errstate(all="ignore"):
                    np.testing.assert_allclose(volume.values[0], expected.astype(volume.values.dtype), rtol=1e-6)
    finally:
        tracemalloc.stop()
    assert sound > 50
    assert compared > 40
    assert capfd.readouterr() == ("", "")
