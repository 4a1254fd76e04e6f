"""Patches and baselines that fit the data are taken, and others refused."""

import pytest

from multiway.errors import ConfigError
from multiway.tasks.scans.encode import check_threshold, find_patch
from multiway.tasks.scans.patches import GridPatches
from multiway.tasks.scans.task import MASKS as TASK
from tasks.scans.masks.lesion_files import config_of, prepared_at, write_boxes, write_scene


def test_baselines_fit_the_data(tmp_path):
    volumes, config = prepared_at(write_boxes(tmp_path))
    assert TASK.names(config, volumes.state) == ("network", "background", "threshold", "unet")
    scene, config = prepared_at(write_scene(tmp_path / "scene.npz"), ignore=0, block=6, model={})
    assert TASK.names(config, scene.state) == ("network", "background", "logistic", "unet")
    with pytest.raises(ConfigError, match="a threshold needs one channel"):
        check_threshold(config.replace(baselines=("threshold",)), scene.state)


@pytest.mark.parametrize("changes", [{"foreground": 1.01}, {"foreground": -0.01}, {"overlap": 1.0}], ids=str)
def test_shares_lie_within_their_limits(changes):
    with pytest.raises(ConfigError, match=rf"{next(iter(changes))}: Input should be (less|greater) than"):
        config_of("data.csv", **changes)


def test_patches_fit_the_model_and_the_data(tmp_path):
    prepared, config = prepared_at(write_boxes(tmp_path))
    sizes, fields = [(8, 9, 10)], prepared.state.fields
    assert prepared.state.patch == find_patch(config, fields, sizes) == (8, 10, 10)
    assert find_patch(config.replace(patch=(4, 6, 8)), fields, sizes) == (4, 6, 8)
    with pytest.raises(ConfigError, match=r"patch: 3 sizes are needed, each a multiple of 2"):
        find_patch(config.replace(patch=(5, 6, 8)), fields, sizes)
    assert len(GridPatches(prepared.part("validation").inputs, prepared.state.scale, (4, 6, 8))) == 16


def test_patches_of_a_scene_lie_in_its_smallest_block(tmp_path):
    prepared, _ = prepared_at(write_scene(tmp_path / "scene.npz"), ignore=0, block=6, model={})
    assert prepared.state.patch == (4, 4)
