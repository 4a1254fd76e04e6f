"""Patches and baselines that fit the data are taken, and others refused."""

import pytest

from multiway.errors import ConfigError
from multiway.tasks.segmentation.encode import baselines_of, fit_scale, patch_of
from multiway.tasks.segmentation.patches import GridPatches
from tasks.segmentation.lesion_files import examples_at, write_boxes, write_scene


def test_baselines_fit_the_data(tmp_path):
    volumes, config = examples_at(write_boxes(tmp_path))
    assert baselines_of(config, volumes) == ("background", "threshold", "unet")
    scene, config = examples_at(write_scene(tmp_path / "scene.npz"), ignore=0, block=6, model={})
    assert baselines_of(config, scene) == ("background", "logistic", "unet")
    with pytest.raises(ConfigError, match="a threshold needs one channel"):
        baselines_of(config.replace(baselines=("threshold",)), scene)


def test_patches_fit_the_model_and_the_data(tmp_path):
    examples, config = examples_at(write_boxes(tmp_path))
    assert patch_of(config, examples) == (8, 10, 10)
    assert patch_of(config.replace(patch=(4, 6, 8)), examples) == (4, 6, 8)
    with pytest.raises(ConfigError, match=r"patch: 3 sizes are needed, each a multiple of 2"):
        patch_of(config.replace(patch=(5, 6, 8)), examples)
    assert len(GridPatches(examples, examples.rows("validation"), fit_scale(examples, config.read), (4, 6, 8))) == 16


def test_patches_of_a_scene_lie_in_its_smallest_block(tmp_path):
    examples, config = examples_at(write_scene(tmp_path / "scene.npz"), ignore=0, block=6, model={})
    assert patch_of(config, examples) == (4, 4)
