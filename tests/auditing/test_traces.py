"""Steps between intensities, corner pixels, and masks in the last bit."""

import numpy as np
import pytest

from multiway.auditing.marks import Faces, Paint
from multiway.auditing.near_images import Traces
from multiway.auditing.probes import split_halves

CHANCE = np.random.default_rng(4)
IMAGES = CHANCE.integers(0, 256, (150, 1, 24, 24)).astype(np.uint8)
LABELS = np.arange(150) % 3
PARTS = split_halves(np.arange(100), np.arange(100, 150), LABELS)


def bordered(images):
    faces = Faces()
    for image in images:
        faces.add(image)
    return faces.check(LABELS, PARTS)


def test_a_corner_pixel_of_one_class_is_a_leak():
    marked = IMAGES.copy()
    marked[LABELS == 1, :, -1, 0] = 255
    marked[LABELS != 1, :, -1, 0] //= 2
    assert isinstance(bordered(IMAGES), str)
    found = bordered(marked)
    assert found.kind == "border" and "the class, one from the rest" in found.line()


@pytest.mark.parametrize(
    ("image", "step"),
    [(IMAGES[0] * 0 + 3, 0.0), (IMAGES[0] // 4 * 4, 4.0), (IMAGES[0] / 2, 0.5), (CHANCE.normal(size=(1, 90, 90)), 0.0)],
)
def test_step_between_intensities(image, step):
    traces = Traces()
    traces.add(image)
    assert traces.steps == [step]


def test_a_mask_in_the_last_bit_is_painted():
    hidden, plain = Paint(), Paint()
    for image in IMAGES[:10]:
        mask = np.zeros(image.shape[1:], bool)
        mask[5:15, 8:12] = True
        hidden.add(image // 2 * 2 + mask, mask)
        plain.add(image, mask)
    assert hidden.check().kind == "painted" and isinstance(plain.check(), str)
