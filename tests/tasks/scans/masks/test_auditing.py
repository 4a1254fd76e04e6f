"""Audit of images with masks and of scenes."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from multiway.data.sources.scans.intensity import IntensityScale
from multiway.tasks.scans.task import MASKS as TASK
from tasks.scans.masks.lesion_files import config_of, write_boxes, write_scene


def found(report):
    return {finding.kind for finding in report.findings if finding.severity == "error"}


def test_a_sound_set_passes(tmp_path):
    report = TASK.audit(config_of(write_boxes(tmp_path)))
    assert not report.leaks and "none of 12 patients is in two splits" in report.passed
    assert "the grid of the scans cannot tell whether a mask is empty: sizes, spacing" in "\n".join(report.passed)


def test_an_image_in_two_splits_with_two_masks_is_found(tmp_path):
    path = write_boxes(tmp_path)
    np.save(tmp_path / "image10.npy", np.load(tmp_path / "image2.npy"))
    assert found(TASK.audit(config_of(path))) == {"duplicates", "labels"}
    np.save(tmp_path / "mask10.npy", np.load(tmp_path / "mask2.npy"))
    assert found(TASK.audit(config_of(path))) == {"duplicates"}


def test_a_mask_that_is_painted_into_the_image_is_found(tmp_path):
    path = write_boxes(tmp_path)
    for row in range(12):
        image, mask = np.load(tmp_path / f"image{row}.npy"), np.load(tmp_path / f"mask{row}.npy")
        np.save(tmp_path / f"image{row}.npy", np.where(mask > 0, np.uint8(255), image))
    report = TASK.audit(config_of(path))
    assert found(report) == {"painted"} and "in 11 of 11 marked images" in report.findings[0].line()


def test_a_patient_in_two_splits_is_reported(tmp_path):
    path = write_boxes(tmp_path)
    frame = pd.read_csv(path)
    frame.loc[11, "patient"] = "p0"
    frame.to_csv(path, index=False)
    report = TASK.audit(config_of(path))
    assert found(report) == {"groups"}
    assert any("scaling was not looked at, as training refuses these splits" in line for line in report.lines())


def test_scaling_by_all_blocks_is_found(tmp_path):
    config = config_of(write_scene(tmp_path / "scene.npz"), ignore=0, block=10, model={})
    report = TASK.audit(config)
    assert not report.leaks and "blocks of one scene share no pixel" in report.findings[0].line()
    images = list(TASK.prepare(config, str(tmp_path / "scene.npz")).encoded.inputs)
    scale = IntensityScale.fit(lambda row: images[row].values, range(len(images)), config.read)
    run = SimpleNamespace(state=SimpleNamespace(scale=scale))
    assert found(TASK.audit(config, run)) == {"statistics"}
