"""Masks as DICOM-SEG objects, read by highdicom and by pydicom."""

import highdicom
import numpy as np
import pydicom
import pytest
from pydicom.uid import generate_uid

from data.sources.scans.scans import series
from multiway.data.sources.scans.dicom_seg import read_dicom_seg, write_dicom_seg
from multiway.data.sources.scans.loading import read_cases
from multiway.data.sources.scans.reading import read_header, read_volume
from multiway.errors import DataError

STUDY = {
    "StudyInstanceUID": generate_uid(entropy_srcs=["study"]),
    "FrameOfReferenceUID": generate_uid(entropy_srcs=["frame"]),
    "PatientName": "Doe^Jane",
}
TO_LPS = np.diag([-1, -1, 1, 1])


@pytest.fixture
def mask():
    """Sizes that no two axes share, and values with a gap."""
    mask = np.zeros((5, 7, 4), np.uint8)
    mask[1:3, 2, 1], mask[4, 6, 3] = 7, 200
    return mask


def test_a_mask_comes_back_on_the_grid_of_its_series(mask, tmp_path):
    folder = series(tmp_path / "series", **STUDY)
    write_dicom_seg(tmp_path / "mask.dcm", mask, folder, {7: "liver", 200: "spleen"})
    made = highdicom.seg.segread(tmp_path / "mask.dcm")
    assert [made.get_segment_description(number).segment_label for number in (1, 2)] == ["liver", "spleen"]
    assert (made.StudyInstanceUID, made.PatientName) == (STUDY["StudyInstanceUID"], "Doe^Jane")
    assert (
        made.get_source_image_uids()[0][1] == next(pydicom.dcmread(each) for each in folder.iterdir()).SeriesInstanceUID
    )
    volume, scan = made.get_volume(combine_segments=True), read_volume(folder)
    inverse = np.linalg.inv(TO_LPS @ scan.affine)
    found = np.zeros_like(mask)
    for index in np.argwhere(volume.array):
        place = inverse @ volume.affine @ [*index, 1]
        found[tuple(np.rint(place[:3]).astype(int))] = (7, 200)[volume.array[tuple(index)] - 1]
    np.testing.assert_array_equal(found, mask)


def test_pydicom_reads_the_frames_of_each_segment(mask, tmp_path):
    write_dicom_seg(tmp_path / "mask.dcm", mask, series(tmp_path / "series", **STUDY), {7: "a", 200: "b"})
    made = pydicom.dcmread(tmp_path / "mask.dcm")
    assert (made.Modality, made.SegmentationType, made.NumberOfFrames) == ("SEG", "BINARY", 2)
    np.testing.assert_array_equal(made.pixel_array[0], mask[:, :, 1].T == 7)
    np.testing.assert_array_equal(made.pixel_array[1], mask[:, :, 3].T == 200)


def test_the_slices_are_those_of_the_chosen_series(mask, tmp_path):
    folder = series(tmp_path / "series", **STUDY, SeriesNumber=1)
    for file in series(tmp_path / "other", **STUDY, SeriesNumber=2).iterdir():
        file.rename(folder / f"other-{file.name}")
    write_dicom_seg(tmp_path / "mask.dcm", mask, folder, {7: "a", 200: "b"}, "2")
    uids = {each[1] for each in highdicom.seg.segread(tmp_path / "mask.dcm").get_source_image_uids()}
    assert uids == {pydicom.dcmread(next(folder.glob("other-*"))).SeriesInstanceUID}


def test_a_mask_that_marks_nothing_is_an_object_too(tmp_path):
    folder = series(tmp_path / "series", **STUDY)
    write_dicom_seg(tmp_path / "mask.dcm", np.zeros((5, 7, 4), np.uint8), folder, {1: "lesion"})
    assert not highdicom.seg.segread(tmp_path / "mask.dcm").pixel_array.any()


def test_slices_without_a_study_are_refused_in_one_line(mask, tmp_path):
    folder = series(tmp_path / "series")
    with pytest.raises(DataError, match=r"series: its slices lack what a DICOM-SEG object refers to .*StudyInst"):
        write_dicom_seg(tmp_path / "mask.dcm", mask, folder, {7: "liver"})
    assert not (tmp_path / "mask.dcm").exists()


def test_an_object_is_read_as_the_mask_of_its_series(mask, tmp_path):
    """Of our own, and of one that highdicom makes of fewer frames in another order; segments have their numbers."""
    folder = series(tmp_path / "series", **STUDY)
    write_dicom_seg(tmp_path / "mask.dcm", mask, folder, {7: "liver", 200: "spleen"})
    numbers = np.where(mask == 200, 2, np.where(mask == 7, 1, 0))
    found = read_dicom_seg(tmp_path / "mask.dcm", read_header(folder), 10**6, "mask.dcm")
    np.testing.assert_array_equal(found.values[0], numbers)
    other = pydicom.dcmread(tmp_path / "mask.dcm")
    frames = other.pixel_array[::-1]
    other.PerFrameFunctionalGroupsSequence = list(other.PerFrameFunctionalGroupsSequence)[::-1]
    other.PixelData = pydicom.pixels.utils.pack_bits(frames.ravel())
    other.save_as(tmp_path / "turned.dcm")
    found = read_dicom_seg(tmp_path / "turned.dcm", read_header(folder), 10**6, "turned.dcm")
    np.testing.assert_array_equal(found.values[0], numbers)
    assert read_dicom_seg(next(folder.iterdir()), read_header(folder), 10**6, "slice") is None


def test_a_table_may_list_objects_as_masks(mask, tmp_path):
    for name in ("a", "b"):
        folder = series(tmp_path / name, **{**STUDY, "SeriesNumber": name == "b"})
        write_dicom_seg(tmp_path / f"{name}.dcm", mask, folder, {7: "liver", 200: "spleen"})
    (tmp_path / "cases.csv").write_text("path,mask\na,a.dcm\nb,b.dcm\n")
    cases = read_cases(tmp_path / "cases.csv")
    np.testing.assert_array_equal(cases.inputs.mask(1).values[0], (mask == 7) + 2 * (mask == 200))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda made: setattr(position_of(made), "ImagePositionPatient", [0.4, 0, 0]), "lie off the grid"),
        (lambda made: position_of(made).ImagePositionPatient.__setitem__(2, 900), "outside of its series"),
        (lambda made: delattr(made, "PerFrameFunctionalGroupsSequence"), "no sound DICOM file"),
        (lambda made: setattr(made, "PixelData", b"\x00"), "no sound DICOM file"),
    ],
)
def test_an_object_that_does_not_fit_is_refused_in_one_line(change, text, mask, tmp_path):
    folder = series(tmp_path / "series", **STUDY)
    write_dicom_seg(tmp_path / "mask.dcm", mask, folder, {7: "a", 200: "b"})
    made = pydicom.dcmread(tmp_path / "mask.dcm")
    change(made)
    made.save_as(tmp_path / "mask.dcm")
    with pytest.raises(DataError, match=rf"mask\.dcm: .*{text}") as caught:
        read_dicom_seg(tmp_path / "mask.dcm", read_header(folder), 10**6, "mask.dcm")
    assert "\n" not in str(caught.value)


def position_of(made):
    return made.PerFrameFunctionalGroupsSequence[0].PlanePositionSequence[0]
