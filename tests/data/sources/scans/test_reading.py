"""Every format gives the values and the geometry that nibabel and pydicom give."""

import gzip

import nibabel
import numpy as np
import pydicom
import pytest

from data.sources.scans import scans
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.nifti import write_nifti
from multiway.data.sources.scans.reading import read_header, read_volume
from multiway.data.sources.scans.volume import orientation_of
from multiway.errors import ConfigError, DataError
from tolerances import ROUNDING32, ROUNDING64


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u2", "i4", "f4", "f8", ">i2", ">f4"])
def test_nifti_as_nibabel_reads_it(tmp_path, ending, kind, dtype):
    path = scans.nifti(tmp_path / f"a{ending}", scans.voxels().astype(dtype), scans.oblique(), kind)
    volume, oracle = read_volume(path), nibabel.load(path)
    assert np.array_equal(volume.values[0], oracle.get_fdata())
    assert volume.values.dtype == np.dtype(dtype).newbyteorder("=")
    np.testing.assert_allclose(volume.affine, oracle.affine, rtol=ROUNDING64)
    assert volume.orientation == "".join(nibabel.aff2axcodes(oracle.affine))
    np.testing.assert_allclose(volume.spacing, oracle.header.get_zooms(), rtol=ROUNDING32)
    header = read_header(path)
    assert (header.sizes, header.channels, header.dtype) == (volume.sizes, 1, volume.values.dtype)
    assert header.nbytes == volume.values.nbytes
    assert np.array_equal(header.affine, volume.affine)


def test_scaled_nifti(tmp_path):
    image = nibabel.Nifti1Image(scans.voxels(), np.eye(4))
    path = scans.nifti(tmp_path / "a.nii")
    scans.patched(path, 112, np.array([0.37, -1024.5], "<f4").tobytes())
    values = read_volume(path).values
    assert values.dtype == np.float32 == read_header(path).dtype
    np.testing.assert_allclose(values[0], nibabel.load(path).get_fdata(), rtol=ROUNDING32)
    assert image.shape == values[0].shape


@pytest.mark.parametrize("codes", [(0, 1), (1, 0), (0, 0)], ids=["sform", "qform", "neither"])
def test_the_affine_is_the_headers_choice(tmp_path, codes):
    image = nibabel.Nifti1Image(scans.voxels(), None)
    image.header.set_zooms((1.5, 2.0, 3.0))
    image.set_qform(scans.oblique(seed=5), codes[0])
    image.set_sform(scans.oblique(seed=6), codes[1])
    nibabel.save(image, tmp_path / "a.nii")
    volume = read_volume(tmp_path / "a.nii")
    np.testing.assert_allclose(volume.affine, nibabel.load(tmp_path / "a.nii").affine, rtol=ROUNDING64)


def test_channels_of_nifti_are_last_and_of_npy_first(tmp_path):
    values = scans.voxels((5, 7, 3, 2))
    path = scans.nifti(tmp_path / "a.nii.gz", values)
    with pytest.raises(DataError, match=r"a volume has three axes\. Got 4, .*read\.channels=True"):
        read_volume(path)
    assert np.array_equal(read_volume(path, channels=True).values, np.moveaxis(values, -1, 0))
    assert read_header(path, channels=True).channels == 2
    np.save(tmp_path / "b.npy", values)
    assert np.array_equal(read_volume(tmp_path / "b.npy", channels=True).values, values)
    with pytest.raises(DataError, match=r"three axes.*Got shape \(5, 7, 3, 2\)\. Set channels"):
        read_header(tmp_path / "b.npy")


def test_a_fourth_axis_of_one_is_no_axis(tmp_path):
    path = scans.nifti(tmp_path / "a.nii", scans.voxels((5, 7, 3, 1)))
    assert read_volume(path).sizes == (5, 7, 3)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["u1", ">i4", "<f8", "?"])
def test_numpy_files(tmp_path, dtype, order):
    values = np.asarray(scans.voxels().astype(dtype), order=order)
    np.save(tmp_path / "a.npy", values)
    np.savez_compressed(tmp_path / "b.npz", values)
    for name in ("a.npy", "b.npz"):
        volume = read_volume(tmp_path / name)
        assert np.array_equal(volume.values[0], values)
        assert (volume.affine, volume.axes) == (None, ("depth", "height", "width"))
        assert read_header(tmp_path / name).dtype == volume.values.dtype


def test_a_series_is_sorted_and_placed(tmp_path):
    values = scans.voxels((5, 7, 4))
    folder = scans.series(tmp_path / "s", values)
    (folder / "DICOMDIR").write_bytes(b"\x00" * 128 + b"DICM")
    (folder / "notes.txt").write_text("not a slice")
    volume = read_volume(folder)
    assert np.array_equal(volume.values[0], values)
    assert (volume.spacing, volume.orientation) == ((0.75, 1.25, 2.0), "LPS")
    expected = np.array([[-0.75, 0, 0, 10], [0, -1.25, 0, -20], [0, 0, 2.0, 0], [0, 0, 0, 1]])
    assert np.array_equal(volume.affine, expected)
    header = read_header(folder)
    assert (header.sizes, header.dtype, header.axes) == ((5, 7, 4), volume.values.dtype, ("x", "y", "z"))


def test_an_oblique_series_is_where_its_slices_say(tmp_path):
    turn = np.linalg.qr(np.random.default_rng(8).normal(size=(3, 3)))[0]
    normal = np.cross(turn[0], turn[1])
    values, folder = scans.voxels((4, 3, 5)), tmp_path / "s"
    folder.mkdir()
    for index in range(5):
        data = scans.dicom_slice(np.ascontiguousarray(values[:, :, index].T), 0.0, "1.2.3")
        data.ImageOrientationPatient = [float(f"{v:.10g}") for v in (*turn[0], *turn[1])]
        data.ImagePositionPatient = [float(f"{v:.10g}") for v in normal * 1.7 * index + (3, 4, 5)]
        scans.dicom(folder / f"{9 - index}.dcm", data)
    volume = read_volume(folder)
    assert np.array_equal(volume.values[0], values)
    voxel = np.array([3, 1, 4])
    patient = np.array([3, 4, 5]) + turn[0] * 0.75 * 3 + turn[1] * 1.25 * 1 + normal * 1.7 * 4
    np.testing.assert_allclose((volume.affine @ [*voxel, 1])[:3], patient * (-1, -1, 1), atol=1e-6)


@pytest.mark.parametrize("chosen", ["2", "AX T2", "1.2.4"])
def test_one_of_several_series_of_a_folder_is_named(tmp_path, chosen):
    first, second = scans.voxels((5, 7, 3)), scans.voxels((5, 7, 4), seed=1)
    for number, values, title in ((1, first, "AX T1"), (2, second, "AX T2")):
        names = {"SeriesNumber": number, "SeriesDescription": title, "SeriesInstanceUID": f"1.2.{2 * number}"}
        scans.series(tmp_path / title, values, **names)
        for file in (tmp_path / title).iterdir():
            (tmp_path / "all").mkdir(exist_ok=True)
            file.rename(tmp_path / "all" / f"{number}-{file.name}")
    assert np.array_equal(read_volume(tmp_path / "all", series=chosen).values[0], second)
    assert read_header(tmp_path / "all", series=chosen).sizes == (5, 7, 4)
    for other in (None, "AX"):
        with pytest.raises(DataError, match=r"Got 2: 1 AX T1 of 3 files, 2 AX T2 of 4 files\. Name one"):
            read_volume(tmp_path / "all", series=other)
    cases = read_cases(tmp_path / "all", VolumeOptions.parse({"series": int(chosen) if len(chosen) == 1 else chosen}))
    assert np.array_equal(cases.inputs.read(0).values[0], second)


@pytest.mark.parametrize(
    ("slope", "intercept", "dtype"), [(1, -1024, np.int16), (0.5, -3, np.float32), (1, 0, np.uint16)]
)
def test_rescaled_dicom_as_pydicom_reads_it(tmp_path, slope, intercept, dtype):
    stored = np.random.default_rng(1).integers(0, 4096, (7, 5)).astype(np.uint16)
    junk = stored | 0xF000 if dtype != np.uint16 else stored  # bits that are not used, as overlays were once stored
    used = 12 if dtype != np.uint16 else 16
    data = scans.dicom_slice(junk, 0.0, "1.2", BitsStored=used, HighBit=used - 1)
    data.RescaleSlope, data.RescaleIntercept = slope, intercept
    volume = read_volume(scans.dicom(tmp_path / "a.dcm", data))
    assert volume.values.dtype == dtype
    assert np.array_equal(volume.values[0, :, :, 0], stored.T.astype(float) * slope + intercept)


def test_signed_bits_keep_their_sign(tmp_path):
    stored = np.array([[-2048, -1, 0], [1, 2047, 5]], np.int16)
    data = scans.dicom_slice(stored & 0x0FFF, 0.0, "1.2", BitsStored=12, HighBit=11, PixelRepresentation=1)
    path = scans.dicom(tmp_path / "a.dcm", data)
    assert np.array_equal(read_volume(path).values[0, :, :, 0], stored.T)
    assert np.array_equal(pydicom.dcmread(path).pixel_array, stored)


def test_written_nifti_comes_back(tmp_path):
    values, affine = scans.voxels(dtype=np.float32), scans.oblique()
    write_nifti(tmp_path / "a.nii.gz", values, affine)
    volume = read_volume(tmp_path / "a.nii.gz")
    assert np.array_equal(volume.values[0], values)
    np.testing.assert_allclose(volume.affine, affine, rtol=ROUNDING32, atol=1e-6)
    write_nifti(tmp_path / "b.nii", np.stack([values > 0, values < 0], -1), None)
    both = nibabel.load(tmp_path / "b.nii")
    assert np.array_equal(both.get_fdata()[..., 1], values < 0)
    assert np.array_equal(both.affine, np.eye(4))
    before = (tmp_path / "a.nii.gz").read_bytes()
    write_nifti(tmp_path / "a.nii.gz", values, affine)
    assert (tmp_path / "a.nii.gz").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nii.gz", "b.nii"]
    with pytest.raises(DataError, match=r"a\.img: NIfTI files end in \.nii"):
        write_nifti(tmp_path / "a.img", values, None)


@pytest.mark.parametrize("seed", range(40))
def test_orientations_of_turned_affines(seed):
    affine = scans.oblique(seed=seed)
    cosines = np.sort(np.abs(affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)), axis=0)
    if (cosines[2] > 0.8).all():  # nibabel takes axes one by one, so it agrees where they are told apart clearly
        assert orientation_of(affine) == "".join(nibabel.aff2axcodes(affine))


def test_absent_libraries_are_named(tmp_path, monkeypatch):
    path = scans.nifti(tmp_path / "a.nii")
    monkeypatch.setitem(__import__("sys").modules, "nibabel", None)
    with pytest.raises(ConfigError, match=r"Reading NIfTI needs nibabel.*pip install 'multiway\[volumes\]'"):
        read_volume(path)
    np.save(tmp_path / "a.npy", scans.voxels())
    assert read_volume(tmp_path / "a.npy").sizes == (5, 7, 3)


def test_a_checksum_is_compared(tmp_path):
    path = scans.nifti(tmp_path / "a.nii.gz")
    raw = gzip.decompress(path.read_bytes())
    packed = bytearray(gzip.compress(raw, 0, mtime=0))  # stored as it is: only the checksum tells
    packed[-20] ^= 1
    path.write_bytes(bytes(packed))
    with pytest.raises(DataError, match=r"a\.nii\.gz: it cannot be read \(CRC check failed"):
        read_volume(path)
