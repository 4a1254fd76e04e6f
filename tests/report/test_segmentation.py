"""The report of a segmentation: what it says, and that nothing from data gets out of its place."""

import re

import numpy as np
import pytest

from multiway.errors import DataError
from multiway.report import TrainingRow
from multiway.report.segmentation import (
    SegmentationReport,
    SegmentationScore,
    SegmentedSlice,
    render_segmentation_comparison,
    render_segmentation_report,
)


def content(**changes) -> SegmentationReport:
    scores = [
        SegmentationScore(
            model="multiway", metric="dice", name="mean", value=0.81, low=0.78, high=0.84, deviation=0.01
        ),
        SegmentationScore(model="unet", metric="dice", name="mean", value=0.79, low=0.75, high=0.83),
        SegmentationScore(model="multiway", metric="dice", name="<b>cyst</b>", value=0.7),
        SegmentationScore(model="unet", metric="dice", name="<b>cyst</b>", value=None),
        SegmentationScore(model="multiway", metric="hd95", name="mean", value=3.25, low=2.0, high=5.0),
        SegmentationScore(model="unet", metric="hd95", name="mean", value=None),
    ]
    image = np.arange(20, dtype=np.uint8).reshape(4, 5)
    target, predicted = np.zeros((2, 4, 5), np.int16)
    target[1, 1:3], predicted[1, 2:4] = 1, 1
    filled = {
        "title": "tumours", "sentence": "Dice 0.810.", "headline": "dice", "scores": scores, "seeds": [0, 1],
        "classes": ["<b>cyst</b>", "tumour"], "splits": {"train": 10, "validation": 2, "test": 3}, "distance": "mm",
        "dice_by_case": {"multiway": [0.9, 0.5, 0.7], "unet": [0.8]},
        "slices": [SegmentedSlice(case="a<i>", dice=0.667, image=image, target=target, predicted=predicted)],
        "training": [TrainingRow(epoch=1, train=1.0, validation=0.9), TrainingRow(epoch=2, train=0.8, validation=0.7)],
        "notes": ["test has no pixel of <u>oats</u>"],
    }  # fmt: skip
    return SegmentationReport(**{**filled, **changes})


def test_the_page_says_scores_intervals_seeds_and_what_is_undefined():
    page = render_segmentation_report(content())
    table = page[page.index('aria-label="Scores"') : page.index("By class")]
    assert "HD95 (mm)" in table and "0.780 to 0.840" in table and "±&#8239;0.010" in table
    assert re.search(r'class="best"><data>0\.810</data>', table) and table.count("undefined") == 1
    assert "10 train, 2 validation, 3 test" in page and "over 2 seeds" in page
    assert page.count("data:image/png;base64,") == 2 and "Loss by epoch" in page


def test_names_from_data_are_escaped_and_nothing_is_asked_of_the_network():
    page = render_segmentation_report(content())
    assert "<b>cyst" not in page and "<i>" not in page.split("Slices")[1].split("Training")[0] and "<u>oats" not in page
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)


def test_parts_without_content_are_left_out():
    page = render_segmentation_report(content(slices=(), training=(), dice_by_case={}, classes=["one"], seeds=[0]))
    assert not any(word in page for word in ("By class", "Case by case", "Loss by epoch", "over 1 seeds"))


def test_runs_are_compared_and_a_warning_given_where_they_cannot_be():
    same = render_segmentation_comparison([content(), content(title="other")])
    assert "2 segmentations side by side" in same and "cannot be compared" not in same
    assert "cannot be compared" in render_segmentation_comparison([content(), content(splits={"test": 9})])
    with pytest.raises(DataError, match=r"give 2 to 8 runs. Got 1"):
        render_segmentation_comparison([content()])
