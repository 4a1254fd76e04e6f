"""What a check of images and masks says: each finding once, with its place, and the sizes and shares of the summary."""

import numpy as np
import pytest

from multiway.errors import DataError
from multiway.tasks.scans.task import MASKS as TASK
from tasks.scans.masks.lesion_files import config_of, write_boxes, write_scene


def said(report):
    return [(one.kind, one.severity, [place.detail for place in one.places]) for one in report.findings]


def test_a_mask_that_marks_nothing_and_an_image_of_one_value_are_named_once(tmp_path):
    path = write_boxes(tmp_path)
    np.save(tmp_path / "image3.npy", np.full((8, 9, 10), 7, np.uint8))
    report = TASK.kind.check(config_of(path), str(path))
    assert said(report) == [("constant", "warning", ["cases.csv, line 5"]), ("empty_mask", "note", ["image11"])]
    assert report.summary["splits"] == "train 8, validation 2, test 2"
    assert report.summary["test voxels"] == "background 95.56%, class 1 4.44%"


def test_so_are_the_blocks_of_a_scene_of_one_value(tmp_path):
    path = write_scene(tmp_path / "scene.npz")
    with np.load(path) as file:
        np.savez(path, image=np.full_like(file["image"], 2.5), labels=file["labels"])
    report = TASK.kind.check(config_of(path, ignore=0), str(path))
    [(kind, severity, blocks)] = said(report)
    assert (kind, severity, len(set(blocks))) == ("constant", "warning", 6)
    assert report.summary["sizes"] == "15 x 10 (4), 15 x 11 (2)" and report.summary["channels"] == "5"
    assert report.summary["validation voxels"] == "class 1 37.50%, class 2 25.00%, class 3 37.50%"


def test_masks_that_a_size_cuts_are_refused_unless_the_config_takes_them(tmp_path):
    path = write_boxes(tmp_path)
    config = config_of(path, read={"size": [6, 8, 8]})
    rule = r"size 6 x 8 x 8 cuts \d+ masks\. Of image\d+ \d+ of 64 marked voxels are left\. Set one that holds them"
    with pytest.raises(DataError, match=rule) as caught:
        TASK.prepare(config, str(path))
    assert any(
        finding.line().startswith("size 6 x 8 x 8 cuts") for finding in TASK.kind.check(config, str(path)).findings
    )
    fix = next(part for part in caught.value.args if getattr(part, "field", "") == "read.size")
    TASK.prepare(config_of(path, read={"size": fix.value}), str(path))
    taken = TASK.kind.check(config_of(path, read={"size": [6, 8, 8], "cut_masks": True}), str(path))
    assert taken.is_usable and "% of what masks mark" in taken.summary["kept by size"]
