"""Every flaw of a volume that RELIABILITY promises to name: one line, the file, the rule, the fix."""

import io
import json
import struct
import zipfile

import nibabel
import numpy as np
import pandas as pd
import pydicom
import pytest
from pydicom.uid import ExplicitVRLittleEndian, JPEGLossless

from data.sources.scans import scans
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans.dicom import read_slice
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.reading import read_volume
from multiway.errors import DataError
from multiway.tasks.scans import VolumeConfig
from multiway.tasks.scans.task import CLASSES as TASK


def npz(path, **changes):
    """A MedMNIST file with some arrays changed; None leaves one out."""
    images, labels = scans.voxels((4, 3, 3, 3)).astype(np.uint8), np.array([[0], [1], [0], [1]], np.uint8)
    arrays = {f"{part}_{kind}": images if kind == "images" else labels
              for part in ("train", "val", "test") for kind in ("images", "labels")}  # fmt: skip
    arrays = {name: value for name, value in (arrays | changes).items() if value is not None}
    np.savez(path, **arrays)
    return path


def packed(path, content, name="train_images.npy"):
    """A MedMNIST file with the bytes of one member replaced."""
    npz(path, **{name.removesuffix(".npy"): None})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return path


def header(shape, descr="|u1"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


OBJECTS = np.array([None, "x", {}, 3], dtype=object)
ARCHIVES = {
    "object array": (lambda p: npz(p, train_images=OBJECTS), r"array 'train_images': it holds Python objects"),
    "object labels": (lambda p: npz(p, val_labels=OBJECTS), r"array 'val_labels': it holds Python objects"),
    "lying header": (
        lambda p: packed(p, header((10**6, 28, 28)) + b"\x00" * 100),
        r"header declares 784,000,000 bytes of values and the file holds at most 100\. It is cut short or its header",
    ),
    "huge header": (lambda p: packed(p, header((10**6, 10**6, 28, 28))), r"declares 784,000,000,000,000 bytes"),
    "overflowing header": (lambda p: packed(p, header((2**40, 2**40, 2**40, 2))), r"the file holds at most 0\. It is"),
    "bomb": (
        lambda p: packed(p, header((3000, 100, 100, 100)) + b"\x00" * 3_000_000),
        r"declares 3,000,000,000 bytes of values and the file holds at most 3,000,000\.",
    ),
    "negative size": (lambda p: packed(p, header((-1, 3, 3, 3))), r"its array header is not NumPy's"),
    "two sizes in one": (lambda p: packed(p, header("(4 3, 3, 3)")), r"its array header is not NumPy's"),
    "size of twenty digits": (lambda p: packed(p, header((10**19, 3, 3, 3))), r"its array header is not NumPy's"),
    "records": (
        lambda p: packed(p, header((4,)).replace(b"'|u1'", b"[('a','<f4')]")), r"Python objects or records",
    ),
    "complex": (lambda p: packed(p, header((4, 3, 3, 3), "<c8") + b"\x00" * 864), r"plain numbers\. Got type <c8"),
    "no magic": (lambda p: packed(p, b"nothing here at all"), r"it is no NumPy array"),
    "deep header": (lambda p: packed(p, b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10_000), r"array header is not NumPy's"),
    "missing labels": (lambda p: npz(p, train_labels=None), r"It lacks train_labels and holds"),
    "missing split": (lambda p: npz(p, test_images=None, test_labels=None), r"lacks test_images, test_labels"),
    "counts differ": (
        lambda p: npz(p, val_labels=np.zeros((3, 1), np.uint8)), r"each of 4 images\. Got uint8 \(3, 1\)",
    ),
    "many labels": (lambda p: npz(p, val_labels=np.zeros((4, 14), np.uint8)), r"one whole number for each"),
    "fractions": (lambda p: npz(p, val_labels=np.zeros((4, 1))), r"one whole number for each.*Got float64"),
    "label outside": (
        lambda p: npz(p, test_labels=np.array([[0], [1], [7], [1]], np.uint8)),
        r"every label must occur in training\. Got 7 in 'test_labels' row 2 \(1 such\)\. Known labels: 0, 1",
    ),
    "flat images": (lambda p: npz(p, train_images=np.zeros((4, 3, 3), np.uint8)), r"'train_images' must be \(cases"),
    "other shape": (
        lambda p: npz(p, val_images=np.zeros((4, 3, 3, 5), np.uint8)),
        r"volumes of all parts must have one shape\. Got \(3, 3, 3\) in 'train_images' and \(3, 3, 5\) in 'val_images'",
    ),
    "no ZIP": (lambda p: p.write_bytes(b"PK\x03\x04 nothing"), r"it is broken \(File is not a zip file\)"),
    "empty": (lambda p: p.write_bytes(b""), r"it is broken"),
}  # fmt: skip


@pytest.mark.parametrize("case", ARCHIVES)
def test_archives(case, tmp_path):
    make, text = ARCHIVES[case]
    path = tmp_path / "x.npz"
    make(path)
    with pytest.raises(DataError, match=text) as caught:
        read_cases(path)
    assert str(caught.value).startswith("x.npz")
    assert "\n" not in str(caught.value)
    report = check(path)
    assert not report.is_usable
    assert all("\n" not in line for line in report.lines())


def test_more_than_the_limit_is_refused_before_it_is_made(tmp_path):
    images = np.zeros((500, 10, 10, 10), np.uint8)  # packs a thousandfold, and is all there
    np.savez_compressed(tmp_path / "x.npz", **{f"{part}_{kind}": images if kind == "images" else images[:, 0, 0, 0]
                        for part in ("train", "val", "test") for kind in ("images", "labels")})  # fmt: skip
    text = r"an array may take 1,000 bytes\. This one takes 500,000\. Raise max_bytes .*read\.max_bytes=500000"
    with pytest.raises(DataError, match=text):
        read_cases(tmp_path / "x.npz", VolumeOptions(max_bytes=1000))
    assert len(read_cases(tmp_path / "x.npz", VolumeOptions(max_bytes=500_000))) == 1500
    for path in (scans.nifti(tmp_path / "a.nii"), scans.nifti(tmp_path / "b.nii.gz"), scans.series(tmp_path / "c")):
        with pytest.raises(DataError, match=r"an array may take 100 bytes\. This one takes"):
            read_volume(path, max_bytes=100)
    (tmp_path / "long.dcm").write_bytes(bytes(1000))
    with pytest.raises(DataError, match=r"an array may take 100 bytes\. This one takes 1,000"):
        read_slice(tmp_path / "long.dcm", 100, "long.dcm", pixels=False)


def check(path):
    return TASK.kind.check(VolumeConfig(), str(path))


def test_one_class_is_a_finding_not_an_error(tmp_path):
    path = npz(tmp_path / "x.npz", test_labels=np.zeros((4, 1), np.uint8))
    assert TASK.prepare(VolumeConfig(), str(path)).notes == ("test has no cases of 1: AUC is undefined there",)
    report = check(path)
    assert report.is_usable
    assert any("test has no cases of 1" in line for line in report.lines())


def nan_voxels(path):
    values = scans.voxels(dtype=np.float32)
    values[1, 2, 0] = np.nan
    return scans.nifti(path, values)


def field(offset, form, *values):
    return lambda path: scans.patched(scans.nifti(path), offset, struct.pack(form, *values))


def cut(path):
    scans.nifti(path)
    path.write_bytes(path.read_bytes()[:-7])


def singular(path):
    affine = np.diag([1.0, 2, 3, 1])
    affine[:3, 2] = affine[:3, 1]
    image = nibabel.Nifti1Image(scans.voxels(), None)
    image.header["sform_code"] = 1
    for row, name in enumerate(("srow_x", "srow_y", "srow_z")):
        image.header[name] = affine[row]
    path.write_bytes(image.to_bytes())


NIFTI = {
    "truncated voxels": (cut, r"its header declares 210 bytes of values and the file holds at most 203"),
    "truncated header": (lambda p: p.write_bytes(b"\x5c\x01\x00\x00" * 20), r"it is no NIfTI file, or cut short"),
    "negative size": (field(42, "<h", -5), r"at least one voxel\. Got 3 axes, sizes \(-5, 7, 3"),
    "no axes": (field(40, "<h", 0), r"its header must name 1 to 7 axes"),
    "huge sizes": (field(42, "<3h", 32767, 32767, 32767), r"its header declares 70,362,301,923,326 bytes of values"),
    "more than there is": (field(42, "<3h", 300, 300, 30), r"declares 5,400,000 bytes .* holds at most 210"),
    "NaN slope": (field(112, "<f", float("nan")), r"its scaling must be finite\. Got slope nan, intercept 0"),
    "infinite intercept": (field(116, "<f", float("inf")), r"its scaling must be finite\. Got slope 1, intercept inf"),
    "singular affine": (singular, r"its affine is singular"),
    "NaN affine": (field(280, "<f", float("nan")), r"its affine must be finite"),
    "zero pixdim": (lambda p: (field(80, "<f", 0.0)(p), scans.patched(p, 254, b"\0\0")), r"a size above 0"),
    "NaN pixdim": (field(80, "<f", float("nan")), r"a size above 0\. Got spacing nan"),
    "zero pixdim next to a sform": (field(84, "<f", 0.0), r"a size above 0"),
    "negative pixdim": (
        lambda p: (field(80, "<f", -2.0)(p), scans.patched(p, 254, b"\0\0")), r"Got spacing -2, 2, 3 mm",
    ),
    "impossible turn": (
        lambda p: (field(256, "<3f", 3.0, 3.0, 3.0)(p), scans.patched(p, 252, b"\1\0\0\0")), r"orientation is broken",
    ),
    "four axes": (lambda p: scans.nifti(p, scans.voxels((3, 4, 5, 6))), r"has three axes\. Got 4, sizes \(3, 4"),
    "two axes": (lambda p: scans.nifti(p, scans.voxels((3, 4))), r"has three axes\. Got 2"),
    "five axes": (lambda p: scans.nifti(p, scans.voxels((3, 4, 5, 1, 3))), r"has three axes\. Got 5"),
    "colours": (field(70, "<h", 128), r"its voxels must be plain numbers\. Got NIfTI type 128"),
    "voxels in the header": (field(108, "<f", 10.0), r"its voxels must begin behind the header\. Got offset 10"),
    "far voxels": (field(108, "<f", 1e30), r"its voxels must begin behind the header"),
    "pair": (field(344, "<4s", b"ni1\0"), r"convert pairs of \.hdr and \.img first"),
    "NaN voxels": (nan_voxels, r"every voxel must be a finite number\. Got 1 of 105 .* the first at \(1, 2, 0\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", NIFTI)
def test_nifti(case, tmp_path, capfd):
    make, text = NIFTI[case]
    path = tmp_path / "x.nii"
    make(path)
    with pytest.raises(DataError, match=text) as caught:
        read_cases(path).inputs.prepare(0)
    assert str(caught.value).startswith("x.nii: ")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_gzip_bomb_is_refused_by_its_header(tmp_path):
    raw = bytearray(nibabel.Nifti1Image(np.zeros((2, 2, 2), np.uint8), np.eye(4)).to_bytes())
    raw[42:48] = struct.pack("<3h", 2000, 2000, 2000)
    import gzip

    (tmp_path / "x.nii.gz").write_bytes(gzip.compress(bytes(raw)))
    with pytest.raises(DataError, match=r"its header declares 8,000,000,000 bytes of values and the file holds"):
        read_volume(tmp_path / "x.nii.gz")
    with pytest.raises(DataError, match=r"declares 8,000,000,000 bytes of values and the file holds at most \d{2,3},"):
        read_volume(tmp_path / "x.nii.gz", max_bytes=10**12)
    raw[42:48] = struct.pack("<3h", 512, 512, 1600)  # what a small file may unfold to is less than any may
    (tmp_path / "y.nii.gz").write_bytes(gzip.compress(bytes(raw) + np.random.default_rng(0).bytes(2**19)))
    with pytest.raises(DataError, match=r"may take 402,653,184 bytes.*read\.max_bytes=419430400"):
        read_volume(tmp_path / "y.nii.gz")
    (tmp_path / "x.nii.gz").write_bytes(gzip.compress(bytes(raw))[:-30])
    with pytest.raises(DataError, match=r"x\.nii\.gz: it "):
        read_volume(tmp_path / "x.nii.gz")


def mixed(folder):
    scans.series(folder)
    scans.dicom(folder / "other.dcm", scans.dicom_slice(scans.voxels((7, 5)), 9.0, "9.9.9"))


def one_less(folder):
    scans.series(folder, scans.voxels((5, 7, 6)))
    (folder / "1-2.dcm").unlink() if (folder / "1-2.dcm").exists() else next(folder.glob("*-2.dcm")).unlink()


def lying(folder):
    data = scans.dicom_slice(scans.voxels((7, 5)), 0.0, "1.2")
    data.Rows = 7000
    scans.dicom(folder / "a.dcm", data)


def lying_length(folder):
    scans.dicom(folder / "a.dcm", scans.dicom_slice(scans.voxels((7, 5)), 0.0, "1.2"))
    raw = bytearray((folder / "a.dcm").read_bytes())
    at = raw.index(b"\xe0\x7f\x10\x00OW\x00\x00") + 8
    raw[at : at + 4] = struct.pack("<I", 2**31)
    (folder / "a.dcm").write_bytes(bytes(raw))


def nested(depth):
    def make(folder):
        inner = b"\x08\x00\x10\x11SQ\x00\x00\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff" * depth
        data = scans.dicom_slice(scans.voxels((7, 5)), 0.0, "1.2")
        stream = io.BytesIO()
        data.save_as(stream, enforce_file_format=True)
        raw = stream.getvalue()
        at = raw.index(b"\x08\x00\x60\x00")  # before the modality
        (folder / "a.dcm").write_bytes(raw[:at] + inner + raw[at:])

    return make


def packed_pixels(folder):
    data = scans.dicom_slice(scans.voxels((7, 5)), 0.0, "1.2")
    data.file_meta.TransferSyntaxUID = JPEGLossless
    data.PixelData = pydicom.encaps.encapsulate([b"\xff\xd8\xff\xd9"])
    data.save_as(folder / "a.dcm", implicit_vr=False, little_endian=True)


def single(**elements):
    return lambda folder: scans.dicom(folder / "a.dcm", scans.dicom_slice(scans.voxels((7, 5)), 0.0, "1.2", **elements))


DICOM = {
    "mixed series": (mixed, r"must hold one series\. Got 2: .* of 1 files.* Name one .*read\.series=NAME"),
    "missing slice": (one_less, r"1 missing: 4 mm between .*-1\.dcm and .*-3\.dcm, 2 mm elsewhere"),
    "missing slice of few": (
        lambda f: scans.series(f, scans.voxels((5, 7, 3)), places=[0, 1, 3]), r"1 missing: 2 mm between .* 1 mm else",
    ),
    "uneven spacing": (
        lambda f: scans.series(f, places=[0, 2, 4, 6.7]), r"not evenly spaced: 2\.7 mm between .* 2 mm elsewhere",
    ),
    "one place twice": (lambda f: scans.series(f, places=[0, 2, 2, 4]), r"two slices lie in one place"),
    "no places": (lambda f: scans.series(f, ImagePositionPatient=None), r"slices need ImagePositionPatient"),
    "another size": (
        lambda f: (scans.series(f), scans.dicom(f / "l.dcm", scans.dicom_slice(
            scans.voxels((3, 3)), 8.0, scans.generate_uid(entropy_srcs=[str(f)])))),
        r"slices of a volume share size.* has 3 x 3 pixels",
    ),
    "lying rows": (lying, r"7000 x 5 pixels of 16 bits take 70,000 bytes\. It declares 70 and holds 70"),
    "lying length": (lying_length, r"bits take 70 bytes\. It declares 2,147,483,648 and holds 70"),
    "400 deep": (nested(400), r"nested too deeply|no sound DICOM"),
    "packed pixels": (packed_pixels, r"pixels must be stored plainly\. Got transfer syntax JPEG Lossless"),
    "frames": (single(NumberOfFrames=2), r"one frame and one sample per pixel\. Got 2 frames"),
    "colours": (single(SamplesPerPixel=3), r"Got 1 frames, 3 samples"),
    "no spacing": (single(PixelSpacing=None), r"it says no PixelSpacing"),
    "zero spacing": (single(PixelSpacing=[0, 1]), r"its affine is singular"),
    "one bit": (single(BitsAllocated=1, BitsStored=1), r"pixels have 8, 16 or 32 bits"),
    "high bit": (single(BitsStored=12, HighBit=15), r"its high bit must be 11\. Got 15"),
    "no pixels": (single(PixelData=None), r"and holds 0"),
    "empty folder": (lambda f: (f / "readme.txt").write_text("x"), r"1 to 10,000 DICOM files\. Got 0"),
    "only an index": (lambda f: (f / "DICOMDIR").write_bytes(b"\0" * 128 + b"DICM"), r"DICOM files\. Got 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", DICOM)
def test_dicom(case, tmp_path, capfd):
    make, text = DICOM[case]
    folder = tmp_path / "scan"
    folder.mkdir()
    make(folder)
    with pytest.raises(DataError, match=text) as caught:
        read_volume(folder)
    assert str(caught.value).startswith("scan")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_deflated_dicom_is_not_unpacked(tmp_path):
    data = scans.dicom_slice(scans.voxels((7, 5)), 0.0, "1.2")
    data.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    data.save_as(tmp_path / "a.dcm")
    with pytest.raises(DataError, match=r"Got transfer syntax Deflated Explicit VR Little Endian"):
        read_volume(tmp_path / "a.dcm")
    assert data.file_meta.TransferSyntaxUID != ExplicitVRLittleEndian


def test_an_index_is_not_followed(tmp_path):
    (tmp_path / "DICOMDIR").write_bytes(b"\0" * 128 + b"DICM")
    with pytest.raises(DataError, match="it is a DICOMDIR, an index whose paths are not followed"):
        read_volume(tmp_path / "DICOMDIR")


@pytest.mark.parametrize(
    ("name", "text"),
    [("x.txt", "its name says no format"), ("x.nii", "there is no such file"), ("", "DICOM files. Got")],
)
def test_other_paths(name, text, tmp_path):
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(DataError, match=text):
        read_volume(tmp_path / name)


def test_another_shape_than_the_rest(tmp_path):
    for row in range(8):
        np.save(tmp_path / f"{row}.npy", scans.voxels((3, 3, 3 + row // 7), row))
    frame = pd.DataFrame({"path": [f"{row}.npy" for row in range(8)], "label": [0, 1] * 4})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(
        DataError, match=r"differ in size: 3x3x3 in 7 \(0\), 3x3x4 in 1 \(7\)\. Set size .*read\.size=I,J,K"
    ):
        read_cases(tmp_path / "t.csv")
    report = check(tmp_path / "t.csv")
    assert report.is_usable and any("cases differ in size" in finding.rule for finding in report.findings)
    options = VolumeOptions(resample_to=(3, 3, 3))
    assert read_cases(tmp_path / "t.csv", options).inputs.volumes.shape == (8, 1, 3, 3, 3)


def test_npz_of_a_volume(tmp_path):
    np.savez(tmp_path / "two.npz", a=scans.voxels(), b=scans.voxels())
    with pytest.raises(DataError, match=r"two\.npz: a \.npz of one volume holds one array\. Got a, b"):
        read_volume(tmp_path / "two.npz")
    np.save(tmp_path / "flat.npy", np.zeros(4))
    with pytest.raises(DataError, match=r"a volume has three axes with voxels on each\. Got shape \(4,\)\."):
        read_volume(tmp_path / "flat.npy")
    (tmp_path / "more.npy").write_bytes((tmp_path / "flat.npy").read_bytes() + b"x")
    with pytest.raises(DataError, match=r"it goes on after the 32 bytes that its header declares"):
        read_volume(tmp_path / "more.npy")


def test_a_datalist_of_a_missing_file(tmp_path):
    (tmp_path / "d.json").write_text(json.dumps({"training": [{"image": "no.nii", "label": 1}]}))
    with pytest.raises(DataError, match=r"d\.json, training 0: there is no file 'no\.nii' in "):
        read_cases(tmp_path / "d.json")
