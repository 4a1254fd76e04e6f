"""What a check of images and masks says: each finding once, with its place, and the sizes and shares of the summary."""

import numpy as np

from multiway.tasks.segmentation.task import TASK
from tasks.segmentation.lesion_files import config_of, write_boxes, write_scene


def said(report):
    return [(one.kind, one.severity, [place.detail for place in one.places]) for one in report.findings]


def test_a_mask_that_marks_nothing_and_an_image_of_one_value_are_named_once(tmp_path):
    path = write_boxes(tmp_path)
    np.save(tmp_path / "image3.npy", np.full((8, 9, 10), 7, np.uint8))
    report = TASK.check(config_of(path), str(path))
    assert said(report) == [("constant", "warning", ["cases.csv, line 5"]), ("empty_mask", "note", ["image11"])]
    assert report.summary["splits"] == "train 8, validation 2, test 2"
    assert report.summary["test voxels"] == "background 95.56%, 1 4.44%"


def test_so_are_the_blocks_of_a_scene_of_one_value(tmp_path):
    path = write_scene(tmp_path / "scene.npz")
    with np.load(path) as file:
        np.savez(path, image=np.full_like(file["image"], 2.5), labels=file["labels"])
    report = TASK.check(config_of(path, ignore=0), str(path))
    [(kind, severity, blocks)] = said(report)
    assert (kind, severity, len(set(blocks))) == ("constant", "warning", 6)
    assert report.summary["sizes"] == "15 x 10 (4), 15 x 11 (2)" and report.summary["channels"] == "5"
    assert report.summary["validation voxels"] == "1 37.50%, 2 25.00%, 3 37.50%"
