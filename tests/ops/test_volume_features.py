"""Brightness, shape and texture of volumes, against scipy and loops over voxels."""

import math

import numpy as np
import pytest
import torch
from scipy import ndimage, stats

from multiway import ops
from tolerances import SUMS64, assert_near

SIZES = [(5, 7, 11), (2, 3, 13), (1, 7, 3)]


def otsu_by_loop(values: np.ndarray) -> float:
    rising, best = np.sort(values.ravel()), (-1.0, 0.0)
    for cut in range(1, len(rising)):
        low, high = rising[:cut], rising[cut:]
        best = max(best, (len(low) * len(high) * (high.mean() - low.mean()) ** 2, rising[cut - 1]))
    return best[1]


def shape_by_loop(mask: np.ndarray) -> list[float]:
    voxels = np.argwhere(mask)
    if not len(voxels):
        return [0.0] * 14
    faces = [0, 0, 0]
    for voxel in voxels:
        for axis, side in np.ndindex(3, 2):
            other = voxel.copy()
            other[axis] += 2 * side - 1
            inside = 0 <= other[axis] < mask.shape[axis]
            faces[axis] += not (inside and mask[tuple(other)])
    sizes, count = np.array(mask.shape), mask.size
    extents = (voxels.max(0) - voxels.min(0) + 1) / sizes
    spreads = np.sqrt(np.linalg.eigvalsh(np.cov(voxels.T, bias=True)).clip(0))
    ball = 36 * math.pi * len(voxels) ** 2 / sum(faces) ** 3
    shares = [face / count for face in faces]
    return [len(voxels) / count, ball, *shares, *((voxels.mean(0) + 0.5) / sizes), *extents, *spreads]


def texture_by_loop(volume: np.ndarray) -> list[float]:
    steps = [np.abs(np.diff(volume, axis=axis)).mean() if volume.shape[axis] > 1 else 0.0 for axis in range(3)]
    window = tuple(min(3, size) for size in volume.shape)
    local = np.lib.stride_tricks.sliding_window_view(volume, window).std((-3, -2, -1))
    return [*steps, local.mean(), local.std()]


def features_by_loop(volume: np.ndarray) -> list[float]:
    bright = volume > otsu_by_loop(volume)
    values, sides = volume.ravel(), (volume[bright], volume[~bright])
    block = tuple(min(2, size) for size in volume.shape)
    kept = tuple(size - size % side for size, side in zip(volume.shape, block, strict=True))
    trimmed = volume[: kept[0], : kept[1], : kept[2]]
    halved = ndimage.uniform_filter(trimmed, block, origin=[-(side // 2) for side in block])
    halved = halved[:: block[0], :: block[1], :: block[2]]
    return [
        *(values.mean(), values.std(), stats.skew(values), stats.kurtosis(values, fisher=False)),
        *np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]),
        *(part for side in sides for part in (side.mean(), side.std())),
        *shape_by_loop(bright),
        *texture_by_loop(volume),
        *texture_by_loop(halved),
    ]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_features_are_those_of_loops(sizes, generator):
    volumes = torch.randn(2, 3, *sizes, generator=generator, dtype=torch.float64).exp()
    expected = [[value for channel in case for value in features_by_loop(channel)] for case in volumes.numpy()]
    found = ops.volume_features(volumes)
    assert found.shape[1] == 3 * ops.VOLUME_FEATURES
    np.testing.assert_allclose(found.numpy(), expected, rtol=SUMS64, atol=SUMS64)


def test_the_shape_is_that_of_a_loop_at_edges_and_without_a_voxel(generator):
    masks = torch.rand(4, 5, 7, 3, generator=generator) < torch.tensor([0.0, 0.05, 0.4, 1.0])[:, None, None, None]
    expected = [shape_by_loop(mask) for mask in masks.numpy()]
    assert_near(ops.shape_features(masks).numpy(), expected, SUMS64)


def test_a_ball_is_rounder_than_a_plate_and_brightness_leaves_the_shape():
    grid = torch.stack(torch.meshgrid(*[torch.arange(17.0) - 8] * 3, indexing="ij"))
    ball, plate = (grid.square().sum(0) < 36)[None], (grid[0].abs() < 1)[None]
    assert ops.shape_features(ball)[0, 1] > 3 * ops.shape_features(plate)[0, 1]
    one, other = (ops.volume_features(ball[None].double() * 7 + level) for level in (0.0, 100.0))
    assert torch.equal(one[:, 13:27], other[:, 13:27]) and not torch.equal(one, other)
    assert torch.equal(one[:, 13:27], ops.shape_features(ball))
