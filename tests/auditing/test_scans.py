"""What gives an image away besides its content: the border, a painted mask, and what its file says."""

import gzip

import numpy as np
import pytest

from multiway.auditing.marks import Faces, Paint
from multiway.auditing.probes import class_numbers, split_halves
from multiway.auditing.scans import check_without_exception, scan_facts
from multiway.data.sources.scans.volume import VolumeHeader

COUNT, SIZES = 60, (16, 14, 12)
LABELS = np.arange(COUNT) % 2


def border(mark, level=0.0, labels=LABELS):
    """Whether noise of one level per class is told by its border, with a mark in it."""
    chance, faces = np.random.default_rng(0), Faces()
    for label in labels:
        image = 20 * chance.normal(size=(1, *SIZES)) + level * label
        if label:
            mark(image)
        faces.add(image)
    return faces.check(labels, split_halves(np.arange(40), np.arange(40, len(labels)), labels))


def frame(image):
    for axis in (1, 2, 3):
        for place in (0, -1):
            np.moveaxis(image, axis, 0)[place] = 60


def corner(image):
    image[:, :3, :3, :2] += 100


@pytest.mark.parametrize("mark", [frame, corner])
def test_a_mark_on_the_border_is_found(mark):
    finding = border(mark)
    assert (finding.kind, finding.severity) == ("border", "error")


def test_no_mark_and_a_difference_of_the_whole_image_are_no_leak():
    assert "does not tell the class" in border(lambda image: None)
    assert "does not tell the class" in border(lambda image: None, level=100.0)
    assert "does not tell the class" in border(lambda image: None, level=100.0, labels=np.arange(400) % 2)


def test_a_mark_inside_is_left_to_the_network():
    assert isinstance(border(lambda image: image[:, 6:9, 5:8, 5:8].__iadd__(100)), str)


def painted(change, cases=6):
    chance, paint = np.random.default_rng(1), Paint()
    for _ in range(cases):
        mask = np.zeros(SIZES, bool)
        mask[4:9, 4:9, 3:8] = True
        image = (90 + 15 * chance.normal(size=SIZES) + 90 * mask).astype(np.uint8)
        paint.add(change(image, mask)[None], mask)
        paint.add(image[None], np.zeros(SIZES, bool))
    return paint.check()


def outline(image, mask):
    inner = np.zeros(SIZES, bool)
    inner[5:8, 5:8, 4:7] = True
    return np.where(mask & ~inner, 255, image)


def test_a_bright_lesion_is_honest_and_paint_is_not():
    assert "no single value" in painted(lambda image, mask: image)
    for change in (lambda image, mask: np.where(mask, 255, image), outline, lambda image, mask: mask * 3 + 7):
        assert painted(change).kind == "painted"
    assert painted(lambda image, mask: np.where(mask, 255, image), cases=2) is None


def test_a_file_says_more_than_its_grid(tmp_path):
    header = VolumeHeader(sizes=(4, 4, 4), channels=1, dtype=np.dtype(np.int16), affine=None)
    content = bytes(128 + 40)
    for name, data in {
        "a.nii": content,
        "b.nii.gz": gzip.compress(content, 1),
        "c.nii.gz": gzip.compress(content, 9),
    }.items():
        (tmp_path / name).write_bytes(data)
    plain, fast, small = (scan_facts(header, tmp_path / name) for name in ("a.nii", "b.nii.gz", "c.nii.gz"))
    assert [each["bytes that are no voxels"] for each in (plain, fast, small)] == [40, 40, 40]
    assert fast["packing"] != small["packing"] and fast == fast | scan_facts(header, tmp_path / "b.nii.gz")
    assert set(scan_facts(header, None)) == {"sizes", "spacing", "orientation", "type"}


def test_a_fact_that_goes_with_the_class_in_every_case_is_a_leak_also_in_a_small_set():
    classes = class_numbers("no no no yes no no yes no yes no no no".split())
    found = check_without_exception({"type": classes, "size": classes * 0}, classes, "the grid", "the class")
    assert found.severity == "error" and "2 values of type" in found.line()
    spoilt = np.where(np.arange(12) == 3, 0, classes)
    assert check_without_exception({"type": spoilt}, classes, "the grid", "the class") is None
    assert check_without_exception({"name": np.arange(12)}, classes, "the grid", "the class") is None
