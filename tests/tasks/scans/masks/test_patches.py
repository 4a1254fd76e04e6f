"""Patches: where they are drawn, how they are filled up, and that a resumed training draws the same."""

import numpy as np
import pytest
import torch

from multiway.data.options import AugmentOptions
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.tasks.scans.encode import Example
from multiway.tasks.scans.patches import GridPatches, TrainingPatches, cut
from multiway.training.losses import IGNORED
from tasks.scans.masks.lesion_files import prepared_at, write_boxes
from tolerances import assert_same


@pytest.fixture
def boxes(tmp_path):
    return prepared_at(write_boxes(tmp_path))[0]


def patches(prepared, foreground, per_case=1, patch=(4, 4, 4), **options):
    return TrainingPatches(
        images=prepared.part("train").inputs, scale=prepared.state.scale, patch=patch,
        per_case=per_case, foreground=foreground, options=AugmentOptions.parse(options),
    )  # fmt: skip


def test_foreground_patches_hold_a_voxel_of_the_box_and_the_rest_lie_anywhere(boxes):
    torch.manual_seed(0)
    source = patches(boxes, 1.0, per_case=8)
    assert len(source) == 64
    about = source.gather(torch.arange(64))
    assert (about["target"] == 1).flatten(1).any(1).all()
    anywhere = patches(boxes, 0.0, per_case=8).gather(torch.arange(64))
    share = (anywhere["target"] == 1).flatten(1).any(1).float().mean()
    assert 0.1 < share < 0.95
    assert about["inputs"].shape == (64, 1, 4, 4, 4) and about["inputs"].dtype == torch.float32


def test_a_patch_is_cut_from_image_and_mask_alike(boxes):
    torch.manual_seed(1)
    batch = patches(boxes, 0.67).gather(torch.arange(8))
    inside, outside = (batch["inputs"][:, 0][batch["target"] == label] for label in (1, 0))
    assert inside.mean() > outside.mean() + 0.3  # the box is 120 of 255 brighter
    example = boxes.encoded.inputs.read(0)
    values, target = cut(example, (1, 2, 3), (4, 4, 4), boxes.state.scale)
    assert_same(values, torch.from_numpy(example.values[:, 1:5, 2:6, 3:7].astype(np.float32) / 255))
    assert target.numpy().tolist() == example.target[1:5, 2:6, 3:7].tolist()


def test_a_short_image_is_filled_on_both_sides_and_the_filling_does_not_count():
    example = Example(values=np.full((1, 3, 6), 10.0, np.float32), target=np.ones((3, 6), np.int16))
    scale = IntensityScale(centre=(8.0,), spread=(2.0,))
    values, target = cut(example, (0, 1), (6, 4), scale)
    assert values[0].sum() == 12 and values[0, 1:4].min() == 1 and values[0, 0].abs().sum() == 0
    assert (target == 1).sum() == 12 and (target == IGNORED).sum() == 12


def test_the_same_state_draws_the_same_patches(boxes):
    source = patches(boxes, 0.5, per_case=2, flips=(0, 2), noise=0.1)
    torch.manual_seed(7)
    first = source.gather(torch.arange(16))
    state = torch.get_rng_state()
    second = source.gather(torch.arange(16))
    torch.set_rng_state(state)
    repeated = patches(boxes, 0.5, per_case=2, flips=(0, 2), noise=0.1).gather(torch.arange(16))
    assert torch.equal(second["inputs"], repeated["inputs"]) and torch.equal(second["target"], repeated["target"])
    assert not torch.equal(first["inputs"], second["inputs"])


def test_each_class_is_drawn_as_often_as_the_others(tmp_path):
    path = write_boxes(tmp_path)
    for index in range(12):
        mask = np.load(tmp_path / f"mask{index}.npy")
        mask[0, 0, 0] = 2  # one voxel against the 64 of the box
        np.save(tmp_path / f"mask{index}.npy", mask)
    source = patches(prepared_at(path)[0], 1.0, per_case=25, patch=(2, 2, 2))
    torch.manual_seed(0)
    rare = (source.gather(torch.arange(200))["target"] == 2).flatten(1).any(1).float().mean()
    assert 0.4 < rare < 0.65


def test_a_grid_covers_every_voxel_and_is_always_the_same(boxes):
    grid = GridPatches(boxes.encoded.inputs[:1], boxes.state.scale, (5, 5, 5))
    starts = {tuple(start) for _, start in grid.starts}
    assert starts == {(i, j, k) for i in (0, 3) for j in (0, 4) for k in (0, 5)}
    first, repeated = (grid.gather(torch.arange(len(grid))) for _ in range(2))
    assert torch.equal(first["inputs"], repeated["inputs"])
